//! Everything a change has to pass, in one command: cheap steps first, tests last, stop at the first failure.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::fuzz::{self, Effort, Plan};
use crate::{bench, codegen, faults, repo, tidy};

/// How much is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// What every change passes.
    Usual,
    /// More cases for the property tests and the fuzz targets, the fault matrix with full counts and without its
    /// defences, the measured goals in full, and licences, advisories and the libraries' promises where `cargo deny` and
    /// `cargo semver-checks` are installed.
    Full,
}

/// Tests and the fault matrix start these programs, and cargo builds binaries of other packages only when asked. With
/// the features of the tests, so that nothing is built twice.
pub(crate) const BINARIES: &str = "build --workspace --bins --all-features";

/// Random cases for each property test in a full run; the default is 256.
const FULL_CASES: &str = "10000";

/// Random texts that are sent through everything that prints, in a full run; see `docs/testing.md`.
const FULL_TEXTS: &str = "5000000";

/// How often a session is interrupted and resumed, for each provider's dialect, in a full run.
const FULL_INTERRUPTIONS: &str = "50";

/// Turns in a window that is much too small for them, in a full run.
const FULL_TURNS: &str = "200";

struct Step {
    name: &'static str,
    work: Work,
}

enum Work {
    Chore(fn() -> Result<()>),
    /// Arguments for cargo, separated by spaces.
    Cargo(&'static str),
}

pub(crate) fn run(depth: Depth) -> Result<()> {
    let mut done: Vec<(&str, Duration)> = Vec::new();
    for Step { name, work } in steps(depth) {
        println!("==> {name}");
        let start = Instant::now();
        let outcome = match work {
            Work::Chore(chore) => chore(),
            Work::Cargo(args) => cargo(args, depth),
        };
        outcome.with_context(|| format!("step `{name}` failed after {}", seconds(start.elapsed())))?;
        done.push((name, start.elapsed()));
        println!("    {name}: {}", seconds(start.elapsed()));
    }
    println!("\nall {} steps passed", done.len());
    for (name, time) in &done {
        println!("  {name:<12} {:>8}", seconds(*time));
    }
    println!("  {:<12} {:>8}", "total", seconds(done.iter().map(|(_, time)| *time).sum()));
    Ok(())
}

fn steps(depth: Depth) -> Vec<Step> {
    let cargo = |name, args| Step { name, work: Work::Cargo(args) };
    let mut steps = vec![
        cargo("format", "fmt --all --check"),
        Step { name: "tidy", work: Work::Chore(tidy::run) },
        Step { name: "codegen", work: Work::Chore(|| codegen::run(codegen::Mode::Check)) },
        cargo("clippy", "clippy --workspace --all-targets --all-features -- -D warnings"),
        cargo("docs", "doc --workspace --all-features --no-deps"),
        cargo("doc tests", "test --workspace --all-features --doc"),
        cargo("binaries", BINARIES),
    ];
    if depth == Depth::Full && installed("deny") {
        steps.push(cargo("deny", "deny check"));
    }
    if depth == Depth::Full && installed("semver-checks") {
        steps.push(Step { name: "semver", work: Work::Chore(semver) });
    }
    let chore = |name, chore| Step { name, work: Work::Chore(chore) };
    match depth {
        Depth::Usual => {
            steps.push(chore("faults", || faults::run_built(&[])));
            // Those that a busy machine does not spoil.
            steps.push(chore("goals", || faults::run_built(&["goal", "G7", "G9", "G11", "G12", "G14"])));
        }
        Depth::Full => {
            steps.push(chore("faults", || faults::run_built(&["--full"])));
            steps.push(chore("undefended", || faults::run(&["--undefended"])));
            steps.push(chore("goals", || faults::run(&["--goals", "--full"])));
        }
    }
    steps.push(cargo("fuzz format", "fmt --manifest-path fuzz/Cargo.toml --check"));
    if depth == Depth::Full {
        steps.push(chore("fuzz clippy", fuzz::lint));
    }
    steps.push(match depth {
        Depth::Usual => chore("fuzz", || fuzz::run(Plan::all(Effort::USUAL))),
        Depth::Full => chore("fuzz", || fuzz::run(Plan::all(Effort::FULL))),
    });
    steps.push(match installed("nextest") {
        true => cargo("tests", "nextest run --workspace --all-features --no-fail-fast"),
        false => cargo("tests", "test --workspace --all-features --tests --no-fail-fast"),
    });
    // Last, because both build in release mode. Counts belong to a processor and a compiler: they are printed.
    steps.push(match depth {
        Depth::Usual => chore("speed", || bench::run(&["gate", "--quick"])),
        Depth::Full => chore("speed", || bench::run(&["gate"])),
    });
    steps.push(chore("counts", || bench::run(&["counts"])));
    steps
}

fn cargo(args: &str, depth: Depth) -> Result<()> {
    let mut command = repo::cargo();
    command.args(args.split(' ')).stdin(Stdio::null());
    // A snapshot is compared, never written; a warning of rustdoc is an error like any other.
    command.env("INSTA_UPDATE", "no").env("RUSTDOCFLAGS", "-D warnings");
    if depth == Depth::Full {
        command
            .env("PROPTEST_CASES", FULL_CASES)
            .env("HAFT_TERMINAL_TEXTS", FULL_TEXTS)
            .env("HAFT_COMPACT_TURNS", FULL_TURNS);
        command.env("HAFT_INTERRUPTIONS", FULL_INTERRUPTIONS);
    }
    finish(&mut command, args)
}

/// Whether the libraries break a promise of the last release without saying so in their version.
fn semver() -> Result<()> {
    match repo::last_release()? {
        Some(release) => cargo_run(&["semver-checks", "--workspace", "--baseline-rev", &release]),
        None => {
            println!("    nothing was released yet, so nothing was promised");
            Ok(())
        }
    }
}

/// Runs cargo as if it had been typed.
pub(crate) fn cargo_run(args: &[&str]) -> Result<()> {
    finish(repo::cargo().args(args), &args.join(" "))
}

pub(crate) fn finish(command: &mut Command, args: &str) -> Result<()> {
    let status = command.status().with_context(|| format!("start cargo {args}"))?;
    if !status.success() {
        bail!("cargo {args}: {status}");
    }
    Ok(())
}

/// Whether cargo has the subcommand.
fn installed(subcommand: &str) -> bool {
    let version = repo::cargo().args([subcommand, "--version"]).stdin(Stdio::null()).output();
    version.is_ok_and(|output| output.status.success())
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_come_last() {
        for depth in [Depth::Usual, Depth::Full] {
            let names: Vec<&str> = steps(depth).iter().map(|step| step.name).collect();
            assert_eq!(names.first(), Some(&"format"));
            assert_eq!(names.get(names.len() - 3..), Some(&["tests", "speed", "counts"][..]));
        }
    }
}
