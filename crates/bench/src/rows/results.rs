//! A long result of a tool: from the question to what the model is given, and to the lines that carry it on.
//!
//! Base: the same bytes read from a pipe of the usual size, blocking, and thrown away.

use std::process::Stdio;
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::calling::Called;
use crate::children::{Piped, Program};
use crate::counts::{has_valgrind, valgrind};
use crate::method::{Plan, compare};
use crate::peers::{self, Payload};
use crate::report::{Goal, Report, Unit};

const PLAN: Plan = Plan { repetitions: 5, pairs: 40 };

/// Kilobytes of a result, and how they are called.
const SIZES: [(u32, &str); 3] = [(64, "64 KB"), (1024, "1 MiB"), (4096, "4 MiB")];

const RECEIVED: Goal = Goal { goal: 1.0, gate: 1.3 };
const CARRIED_ON: Goal = Goal { goal: 4.0, gate: 5.0 };
const ALLOCATED: Goal = Goal { goal: 1.05, gate: 2.1 };

/// Pictures of the two counts.
const TIMES: (u32, u32) = (10, 30);

/// The question that the base asks, whose id has the length of the host's.
const QUESTION: &str = concat!(
    r#"{"type":"tool_call","id":"00000000000000000000000000000000-1000","name":"long","args":{}}"#,
    "\n"
);

pub(super) fn measure(report: &mut Report) -> Result<()> {
    for (kilobytes, size) in SIZES {
        let sound = received(report, kilobytes, size)?;
        let plan = report.plan(PLAN);
        for (payload, name) in [(Payload::Text, "text"), (Payload::Image, "image")] {
            let program = Program::own(&peers::with(payload.role(), kilobytes))?;
            let mut base = Raw::start(&program)?;
            let mut called = Called::start(&program)?;
            let [found] = compare(plan, || base.block(), || called.block(true))?;
            let what = format!("to the model, {name}, {size}");
            report.line(&what, Unit::Seconds, found, promised(kilobytes, CARRIED_ON), sound);
            called.end();
        }
    }
    allocated(report)
}

/// 64 KB fit into a pipe, and 4 MiB do not fit into the caches: the promise is about what is between.
fn promised(kilobytes: u32, goal: Goal) -> Option<Goal> {
    (kilobytes == 1024).then_some(goal)
}

/// A result that came, with the control that says whether the machine can be measured on.
fn received(report: &mut Report, kilobytes: u32, size: &str) -> Result<bool> {
    let plan = report.plan(PLAN);
    let program = Program::own(&peers::with(Payload::Other.role(), kilobytes))?;
    let (mut base, mut twin) = (Raw::start(&program)?, Raw::start(&program)?);
    let [found] = compare(plan, || base.block(), || twin.block())?;
    let sound = report.control(&format!("control, {size}"), Unit::Seconds, found);
    let mut called = Called::start(&program)?;
    let [found] = compare(plan, || base.block(), || called.block(false))?;
    let goal = promised(kilobytes, RECEIVED);
    report.line(&format!("received, {size}"), Unit::Seconds, found, goal, sound);
    called.end();
    Ok(sound)
}

/// Bytes of memory that are asked for, for each byte of a picture that is carried on: counted from outside, by valgrind,
/// once for few and once for more.
pub(super) fn allocated(report: &mut Report) -> Result<()> {
    if !has_valgrind() {
        report.skip("counting allocations needs valgrind");
        return Ok(());
    }
    let bytes = |times: u32| {
        let own = Program::own(&peers::with(peers::CARRIES, times))?;
        let output = valgrind()
            .args(["--tool=memcheck", "--undef-value-errors=no", "--leak-check=no"])
            .arg(&own.path)
            .args(&own.args)
            .stdin(Stdio::null())
            .output()
            .context("start valgrind")?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "a host under valgrind: {}\n{said}", output.status);
        heap_usage(&said).with_context(|| format!("read what valgrind counted: {said}"))
    };
    let each = (bytes(TIMES.1)? - bytes(TIMES.0)?) / f64::from(TIMES.1 - TIMES.0);
    report.figure("allocated/byte, image", Unit::Count, each / f64::from(1 << 20), Some(ALLOCATED)).gated();
    Ok(())
}

/// Bytes by all allocations, larger ones in place of smaller ones counted in full.
fn heap_usage(said: &str) -> Option<f64> {
    let line = said.lines().find(|line| line.contains("total heap usage:"))?;
    let (_, bytes) = line.strip_suffix(" bytes allocated")?.rsplit_once(' ')?;
    bytes.replace(',', "").parse().ok()
}

struct Raw(Piped);

impl Raw {
    fn start(program: &Program) -> Result<Self> {
        Ok(Self(Piped::extension(program)?))
    }

    fn block(&mut self) -> Result<[f64; 1]> {
        let start = Instant::now();
        self.0.swallow(QUESTION.as_bytes())?;
        Ok([start.elapsed().as_secs_f64()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_of_all_allocations_are_read() {
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
