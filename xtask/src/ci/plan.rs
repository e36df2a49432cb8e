//! The steps of `cargo xtask ci`, in the order in which they start.

use std::path::Path;

use anyhow::{Result, bail};

use super::CheckDepth;
use super::step::CiStep;
use crate::repo;

/// Random cases for each property test in a full run; the default is 256.
const FULL_CASES: &str = "10000";

/// Random texts that are sent through everything that prints, in a full run; see `docs/testing.md`.
const FULL_TEXTS: &str = "5000000";

/// Interruptions of a session for each provider's dialect, in a full run.
const FULL_INTERRUPTIONS: &str = "50";

/// Turns in a window that is much too small for them, in a full run.
const FULL_TURNS: &str = "200";

/// Builds every library, binary, example and test once. The packages' features are those of this one command
/// (`--workspace --all-targets`), so clippy, rustdoc and the tests name the same selection and share what is built.
const BUILD: &str = "build --workspace --all-targets";

/// The goals that a busy machine does not spoil.
const GOALS: &str = "goal G7 G9 G11 G12 G14";

/// The file with the results of the fault matrix, below the folder of logs.
pub(super) const FAULTS: &str = "faults.jsonl";

/// The file with the results of the goals.
pub(super) const MEASURED: &str = "goals.jsonl";

/// The list of test programs for cargo-nextest.
const BINARIES: &str = "tests.json";

/// Tests that run at the same time for each processor: many of them wait for processes.
const AT_ONCE: usize = 2;

/// The file with the results of the fault matrix without its defenses.
pub(super) const UNDEFENDED: &str = "undefended.jsonl";

/// Steps that run one after the other.
pub(super) type StepLane = Vec<CiStep>;

/// Lanes that run side by side; a phase begins when all lanes of the phase before it ended.
pub(super) type StepPhase = Vec<StepLane>;

/// Returns the phases of a run. Results go to files below `folder`.
pub(super) fn plan_phases(depth: CheckDepth, folder: &Path) -> Vec<StepPhase> {
    let first = vec![
        CiStep::cargo("format", "fmt --all --check"),
        CiStep::cargo("fuzz-format", "fmt --manifest-path fuzz/Cargo.toml --check"),
        CiStep::xtask("tidy", "tidy"),
        CiStep::xtask("book", "book"),
    ];
    // Cargo takes one lock for each profile, so the steps of one profile share a lane.
    let compiling = vec![compile_lane(depth), vec![CiStep::xtask("counts", "bench counts")]];
    // These only run what is built and sleep most of the time; beside compilers they would wait for a processor.
    let coverage =
        CiStep::built_binary("coverage", "haft-codegen", "coverage --check", "cargo xtask coverage --check");
    let tests_lane = vec![tests_step(depth, folder), coverage.needs("tests")];
    let running = vec![tests_lane, faults_lane(depth, folder)];
    let last = match depth {
        CheckDepth::Usual => vec![CiStep::xtask("ratios", "bench gate --quick --report")],
        // Alone: without its defenses, a row that hangs on a busy machine would seem to have noticed something.
        CheckDepth::Full => vec![
            with_report(CiStep::xtask("undefended", "faults --undefended"), folder, UNDEFENDED),
            with_report(CiStep::xtask("goals", "faults --goals --full"), folder, MEASURED),
            CiStep::xtask("ratios", "bench gate"),
        ],
    };
    let build = std::iter::once(CiStep::cargo("build", BUILD)).chain(list_tests_step(folder)).collect();
    vec![vec![first], vec![build], compiling, running, vec![last]]
}

/// Keeps the steps that are named, and those that they need.
///
/// # Errors
/// When a name is not that of a step.
pub(super) fn select_steps(mut phases: Vec<StepPhase>, names: &[&str]) -> Result<Vec<StepPhase>> {
    if names.is_empty() {
        return Ok(phases);
    }
    let steps: Vec<(&str, Option<&str>)> =
        phases.iter().flatten().flatten().map(|step| (step.name, step.needs)).collect();
    let known = |name: &str| steps.iter().find(|(step, _)| *step == name);
    let mut kept: Vec<&str> = Vec::new();
    let mut wanted = names.to_vec();
    while let Some(name) = wanted.pop() {
        let Some((step, needs)) = known(name) else {
            let all: Vec<&str> = steps.iter().map(|(step, _)| *step).collect();
            bail!("there is no step {name}; there are {}", all.join(", "));
        };
        kept.push(step);
        wanted.extend(needs);
    }
    for lane in phases.iter_mut().flatten() {
        lane.retain(|step| kept.contains(&step.name));
    }
    Ok(phases)
}

/// Checks that compile.
fn compile_lane(depth: CheckDepth) -> StepLane {
    let mut steps = vec![
        CiStep::cargo("clippy", "clippy --workspace --all-targets -- -D warnings"),
        // With examples named, cargo takes the features of dev-dependencies, as clippy does.
        CiStep::cargo("docs", "doc --workspace --no-deps --lib --bins --examples")
            .env("RUSTDOCFLAGS", "-D warnings"),
        CiStep::cargo("doc-tests", "test --workspace --doc --no-fail-fast"),
    ];
    // The workspace turns on all features, so nothing else compiles the libraries without them.
    steps.push(CiStep::cargo("few-features", "check -p haft-protocol -p haft-core --no-default-features"));
    if depth == CheckDepth::Full {
        steps.push(CiStep::xtask("libraries", "libraries"));
        steps.push(CiStep::xtask("deny", "deny"));
        steps.push(CiStep::xtask("semver", "semver"));
        steps.push(CiStep::xtask("public-api", "public-api --check"));
        steps.push(CiStep::xtask("package", "package"));
        steps.push(CiStep::xtask("dist", "dist"));
        steps.push(CiStep::xtask("targets", "targets"));
        steps.push(CiStep::xtask("archive", "archive"));
        steps.push(CiStep::xtask("fuzz-clippy", "fuzz --lint"));
        steps.push(CiStep::xtask("fuzz", "fuzz --full"));
    }
    steps
}

/// Writes down which test programs the build step made, so that the tests need not wait for cargo's lock.
fn list_tests_step(folder: &Path) -> Option<CiStep> {
    let step = CiStep::cargo(
        "list-tests",
        "nextest list --workspace --list-type binaries-only --message-format json",
    );
    let step = CiStep { stdout: Some(folder.join(BINARIES)), ..step }.needs("build");
    repo::has_subcommand("nextest").then_some(step)
}

/// The tests of the workspace: with cargo-nextest, if it is installed, each in a process of its own.
fn tests_step(depth: CheckDepth, folder: &Path) -> CiStep {
    let step = match repo::has_subcommand("nextest") {
        true => CiStep::cargo("tests", "nextest run --profile ci --no-fail-fast --binaries-metadata")
            .arg(folder.join(BINARIES).display().to_string())
            .arg(format!("--test-threads={}", AT_ONCE * processor_count()))
            .needs("list-tests"),
        false => {
            CiStep::cargo("tests", "test --workspace --no-fail-fast --lib --bins --tests").needs("build")
        }
    };
    let step = CiStep { repeat: "cargo test --workspace".to_owned(), ..step };
    match depth {
        CheckDepth::Usual => step,
        CheckDepth::Full => step
            .env("PROPTEST_CASES", FULL_CASES)
            .env("HAFT_TERMINAL_TEXTS", FULL_TEXTS)
            .env("HAFT_COMPACT_TURNS", FULL_TURNS)
            .env("HAFT_INTERRUPTIONS", FULL_INTERRUPTIONS),
    }
}

fn processor_count() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The step, with a file for the results of its rows.
fn with_report(step: CiStep, folder: &Path, file: &str) -> CiStep {
    step.arg("--report").arg(folder.join(file).display().to_string())
}

/// The fault matrix and the goals, from what is built.
fn faults_lane(depth: CheckDepth, folder: &Path) -> StepLane {
    let codegen = CiStep::built_binary("codegen", "haft-codegen", "--check", "cargo xtask codegen --check");
    let mut steps = vec![codegen];
    match depth {
        CheckDepth::Usual => {
            let faults = CiStep::built_binary("faults", "haft-faults", "", "cargo xtask faults");
            steps.push(with_report(faults, folder, FAULTS));
            let goals = CiStep::built_binary("goals", "haft-faults", GOALS, "cargo xtask faults --goals");
            steps.push(with_report(goals, folder, MEASURED));
        }
        CheckDepth::Full => {
            let full = CiStep::built_binary("faults", "haft-faults", "--full", "cargo xtask faults --full");
            steps.push(with_report(full, folder, FAULTS));
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(depth: CheckDepth) -> Vec<&'static str> {
        plan_phases(depth, Path::new("logs")).into_iter().flatten().flatten().map(|step| step.name).collect()
    }

    #[test]
    fn cheap_steps_come_first_and_a_full_run_has_more() {
        let (usual, full) = (names(CheckDepth::Usual), names(CheckDepth::Full));
        assert_eq!(usual.first(), Some(&"format"));
        for name in ["tests", "faults", "goals", "clippy", "docs", "doc-tests", "counts"] {
            assert!(usual.contains(&name) && full.contains(&name), "{name}");
        }
        assert!(full.contains(&"undefended") && !usual.contains(&"undefended"));
        for name in ["libraries", "fuzz", "semver", "public-api", "package", "dist", "targets", "archive"] {
            assert!(full.contains(&name) && !usual.contains(&name), "{name}");
        }
    }

    #[test]
    fn steps_with_results_of_their_own_write_a_report() {
        for depth in [CheckDepth::Usual, CheckDepth::Full] {
            let steps = plan_phases(depth, Path::new("logs")).into_iter().flatten().flatten();
            let reporting = steps.filter(|step| ["faults", "goals", "undefended"].contains(&step.name));
            for step in reporting {
                assert!(step.args.iter().any(|arg| arg == "--report"), "{}", step.name);
            }
        }
    }

    #[test]
    fn named_steps_bring_the_steps_that_they_need() {
        let all = || plan_phases(CheckDepth::Usual, Path::new("logs"));
        let kept: Vec<_> =
            select_steps(all(), &["faults"]).unwrap().into_iter().flatten().flatten().collect();
        assert_eq!(kept.iter().map(|step| step.name).collect::<Vec<_>>(), ["build", "faults"]);
        assert_eq!(select_steps(all(), &[]).unwrap().len(), all().len());
        let error = select_steps(all(), &["fautls"]).unwrap_err().to_string();
        assert!(error.contains("no step fautls") && error.contains("faults"), "{error}");
    }

    #[test]
    fn names_are_unique_and_needed_steps_exist() {
        for depth in [CheckDepth::Usual, CheckDepth::Full] {
            let all: Vec<CiStep> =
                plan_phases(depth, Path::new("logs")).into_iter().flatten().flatten().collect();
            for step in &all {
                assert_eq!(all.iter().filter(|other| other.name == step.name).count(), 1, "{}", step.name);
                assert!(
                    step.needs.is_none_or(|needed| all.iter().any(|other| other.name == needed)),
                    "{}",
                    step.name
                );
            }
        }
    }
}
