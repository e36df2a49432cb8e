//! Starting an extension from a large program. A start that copies the memory map takes longer in a larger program.
//!
//! Base: a small program that starts an extension through a host. Candidate: the same program with ballast. The program
//! itself does the copying, so the goal applies to its own CPU time.

use anyhow::{Context, Result};

use crate::children::{ChildProgram, PipedChild};
use crate::method::{RepetitionPlan, compare};
use crate::peers;
use crate::report::{LineGoal, Report, Unit};

const PLAN: RepetitionPlan = RepetitionPlan { repetitions: 5, pairs: 12 };

const MEGABYTES: u32 = 500;

const BALLAST: LineGoal = LineGoal { goal: 1.1, gate: 1.5 };

pub(super) fn measure(report: &mut Report) -> Result<()> {
    let spawner = |megabytes| {
        PipedChild::start(&ChildProgram::in_role(&peers::role_with_number(peers::SPAWNER, megabytes))?)
    };
    let (mut base, mut twin, mut heavy) = (spawner(0)?, spawner(0)?, spawner(MEGABYTES)?);
    let plan = report.plan_for_effort(PLAN);
    let [wall, cpu] = compare(plan, || read_spawn_times(&mut base), || read_spawn_times(&mut twin))?;
    let wall_sound = report.add_control("control, wall", Unit::Seconds, wall);
    let cpu_sound = report.add_control("control, own CPU", Unit::Seconds, cpu);
    let [wall, cpu] = compare(plan, || read_spawn_times(&mut base), || read_spawn_times(&mut heavy))?;
    report.add_comparison("with 500 MB, wall", Unit::Seconds, wall, None, wall_sound);
    report.add_comparison("with 500 MB, own CPU", Unit::Seconds, cpu, Some(BALLAST), cpu_sound).make_gated();
    Ok(())
}

/// Returns the times that the program reports.
fn read_spawn_times(spawner: &mut PipedChild) -> Result<[f64; 2]> {
    let line = spawner.ask("one")?;
    let (wall, cpu) =
        str::from_utf8(&line)?.trim().split_once(' ').context("the program did not report two times")?;
    Ok([wall.parse().context("parse a time")?, cpu.parse().context("parse a time")?])
}
