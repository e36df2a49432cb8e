//! The process itself: its start time, and its memory while idle.
//!
//! Base: this binary in a role that does nothing.

use std::time::Instant;

use anyhow::Result;

use crate::children::{ChildProgram, PipedChild, find_haft};
use crate::method::{RepetitionPlan, compare};
use crate::report::{LineGoal, Report, Unit};
use crate::{peers, platform};

const PLAN: RepetitionPlan = RepetitionPlan { repetitions: 5, pairs: 20 };

const READY: LineGoal = LineGoal { goal: 1.5, gate: 2.5 };
const MEMORY: LineGoal = LineGoal { goal: 3.0, gate: 5.0 };
const RESIDENT: LineGoal = LineGoal { goal: 6e6, gate: 10e6 };

pub(super) fn measure(report: &mut Report) -> Result<()> {
    let (idle, idle_host) = (
        ChildProgram::in_role(peers::IDLE)?,
        ChildProgram::in_role(&peers::role_with_number(peers::HOST_OF, 0))?,
    );
    let [time, memory] = compare(PLAN, || time_until_ready(&idle), || time_until_ready(&idle))?;
    let time_sound = report.add_control("control, exec to ready", Unit::Seconds, time);
    let memory_sound = report.add_control("control, resident", Unit::Bytes, memory);
    let [time, memory] = compare(PLAN, || time_until_ready(&idle), || time_until_ready(&idle_host))?;
    report.add_comparison("host of 0, exec to ready", Unit::Seconds, time, Some(READY), time_sound);
    report.add_comparison("host of 0, resident", Unit::Bytes, memory, Some(MEMORY), memory_sound);
    report.add_figure("host of 0, resident bytes", Unit::Bytes, memory.candidate, Some(RESIDENT));

    let Some(path) = find_haft()? else {
        report.skip("haft is not built; run `cargo build --release -p haft`");
        return Ok(());
    };
    let haft = ChildProgram { path, args: vec!["--version".to_owned()] };
    let empty = ChildProgram::in_role(peers::EMPTY)?;
    let [time] = compare(PLAN, || time_until_exit(&empty), || time_until_exit(&empty))?;
    let sound = report.add_control("control, exec to end", Unit::Seconds, time);
    let [time] = compare(PLAN, || time_until_exit(&empty), || time_until_exit(&haft))?;
    report.add_comparison("haft --version", Unit::Seconds, time, Some(READY), sound);
    Ok(())
}

/// Returns the seconds from the start to the first line, and the resident bytes at that time.
fn time_until_ready(program: &ChildProgram) -> Result<[f64; 2]> {
    let start = Instant::now();
    let mut child = PipedChild::start(program)?;
    child.line()?;
    let time = start.elapsed().as_secs_f64();
    Ok([time, platform::resident_bytes(child.id())?])
}

/// Returns the seconds from the start to the end.
fn time_until_exit(program: &ChildProgram) -> Result<[f64; 1]> {
    let start = Instant::now();
    program.run()?;
    Ok([start.elapsed().as_secs_f64()])
}
