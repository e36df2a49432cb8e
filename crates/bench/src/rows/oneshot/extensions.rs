//! The cost of each extension and of its launcher in a run.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use haft_core::hooks::HookSource;
use haft_host::Host;
use haft_launch::Launcher;
use haft_packages::ExtensionSpec;
use haft_packages::install::lock::ApprovalMethod;
use haft_packages::install::{ExtensionStore, InstallSource};
use serde_json::json;
use tokio::runtime::Runtime;

use super::{OneShotBench, PLAN};
use crate::children::ChildProgram;
use crate::extension_query::{bench_host_config, extension_spec, runtime};
use crate::method::{Comparison, compare};
use crate::peers;
use crate::report::{LineGoal, Report, Unit};

/// The number of extensions in a run. The cost of an extension is the difference to a run without any, divided by this
/// number.
const EXTENSIONS: usize = 5;

const EAGER: LineGoal = LineGoal { goal: 1e-3, gate: 2e-3 };
const LAUNCHER: LineGoal = LineGoal { goal: 2e-3, gate: 4e-3 };
const LAZY: LineGoal = LineGoal { goal: 1e-4, gate: 3e-4 };

pub(super) fn measure(report: &mut Report, bench: &OneShotBench) -> Result<()> {
    measure_host_alone(report, bench)?;
    for (home, waits, what, goal) in [
        ("eager", false, "each eager, with launcher", None),
        ("lazy", true, "each lazy, warm cache", Some(LAZY)),
    ] {
        install(bench, home, waits)?;
        let (without, with) = (bench.prompt_run("home"), bench.prompt_run(home));
        let run = |run| bench.measure_run(run);
        let [_, wall, cpu, _] = compare(report.plan_for_effort(PLAN), || run(&without), || run(&with))?;
        report.add_figure(what, Unit::Seconds, cost_per_extension(wall), goal);
        report.add_figure(&format!("{what}, CPU"), Unit::Seconds, cost_per_extension(cpu), None);
    }
    Ok(())
}

/// Measures the host alone, in this process: from start to ready, and its shutdown.
fn measure_host_alone(report: &mut Report, bench: &OneShotBench) -> Result<()> {
    let program = ChildProgram::in_role(peers::GUARD)?;
    let specs: Vec<_> =
        (0..EXTENSIONS).map(|number| extension_spec(&format!("guard-{number}"), &program)).collect();
    let launcher = Launcher { program: bench.haft.with_file_name("haft-launcher"), args: Vec::new() };
    let runtime = runtime()?;
    let none = || time_start(&runtime, &[], None);
    let bare = || time_start(&runtime, &specs, None);
    let guarded = || time_start(&runtime, &specs, Some(&launcher));
    let [found] = compare(report.plan_for_effort(PLAN), none, bare)?;
    report.add_figure("each eager, no launcher", Unit::Seconds, cost_per_extension(found), Some(EAGER));
    let [found] = compare(report.plan_for_effort(PLAN), bare, guarded)?;
    report.add_figure("launcher, each start", Unit::Seconds, cost_per_extension(found), Some(LAUNCHER));
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "a small number")]
fn cost_per_extension(found: Comparison) -> f64 {
    (found.candidate - found.base) / EXTENSIONS as f64
}

fn time_start(runtime: &Runtime, specs: &[ExtensionSpec], launcher: Option<&Launcher>) -> Result<[f64; 1]> {
    let mut config = bench_host_config();
    config.launcher = launcher.cloned();
    let specs = specs.to_vec();
    let expect = specs.len();
    runtime.block_on(async {
        let start = Instant::now();
        let host = Host::builder(config).specs(specs).start().await;
        let ready = host.hooks().before_tool_execute.len();
        host.shutdown().await;
        ensure!(ready == expect, "{ready} of {expect} extensions started");
        Ok([start.elapsed().as_secs_f64()])
    })
}

/// Installs extensions in a home directory: eager guards or lazy toolboxes.
fn install(bench: &OneShotBench, home: &str, waits: bool) -> Result<()> {
    for number in 0..EXTENSIONS {
        let role = if waits {
            peers::role_with_number(peers::TOOLBOX, u32::try_from(number)?)
        } else {
            peers::GUARD.into()
        };
        let ChildProgram { path, args } = ChildProgram::in_role(&role)?;
        let name = format!("{}-{number}", if waits { "box" } else { "guard" });
        let dir = bench.dir.path().join(home).join("sources").join(&name);
        std::fs::create_dir_all(&dir).context("create the directory of an extension")?;
        let mut manifest = json!({"name": name, "version": "1.0.0", "exec": path, "args": args, "language": "rust",
            "enabled": true});
        match waits {
            true => {
                manifest
                    .as_object_mut()
                    .context("the manifest is not an object")?
                    .extend(peers::toolbox_activation(number));
            }
            false => manifest["intercept"] = json!([{"event": "tool_call", "role": "gate"}]),
        }
        std::fs::write(dir.join("extension.json"), manifest.to_string()).context("write a manifest")?;
        let store = ExtensionStore::for_home(&bench.dir.path().join(home), std::env::var_os("PATH"));
        store.propose(&InstallSource::Directory(dir))?.accept(ApprovalMethod::Yes, "bench")?;
    }
    Ok(())
}
