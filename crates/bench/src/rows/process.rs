//! The process itself: how long it takes to start, and how much memory it holds while nothing happens.
//!
//! Base: this binary in a role that does nothing.

use std::time::Instant;

use anyhow::Result;

use crate::children::{Piped, Program, haft};
use crate::method::{Plan, compare};
use crate::report::{Goal, Report, Unit};
use crate::{peers, platform};

const PLAN: Plan = Plan { repetitions: 5, pairs: 20 };

const READY: Goal = Goal { goal: 1.5, gate: 2.5 };
const MEMORY: Goal = Goal { goal: 3.0, gate: 5.0 };
const RESIDENT: Goal = Goal { goal: 6e6, gate: 10e6 };

pub(super) fn measure(report: &mut Report) -> Result<()> {
    let (idle, idle_host) = (Program::own(peers::IDLE)?, Program::own(&peers::with(peers::HOST_OF, 0))?);
    let [time, memory] = compare(PLAN, || ready(&idle), || ready(&idle))?;
    let time_sound = report.control("control, exec to ready", Unit::Seconds, time);
    let memory_sound = report.control("control, resident", Unit::Bytes, memory);
    let [time, memory] = compare(PLAN, || ready(&idle), || ready(&idle_host))?;
    report.line("host of 0, exec to ready", Unit::Seconds, time, Some(READY), time_sound);
    report.line("host of 0, resident", Unit::Bytes, memory, Some(MEMORY), memory_sound);
    report.figure("host of 0, resident bytes", Unit::Bytes, memory.candidate, Some(RESIDENT));

    let Some(path) = haft()? else {
        report.skip("haft is not built: cargo build --release -p haft");
        return Ok(());
    };
    let haft = Program { path, args: vec!["--version".to_owned()] };
    let empty = Program::own(peers::EMPTY)?;
    let [time] = compare(PLAN, || ended(&empty), || ended(&empty))?;
    let sound = report.control("control, exec to end", Unit::Seconds, time);
    let [time] = compare(PLAN, || ended(&empty), || ended(&haft))?;
    report.line("haft --version", Unit::Seconds, time, Some(READY), sound);
    Ok(())
}

/// Seconds from the start to the first line, and resident bytes then.
fn ready(program: &Program) -> Result<[f64; 2]> {
    let start = Instant::now();
    let mut child = Piped::start(program)?;
    child.line()?;
    let time = start.elapsed().as_secs_f64();
    Ok([time, platform::resident_bytes(child.id())?])
}

/// Seconds from the start to the end.
fn ended(program: &Program) -> Result<[f64; 1]> {
    let start = Instant::now();
    program.run()?;
    Ok([start.elapsed().as_secs_f64()])
}
