//! Starting many extensions: until all are ready.
//!
//! Base: start the same processes with the standard library and read the first line of each. Longer than a time
//! slice, so only the CPU time of this process has a goal; the wall time is reported.

use std::time::Instant;

use anyhow::{Result, ensure};
use haft_core::hooks::HookSource;
use haft_host::Host;
use haft_packages::ExtensionSpec;
use tokio::runtime::Runtime;

use crate::asking::{config, runtime, specs};
use crate::children::{Piped, Program};
use crate::method::{Plan, compare};
use crate::platform::allow_many_files;
use crate::report::{Goal, Report, Unit};
use crate::{peers, platform};

/// The numbers of extensions, and the repetitions of each.
const COUNTS: [(usize, Plan); 4] = [
    (1, Plan { repetitions: 5, pairs: 20 }),
    (10, Plan { repetitions: 5, pairs: 10 }),
    (100, Plan { repetitions: 5, pairs: 4 }),
    (1000, Plan { repetitions: 1, pairs: 3 }),
];

const HOST_CPU: Goal = Goal { goal: 1.8, gate: 2.3 };

pub(super) fn measure(report: &mut Report) -> Result<()> {
    allow_many_files()?;
    report.axis("extensions");
    for (count, plan) in COUNTS {
        many(report, count, plan)?;
    }
    Ok(())
}

fn many(report: &mut Report, count: usize, plan: Plan) -> Result<()> {
    let program = Program::own(peers::LEAST)?;
    let (runtime, specs) = (runtime()?, specs(count, &program));
    let (plan, x) = (report.plan(plan), f64::from(u32::try_from(count)?));
    let base = || spawned(&program, count);
    let [wall, cpu] = compare(plan, base, base)?;
    let wall_sound = report.control(&format!("control of {count}, wall"), Unit::Seconds, wall);
    let cpu_sound = report.control(&format!("control of {count}, own CPU"), Unit::Seconds, cpu);
    let [wall, cpu] = compare(plan, base, || started(&runtime, &specs))?;
    let goal = (count == 100).then_some(HOST_CPU);
    report.line(&format!("host of {count}, wall"), Unit::Seconds, wall, None, wall_sound).on("wall", x);
    report.line(&format!("host of {count}, own CPU"), Unit::Seconds, cpu, goal, cpu_sound).on("own CPU", x);
    Ok(())
}

fn spawned(program: &Program, count: usize) -> Result<[f64; 2]> {
    let clock = Clock::start();
    let mut children: Vec<Piped> = (0..count).map(|_| Piped::start(program)).collect::<Result<_>>()?;
    for child in &mut children {
        child.line()?;
    }
    Ok(clock.stop())
}

fn started(runtime: &Runtime, specs: &[ExtensionSpec]) -> Result<[f64; 2]> {
    let (specs, count) = (specs.to_vec(), specs.len());
    runtime.block_on(async {
        let clock = Clock::start();
        let host = Host::builder(config()).specs(specs).start().await;
        let times = clock.stop();
        let ready = host.hooks().before_tool_execute.len();
        host.shutdown().await;
        ensure!(ready == count, "{ready} of {count} extensions came up");
        Ok(times)
    })
}

/// Wall and own CPU time, in seconds.
pub(super) struct Clock {
    wall: Instant,
    cpu: f64,
}

impl Clock {
    pub(super) fn start() -> Self {
        Self { wall: Instant::now(), cpu: platform::cpu_time() }
    }

    pub(super) fn stop(self) -> [f64; 2] {
        [self.wall.elapsed().as_secs_f64(), platform::cpu_time() - self.cpu]
    }
}
