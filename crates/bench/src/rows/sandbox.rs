//! The cost of a sandbox at the start of a program.
//!
//! Base: the launcher starts a program that exits at once, and waits for its exit. Candidate: the same in a sandbox
//! with two listed directories, or in that of the tools at their default level `workspace`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Result, ensure};
use haft_launch::sandbox::{ConfinementLevel, NetworkAccess};
use haft_launch::{GroupChild, Launcher, Sandbox, SpawnOptions};
use tokio::runtime::Runtime;

use crate::children;
use crate::extension_query::runtime;
use crate::method::{Comparison, RepetitionPlan, compare};
use crate::report::{LineGoal, Report, Unit};

const PLAN: RepetitionPlan = RepetitionPlan { repetitions: 5, pairs: 40 };

/// The time that a sandbox level may add, in seconds.
const STANDARD: LineGoal = LineGoal { goal: 2e-3, gate: 6e-3 };
const STRICT: LineGoal = LineGoal { goal: 20e-3, gate: 40e-3 };
const WORKSPACE: LineGoal = LineGoal { goal: 2e-3, gate: 6e-3 };

pub(super) fn measure(report: &mut Report) -> Result<()> {
    let Some(haft) = children::find_haft()? else {
        report.skip("haft is not built; run `cargo build --release -p haft`");
        return Ok(());
    };
    let (runtime, dir) = (runtime()?, tempfile::tempdir()?);
    let launcher = Launcher { program: haft.with_file_name("haft-launcher"), args: Vec::new() };
    let tools = TemporaryHome::create_in(dir.path())?;
    let start = |level: Option<ConfinementLevel>| {
        let sandbox = level.map(|level| match level {
            ConfinementLevel::Isolated => tools.workspace_sandbox(),
            ConfinementLevel::Standard | ConfinementLevel::Strict => {
                let mut sandbox = Sandbox::new(level);
                sandbox.read = vec!["/usr/share".into()];
                sandbox.write = vec![dir.path().to_owned()];
                sandbox
            }
        });
        time_start(&runtime, &launcher, sandbox)
    };
    let [wall] = compare(report.plan_for_effort(PLAN), || start(None), || start(None))?;
    report.add_control("control", Unit::Seconds, wall);
    for (level, what, goal) in [
        (ConfinementLevel::Standard, "standard adds", STANDARD),
        (ConfinementLevel::Strict, "strict adds", STRICT),
        (ConfinementLevel::Isolated, "workspace adds", WORKSPACE),
    ] {
        if let Err(error) = Sandbox::new(level).check() {
            report.skip(error.to_string());
            continue;
        }
        let [wall] = compare(report.plan_for_effort(PLAN), || start(None), || start(Some(level)))?;
        report.add_figure(what, Unit::Seconds, added_time(wall), Some(goal));
    }
    Ok(())
}

/// A home directory with secrets, and a project in it.
struct TemporaryHome {
    home: PathBuf,
}

impl TemporaryHome {
    fn create_in(dir: &Path) -> Result<Self> {
        let home = dir.join("home");
        for path in ["project/.git/hooks", ".ssh", ".aws", ".gnupg", ".config/gh", "state/results"] {
            fs::create_dir_all(home.join(path))?;
        }
        for path in ["project/.git/config", ".netrc", ".npmrc"] {
            fs::write(home.join(path), "")?;
        }
        Ok(Self { home })
    }

    /// Returns the sandbox of the tools at the level `workspace`.
    fn workspace_sandbox(&self) -> Sandbox {
        let paths = |paths: &[&str]| paths.iter().map(|path| self.home.join(path)).collect();
        let mut sandbox = Sandbox::new(ConfinementLevel::Isolated);
        sandbox.read_all = true;
        sandbox.net = NetworkAccess::Loopback;
        sandbox.hide = paths(&[".ssh", ".aws", ".gnupg", ".config/gh", ".netrc", ".npmrc", "state"]);
        sandbox.read = paths(&["state/results"]);
        sandbox.write = paths(&["project"]);
        sandbox.protect = paths(&["project/.git/hooks", "project/.git/config"]);
        sandbox
    }
}

fn added_time(found: Comparison) -> f64 {
    found.candidate - found.base
}

fn time_start(runtime: &Runtime, launcher: &Launcher, sandbox: Option<Sandbox>) -> Result<[f64; 1]> {
    let mut spec = SpawnOptions::new("/bin/true", "/usr");
    spec.launcher = Some(launcher.clone());
    spec.sandbox = sandbox;
    runtime.block_on(async {
        let start = Instant::now();
        let status = GroupChild::spawn(spec)?.wait().await?;
        ensure!(status.success(), "the program ended with {status}");
        Ok([start.elapsed().as_secs_f64()])
    })
}
