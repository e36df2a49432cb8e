//! Starting many extensions until all are ready.
//!
//! Base: start the same processes with the standard library and read the first line of each. A block takes longer than
//! a time slice, so only the CPU time of this process has a goal; the wall time is only reported.

use std::time::Instant;

use anyhow::{Result, ensure};
use haft_core::hooks::HookSource;
use haft_host::Host;
use haft_packages::ExtensionSpec;
use tokio::runtime::Runtime;

use crate::children::{ChildProgram, PipedChild};
use crate::extension_query::{bench_host_config, extension_specs, runtime};
use crate::method::{RepetitionPlan, compare};
use crate::platform::allow_many_files;
use crate::report::{LineGoal, Report, Unit};
use crate::{peers, platform};

/// The numbers of extensions, and the repetitions for each number.
const COUNTS: [(usize, RepetitionPlan); 4] = [
    (1, RepetitionPlan { repetitions: 5, pairs: 20 }),
    (10, RepetitionPlan { repetitions: 5, pairs: 10 }),
    (100, RepetitionPlan { repetitions: 5, pairs: 4 }),
    (1000, RepetitionPlan { repetitions: 1, pairs: 3 }),
];

const HOST_CPU: LineGoal = LineGoal { goal: 1.8, gate: 2.3 };

pub(super) fn measure(report: &mut Report) -> Result<()> {
    allow_many_files()?;
    report.set_axis("extensions");
    for (count, plan) in COUNTS {
        measure_count(report, count, plan)?;
    }
    Ok(())
}

fn measure_count(report: &mut Report, count: usize, plan: RepetitionPlan) -> Result<()> {
    let program = ChildProgram::in_role(peers::LEAST)?;
    let (runtime, specs) = (runtime()?, extension_specs(count, &program));
    let (plan, x) = (report.plan_for_effort(plan), f64::from(u32::try_from(count)?));
    let base = || time_bare_start(&program, count);
    let [wall, cpu] = compare(plan, base, base)?;
    let wall_sound = report.add_control(&format!("control of {count}, wall"), Unit::Seconds, wall);
    let cpu_sound = report.add_control(&format!("control of {count}, own CPU"), Unit::Seconds, cpu);
    let [wall, cpu] = compare(plan, base, || time_host_start(&runtime, &specs))?;
    let goal = (count == 100).then_some(HOST_CPU);
    report
        .add_comparison(&format!("host of {count}, wall"), Unit::Seconds, wall, None, wall_sound)
        .on_curve("wall", x);
    report
        .add_comparison(&format!("host of {count}, own CPU"), Unit::Seconds, cpu, goal, cpu_sound)
        .on_curve("own CPU", x);
    Ok(())
}

fn time_bare_start(program: &ChildProgram, count: usize) -> Result<[f64; 2]> {
    let clock = WallCpuTimer::start();
    let mut children: Vec<PipedChild> =
        (0..count).map(|_| PipedChild::start(program)).collect::<Result<_>>()?;
    for child in &mut children {
        child.line()?;
    }
    Ok(clock.stop())
}

fn time_host_start(runtime: &Runtime, specs: &[ExtensionSpec]) -> Result<[f64; 2]> {
    let (specs, count) = (specs.to_vec(), specs.len());
    runtime.block_on(async {
        let clock = WallCpuTimer::start();
        let host = Host::builder(bench_host_config()).specs(specs).start().await;
        let times = clock.stop();
        let ready = host.hooks().before_tool_execute.len();
        host.shutdown().await;
        ensure!(ready == count, "{ready} of {count} extensions started");
        Ok(times)
    })
}

/// Measures wall time and the process's own CPU time, in seconds.
pub(super) struct WallCpuTimer {
    wall: Instant,
    cpu: f64,
}

impl WallCpuTimer {
    pub(super) fn start() -> Self {
        Self { wall: Instant::now(), cpu: platform::cpu_time() }
    }

    pub(super) fn stop(self) -> [f64; 2] {
        [self.wall.elapsed().as_secs_f64(), platform::cpu_time() - self.cpu]
    }
}
