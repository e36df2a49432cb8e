//! Starting many extensions: until all are ready.
//!
//! Base: start the same processes with the standard library and read the first line of each. Longer than a time
//! slice, so only the CPU time of this process has a goal; the wall time is reported.

use std::time::Instant;

use anyhow::{Result, ensure};
use haft_core::hooks::HookSource;
use haft_host::{ExtensionSpec, Host};
use tokio::runtime::Runtime;

use crate::asking::{runtime, specs};
use crate::children::{Piped, Program};
use crate::method::{Plan, compare};
use crate::report::{Goal, Report, Unit};
use crate::{peers, platform};

const EXTENSIONS: usize = 50;

const PLAN: Plan = Plan { repetitions: 5, pairs: 8 };

const HOST_CPU: Goal = Goal { goal: 1.8, gate: 2.3 };

pub(super) fn measure(report: &mut Report) -> Result<()> {
    let program = Program::own(peers::LEAST)?;
    let (runtime, specs) = (runtime()?, specs(EXTENSIONS, &program));
    let [wall, cpu] = compare(PLAN, || spawned(&program), || spawned(&program))?;
    let wall_sound = report.control("control, wall", Unit::Seconds, wall);
    let cpu_sound = report.control("control, own CPU", Unit::Seconds, cpu);
    let [wall, cpu] = compare(PLAN, || spawned(&program), || started(&runtime, &specs))?;
    report.line("host of 50, wall", Unit::Seconds, wall, None, wall_sound);
    report.line("host of 50, own CPU", Unit::Seconds, cpu, Some(HOST_CPU), cpu_sound);
    Ok(())
}

fn spawned(program: &Program) -> Result<[f64; 2]> {
    let clock = Clock::start();
    let mut children: Vec<Piped> = (0..EXTENSIONS).map(|_| Piped::start(program)).collect::<Result<_>>()?;
    for child in &mut children {
        child.line()?;
    }
    Ok(clock.stop())
}

fn started(runtime: &Runtime, specs: &[ExtensionSpec]) -> Result<[f64; 2]> {
    let specs = specs.to_vec();
    runtime.block_on(async {
        let clock = Clock::start();
        let host = Host::builder(peers::config()).specs(specs).start().await;
        let times = clock.stop();
        let ready = host.hooks().before_tool_execute.len();
        host.shutdown().await;
        ensure!(ready == EXTENSIONS, "{ready} of {EXTENSIONS} extensions came up");
        Ok(times)
    })
}

/// Wall and own CPU time, in seconds.
struct Clock {
    wall: Instant,
    cpu: f64,
}

impl Clock {
    fn start() -> Self {
        Self { wall: Instant::now(), cpu: platform::cpu_time() }
    }

    fn stop(self) -> [f64; 2] {
        [self.wall.elapsed().as_secs_f64(), platform::cpu_time() - self.cpu]
    }
}
