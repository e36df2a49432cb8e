//! The cost of each extension in a run, and that of its launcher.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use haft_core::hooks::HookSource;
use haft_host::Host;
use haft_launch::Launcher;
use haft_packages::ExtensionSpec;
use haft_packages::install::lock::How;
use haft_packages::install::{Source, Store};
use serde_json::json;
use tokio::runtime::Runtime;

use super::{Bench, PLAN};
use crate::asking::{config, runtime, spec};
use crate::children::Program;
use crate::method::{Comparison, compare};
use crate::peers;
use crate::report::{Goal, Report, Unit};

/// Extensions of one run. What one of them costs is the difference to a run without, by this.
const EXTENSIONS: usize = 5;

const EAGER: Goal = Goal { goal: 1e-3, gate: 2e-3 };
const LAUNCHER: Goal = Goal { goal: 2e-3, gate: 4e-3 };
const LAZY: Goal = Goal { goal: 1e-4, gate: 3e-4 };

pub(super) fn measure(report: &mut Report, bench: &Bench) -> Result<()> {
    hosted(report, bench)?;
    for (home, waits, what, goal) in [
        ("eager", false, "each eager, with launcher", None),
        ("lazy", true, "each lazy, warm cache", Some(LAZY)),
    ] {
        install(bench, home, waits)?;
        let (without, with) = (bench.prompt("home"), bench.prompt(home));
        let run = |run| bench.asked(run);
        let [_, wall, cpu, _] = compare(report.plan(PLAN), || run(&without), || run(&with))?;
        report.figure(what, Unit::Seconds, each(wall), goal);
        report.figure(&format!("{what}, CPU"), Unit::Seconds, each(cpu), None);
    }
    Ok(())
}

/// The host alone, in this process: start to ready, and its orderly end.
fn hosted(report: &mut Report, bench: &Bench) -> Result<()> {
    let program = Program::own(peers::GUARD)?;
    let specs: Vec<_> = (0..EXTENSIONS).map(|number| spec(&format!("guard-{number}"), &program)).collect();
    let launcher = Launcher { program: bench.haft.clone(), args: vec!["__launch".into()] };
    let runtime = runtime()?;
    let none = || started(&runtime, &[], None);
    let bare = || started(&runtime, &specs, None);
    let guarded = || started(&runtime, &specs, Some(&launcher));
    let [found] = compare(report.plan(PLAN), none, bare)?;
    report.figure("each eager, no launcher", Unit::Seconds, each(found), Some(EAGER));
    let [found] = compare(report.plan(PLAN), bare, guarded)?;
    report.figure("launcher, each start", Unit::Seconds, each(found), Some(LAUNCHER));
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "a handful")]
fn each(found: Comparison) -> f64 {
    (found.candidate - found.base) / EXTENSIONS as f64
}

fn started(runtime: &Runtime, specs: &[ExtensionSpec], launcher: Option<&Launcher>) -> Result<[f64; 1]> {
    let mut config = config();
    config.launcher = launcher.cloned();
    let specs = specs.to_vec();
    let expect = specs.len();
    runtime.block_on(async {
        let start = Instant::now();
        let host = Host::builder(config).specs(specs).start().await;
        let ready = host.hooks().before_tool_execute.len();
        host.shutdown().await;
        ensure!(ready == expect, "{ready} of {expect} extensions came up");
        Ok([start.elapsed().as_secs_f64()])
    })
}

/// Puts extensions into a home of haft: guards, or toolboxes that wait for their first use.
fn install(bench: &Bench, home: &str, waits: bool) -> Result<()> {
    for number in 0..EXTENSIONS {
        let role =
            if waits { peers::with(peers::TOOLBOX, u32::try_from(number)?) } else { peers::GUARD.into() };
        let Program { path, args } = Program::own(&role)?;
        let name = format!("{}-{number}", if waits { "box" } else { "guard" });
        let dir = bench.dir.path().join(home).join("sources").join(&name);
        std::fs::create_dir_all(&dir).context("make an extension's directory")?;
        let mut manifest = json!({"name": name, "version": "1.0.0", "exec": path, "args": args, "language": "rust",
            "enabled": true});
        match waits {
            true => {
                manifest.as_object_mut().context("a manifest")?.extend(peers::toolbox_activation(number));
            }
            false => manifest["intercept"] = json!([{"event": "tool_call", "role": "gate"}]),
        }
        std::fs::write(dir.join("extension.json"), manifest.to_string()).context("write a manifest")?;
        let store = Store::of_home(&bench.dir.path().join(home), std::env::var_os("PATH"));
        store.propose(&Source::Directory(dir))?.accept(How::Yes, "bench")?;
    }
    Ok(())
}
