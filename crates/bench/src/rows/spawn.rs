//! Starting an extension from a large program. A start that copies the memory map grows with the program.
//!
//! Base: a small program that starts one through a host; candidate: the same with ballast. The copy is work of the
//! program itself, so its own CPU time is what has a goal.

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
    let [wall, cpu] = compare(plan, || started(&mut base), || started(&mut twin))?;
    let wall_sound = report.control("control, wall", Unit::Seconds, wall);
    let cpu_sound = report.control("control, own CPU", Unit::Seconds, cpu);
    let [wall, cpu] = compare(plan, || started(&mut base), || started(&mut heavy))?;
    report.line("with 500 MB, wall", Unit::Seconds, wall, None, wall_sound);
    report.line("with 500 MB, own CPU", Unit::Seconds, cpu, Some(BALLAST), cpu_sound).gated();
    Ok(())
}

/// Returns the times that the program reports.
fn started(spawner: &mut Piped) -> Result<[f64; 2]> {
    let line = spawner.ask("one")?;
    let (wall, cpu) = str::from_utf8(&line)?.trim().split_once(' ').context("two times")?;
    Ok([wall.parse().context("read a time")?, cpu.parse().context("read a time")?])
}
