//! `cargo xtask ci`: every check that a change must pass, in one command. After a failed step, only the steps that
//! need it are left out. The report lists every failure with the command that repeats it.

mod plan;
mod report;
mod results;
mod step;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::repo;
use plan::StepLane;
use report::CiReport;
use step::{CiStep, FinishedStep, StepOutcome};

/// The amount of work of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CheckDepth {
    /// The checks that every change must pass.
    Usual,
    /// Also more cases for property tests and fuzz targets, the fault matrix with full counts and without its
    /// defenses, and all measured goals. Licenses, advisories and the libraries' API compatibility are checked if
    /// `cargo deny` and `cargo semver-checks` are installed.
    Full,
}

/// The interval between two progress lines.
const HEARTBEAT: Duration = Duration::from_secs(30);

/// Runs every step, or the named steps with those that they need, and prints the report.
///
/// # Errors
/// If a step failed, a name is unknown, or results cannot be read or stored.
pub(crate) fn run(depth: CheckDepth, names: &[&str]) -> Result<()> {
    let start = Instant::now();
    let folder = repo::target_dir()?.join("ci");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("remove {}", folder.display()))?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
    // The build step replaces this program, so steps that are commands of it run a copy.
    let own = std::env::current_exe().context("find this program")?;
    fs::copy(&own, folder.join(step::OWN)).with_context(|| format!("copy {}", own.display()))?;
    // A report of an earlier run must not be taken for that of this run.
    let _ = fs::remove_file(results::junit_path()?);
    let run = CiRun { folder, ended: Mutex::default(), running: Mutex::default() };
    for phase in plan::select_steps(plan::plan_phases(depth, &run.folder), names)? {
        run.run_lanes(phase);
    }
    let ended = run.ended.into_inner().unwrap_or_else(PoisonError::into_inner);
    let report = CiReport::new(&ended, &run.folder, start.elapsed());
    println!("{report}");
    report.save(&run.folder)?;
    match report.has_passed() {
        true => Ok(()),
        false => bail!("some steps failed"),
    }
}

/// The state that the lanes share.
struct CiRun {
    folder: PathBuf,
    ended: Mutex<Vec<FinishedStep>>,
    /// The running steps, each with its start time.
    running: Mutex<Vec<(CiStep, Instant)>>,
}

impl CiRun {
    /// Runs the lanes in parallel and waits for all of them.
    fn run_lanes(&self, lanes: Vec<StepLane>) {
        std::thread::scope(|scope| {
            let lanes: Vec<_> = lanes
                .into_iter()
                .map(|lane| scope.spawn(|| lane.into_iter().for_each(|step| self.run_step(step))))
                .collect();
            let mut next = Instant::now() + HEARTBEAT;
            while !lanes.iter().all(std::thread::ScopedJoinHandle::is_finished) {
                std::thread::sleep(Duration::from_millis(100));
                if Instant::now() >= next {
                    self.print_running();
                    next += HEARTBEAT;
                }
            }
        });
    }

    fn run_step(&self, step: CiStep) {
        let failed = lock(&self.ended)
            .iter()
            .any(|ended: &FinishedStep| step.needs == Some(ended.step.name) && !ended.has_passed());
        if let Some(needed) = step.needs.filter(|_| failed) {
            println!("    {:<12} not run: `{needed}` failed", step.name);
            let (outcome, log) = (StepOutcome::NotRun(needed), step.log(&self.folder));
            lock(&self.ended).push(FinishedStep { step, outcome, took: Duration::ZERO, log });
            return;
        }
        println!("==> {:<12} {}", step.name, step.repeat);
        lock(&self.running).push((step.clone(), Instant::now()));
        let name = step.name;
        let ended = step.run(&self.folder);
        lock(&self.running).retain(|(step, _)| step.name != name);
        println!("    {}", report::format_step(&ended));
        lock(&self.ended).push(ended);
    }

    /// Prints the running steps, with the last line of their logs.
    fn print_running(&self) {
        for (step, since) in lock(&self.running).iter() {
            let log = fs::read(step.log(&self.folder)).unwrap_or_default();
            let last =
                String::from_utf8_lossy(&log).lines().next_back().unwrap_or_default().trim().to_owned();
            let last: String = last.chars().take(48).collect();
            println!("    {:<12} {:>4} s … {last}", step.name, since.elapsed().as_secs());
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Checks the licenses and advisories of all dependencies.
pub(crate) fn run_deny() -> Result<()> {
    if !repo::has_subcommand("deny") {
        println!("SKIP deny: cargo-deny is not installed");
        return Ok(());
    }
    cargo_run(&["deny", "check"])
}

/// Checks that the libraries are compatible with the last release, or have a new major version.
pub(crate) fn run_semver() -> Result<()> {
    if !repo::has_subcommand("semver-checks") {
        println!("SKIP semver: cargo-semver-checks is not installed");
        return Ok(());
    }
    match repo::last_release()? {
        Some(release) => cargo_run(&["semver-checks", "--workspace", "--baseline-rev", &release]),
        None => {
            println!("no release to compare with");
            Ok(())
        }
    }
}

/// Runs cargo with inherited output.
pub(crate) fn cargo_run(args: &[&str]) -> Result<()> {
    finish(repo::cargo().args(args), &args.join(" "))
}

pub(crate) fn finish(command: &mut Command, args: &str) -> Result<()> {
    let status = command.stdin(Stdio::null()).status().with_context(|| format!("start cargo {args}"))?;
    if !status.success() {
        bail!("cargo {args}: {status}");
    }
    Ok(())
}

/// Returns the path of a log relative to the current directory.
fn relative_path(path: &Path) -> String {
    path.strip_prefix(repo::root()).unwrap_or(path).display().to_string()
}
