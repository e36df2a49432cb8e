//! Starting an extension from a large program. A start that copies the memory map grows with the program.
//!
//! Base: a small program that starts one through a host; candidate: the same with ballast.

use anyhow::{Context, Result};

use crate::children::{Piped, Program};
use crate::method::{Plan, compare};
use crate::peers;
use crate::report::{Goal, Report, Unit};

const PLAN: Plan = Plan { repetitions: 5, pairs: 12 };

const MEGABYTES: u32 = 500;

const BALLAST: Goal = Goal { goal: 1.1, gate: 1.5 };

pub(super) fn measure(report: &mut Report) -> Result<()> {
    let spawner = |megabytes| Piped::start(&Program::own(&peers::with(peers::SPAWNER, megabytes))?);
    let (mut base, mut twin, mut heavy) = (spawner(0)?, spawner(0)?, spawner(MEGABYTES)?);
    let plan = report.plan(PLAN);
    let [found] = compare(plan, || started(&mut base), || started(&mut twin))?;
    let sound = report.control("control, host starts one", Unit::Seconds, found);
    let [found] = compare(plan, || started(&mut base), || started(&mut heavy))?;
    report.line("with 500 MB, starts one", Unit::Seconds, found, Some(BALLAST), sound).gated();
    Ok(())
}

/// What the program says it took.
fn started(spawner: &mut Piped) -> Result<[f64; 1]> {
    let line = spawner.ask("one")?;
    let seconds = str::from_utf8(&line)?.trim().parse().context("read a time")?;
    Ok([seconds])
}
