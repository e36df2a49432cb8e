//! A long result of a tool: from the call to the model's input and to the forwarded lines.
//!
//! Base: the same bytes read from a pipe of the default size, with blocking IO, and discarded.

use std::process::Stdio;
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::children::{ChildProgram, PipedChild};
use crate::counts::{has_valgrind, valgrind_command};
use crate::method::{RepetitionPlan, compare};
use crate::peers::{self, ResultPayload};
use crate::report::{LineGoal, Report, Unit};
use crate::tool_calls::ToolCallCandidate;

const PLAN: RepetitionPlan = RepetitionPlan { repetitions: 5, pairs: 40 };

/// The sizes of a result in kilobytes, with their labels.
const SIZES: [(u32, &str); 3] = [(64, "64 KB"), (1024, "1 MiB"), (4096, "4 MiB")];

const RECEIVED: LineGoal = LineGoal { goal: 1.0, gate: 1.3 };
const CARRIED_ON: LineGoal = LineGoal { goal: 4.0, gate: 5.0 };
const ALLOCATED: LineGoal = LineGoal { goal: 1.05, gate: 2.1 };

/// The numbers of pictures in the two counts.
const TIMES: (u32, u32) = (10, 30);

/// The base's question; its id has the length of the host's ids.
const QUESTION: &str = concat!(
    r#"{"type":"tool_call","id":"00000000000000000000000000000000-1000","name":"long","args":{}}"#,
    "\n"
);

pub(super) fn measure(report: &mut Report) -> Result<()> {
    for (kilobytes, size) in SIZES {
        let sound = measure_received(report, kilobytes, size)?;
        let plan = report.plan_for_effort(PLAN);
        for (payload, name) in [(ResultPayload::Text, "text"), (ResultPayload::Image, "image")] {
            let program = ChildProgram::in_role(&peers::role_with_number(payload.role(), kilobytes))?;
            let mut base = PipeResultBase::start(&program)?;
            let mut called = ToolCallCandidate::start(&program)?;
            let [found] = compare(plan, || base.block(), || called.block(true))?;
            let what = format!("to the model, {name}, {size}");
            report.add_comparison(&what, Unit::Seconds, found, goal_for_size(kilobytes, CARRIED_ON), sound);
            called.end();
        }
    }
    measure_allocations(report)
}

/// Returns the goal only for 1 MiB: 64 KB fit into a pipe, and 4 MiB exceed the caches.
fn goal_for_size(kilobytes: u32, goal: LineGoal) -> Option<LineGoal> {
    (kilobytes == 1024).then_some(goal)
}

/// Measures the receipt of a result. Returns true if the machine is quiet enough.
fn measure_received(report: &mut Report, kilobytes: u32, size: &str) -> Result<bool> {
    let plan = report.plan_for_effort(PLAN);
    let program = ChildProgram::in_role(&peers::role_with_number(ResultPayload::Other.role(), kilobytes))?;
    let (mut base, mut twin) = (PipeResultBase::start(&program)?, PipeResultBase::start(&program)?);
    let [found] = compare(plan, || base.block(), || twin.block())?;
    let sound = report.add_control(&format!("control, {size}"), Unit::Seconds, found);
    let mut called = ToolCallCandidate::start(&program)?;
    let [found] = compare(plan, || base.block(), || called.block(false))?;
    let goal = goal_for_size(kilobytes, RECEIVED);
    report.add_comparison(&format!("received, {size}"), Unit::Seconds, found, goal, sound);
    called.end();
    Ok(sound)
}

/// Measures the allocated bytes for each byte of a forwarded picture. valgrind counts them, in a run with few pictures
/// and a run with many.
pub(super) fn measure_allocations(report: &mut Report) -> Result<()> {
    if !has_valgrind() {
        report.skip("counting allocations needs valgrind, which is not installed");
        return Ok(());
    }
    let bytes = |times: u32| {
        let own = ChildProgram::in_role(&peers::role_with_number(peers::CARRIES, times))?;
        let output = valgrind_command()
            .args(["--tool=memcheck", "--undef-value-errors=no", "--leak-check=no"])
            .arg(&own.path)
            .args(&own.args)
            .stdin(Stdio::null())
            .output()
            .context("start valgrind")?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "a host under valgrind failed: {}\n{said}", output.status);
        heap_usage(&said).with_context(|| format!("parse the output of valgrind: {said}"))
    };
    let each = (bytes(TIMES.1)? - bytes(TIMES.0)?) / f64::from(TIMES.1 - TIMES.0);
    report
        .add_figure("allocated/byte, image", Unit::Count, each / f64::from(1 << 20), Some(ALLOCATED))
        .make_gated();
    Ok(())
}

/// Returns the bytes of all allocations; a reallocation counts in full.
fn heap_usage(said: &str) -> Option<f64> {
    let line = said.lines().find(|line| line.contains("total heap usage:"))?;
    let (_, bytes) = line.strip_suffix(" bytes allocated")?.rsplit_once(' ')?;
    bytes.replace(',', "").parse().ok()
}

struct PipeResultBase(PipedChild);

impl PipeResultBase {
    fn start(program: &ChildProgram) -> Result<Self> {
        Ok(Self(PipedChild::start_extension(program)?))
    }

    fn block(&mut self) -> Result<[f64; 1]> {
        let start = Instant::now();
        self.0.write_and_discard_reply(QUESTION.as_bytes())?;
        Ok([start.elapsed().as_secs_f64()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_bytes_of_all_allocations() {
        let said = "\
==7== HEAP SUMMARY:
==7==     in use at exit: 1,024 bytes in 2 blocks
==7==   total heap usage: 1,234 allocs, 1,232 frees, 23,456,789 bytes allocated
==7==
";
        assert_eq!(heap_usage(said), Some(23_456_789.0));
        assert_eq!(heap_usage(""), None);
    }
}
