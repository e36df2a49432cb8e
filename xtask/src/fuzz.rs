//! Fuzzing: builds the targets of `fuzz/` with coverage counters, replays the committed inputs, then tries new ones.

mod plan;
mod seeds;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use xtask::seeds::FuzzTarget;

use crate::{ci, repo};
pub(crate) use plan::{FuzzEffort, FuzzPlan};

/// The maximum number of restarts of a target after a stall of the machine.
const STALLS: u32 = 2;

/// Fuzzes every target of the plan and stops at the first finding.
pub(crate) fn run(plan: FuzzPlan) -> Result<()> {
    if let Some(reason) = missing_requirement() {
        println!("SKIP fuzz: {reason}");
        return Ok(());
    }
    let start = Instant::now();
    ci::finish(fuzz_cargo().args(["build", "--release"]), "build --release (in fuzz/)")?;
    println!("built in {:.1} s", start.elapsed().as_secs_f64());
    let mut executions = 0;
    for target in plan.targets() {
        executions += fuzz_target(target, plan.effort)?;
    }
    println!("{} executions, no findings", group_digits(executions));
    Ok(())
}

/// Runs clippy on the targets, which are in a separate workspace.
pub(crate) fn run_clippy() -> Result<()> {
    if let Some(reason) = missing_requirement() {
        println!("SKIP fuzz-clippy: {reason}");
        return Ok(());
    }
    ci::finish(fuzz_cargo().args(["clippy", "--all-targets", "--", "-D", "warnings"]), "clippy (in fuzz/)")
}

/// Returns the reason why libFuzzer cannot be built here, if any.
fn missing_requirement() -> Option<&'static str> {
    if cfg!(windows) {
        return Some("libFuzzer needs Linux or macOS");
    }
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    let found =
        repo::command(&compiler).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    (!found.is_ok_and(|status| status.success()))
        .then_some("libFuzzer is written in C++; install g++ or clang++")
}

/// Returns cargo for the fuzz targets' workspace, which has its own flags and its own target directory.
fn fuzz_cargo() -> Command {
    let mut cargo = repo::cargo();
    cargo.current_dir(repo::root().join("fuzz"));
    for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_TARGET_DIR", "CARGO_BUILD_TARGET"] {
        cargo.env_remove(name);
    }
    cargo
}

/// A target with its directories, all below `target/fuzz/`.
struct FuzzJob<'a> {
    target: &'a FuzzTarget,
    /// The replayed inputs: committed inputs, and those derived from other files of the repository.
    seeds: Vec<PathBuf>,
    /// Inputs that reached new code, kept from run to run.
    corpus: PathBuf,
    findings: PathBuf,
    log: PathBuf,
    dictionary: Option<PathBuf>,
}

fn fuzz_target(target: &FuzzTarget, effort: FuzzEffort) -> Result<u64> {
    let job = FuzzJob::new(target)?;
    let replay = job.start(&["-runs=0".to_owned()], &job.seeds)?;
    let FuzzOutcome::Passed(replayed) = replay else { return job.report_failure() };
    println!("{:<10} {:>12} inputs replayed", target.name, group_digits(replayed.executions));
    let places: Vec<PathBuf> = [&job.corpus].into_iter().chain(&job.seeds).cloned().collect();
    for _ in 0..=STALLS {
        match job.start(&[effort.libfuzzer_flag()], &places)? {
            FuzzOutcome::Passed(done) => {
                println!("{:<10} {:>12} executions {done}", target.name, group_digits(done.executions));
                return Ok(done.executions);
            }
            // One second is long for an input, but short for a suspended or overloaded machine.
            FuzzOutcome::Slow(input) if job.passes_alone(&input)? => fs::remove_file(input)?,
            FuzzOutcome::Slow(_) | FuzzOutcome::Failed => return job.report_failure(),
        }
    }
    bail!(
        "fuzz target {}: this machine stalls repeatedly for seconds; try again when it is less busy",
        target.name
    )
}

/// The outcome of a run.
enum FuzzOutcome {
    Passed(FuzzStatistics),
    /// The run stopped at an input that took longer than a second; the path of the artifact.
    Slow(PathBuf),
    Failed,
}

impl<'a> FuzzJob<'a> {
    fn new(target: &'a FuzzTarget) -> Result<Self> {
        let ground = repo::root().join("target/fuzz");
        let job = Self {
            target,
            seeds: seeds::seed_folders(target, &ground)?,
            corpus: ground.join("corpus").join(target.name),
            findings: ground.join("findings").join(target.name),
            log: ground.join(format!("{}.log", target.name)),
            dictionary: seeds::write_dictionary(target, &ground)?,
        };
        for folder in [&job.corpus, &job.findings] {
            fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
        }
        Ok(job)
    }

    /// Runs the target with these inputs. All output goes to the log.
    fn start(&self, flags: &[String], inputs: &[PathBuf]) -> Result<FuzzOutcome> {
        let log = fs::File::create(&self.log).with_context(|| format!("create {}", self.log.display()))?;
        let mut command = fuzz_cargo();
        command.args(["run", "--quiet", "--release", "--bin", self.target.name, "--"]);
        command.args(["-rss_limit_mb=256", "-timeout=1", "-print_final_stats=1"]).args(flags);
        command.arg(format!("-max_len={}", self.target.max_len));
        command.arg(format!("-artifact_prefix={}/", self.findings.display()));
        command.args(self.dictionary.iter().map(|path| format!("-dict={}", path.display())));
        command.args(inputs).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let begun = Instant::now();
        let passed =
            command.status().with_context(|| format!("start fuzz target {}", self.target.name))?.success();
        let text = String::from_utf8_lossy(&fs::read(&self.log)?).into_owned();
        if passed {
            return Ok(FuzzOutcome::Passed(FuzzStatistics::read(&text, begun.elapsed())));
        }
        Ok(match artifact_path(&text).filter(|path| path.to_string_lossy().contains("/timeout-")) {
            Some(input) => FuzzOutcome::Slow(input),
            None => FuzzOutcome::Failed,
        })
    }

    fn passes_alone(&self, input: &PathBuf) -> Result<bool> {
        Ok(matches!(self.start(&[], std::slice::from_ref(input))?, FuzzOutcome::Passed(_)))
    }

    fn report_failure<T>(&self) -> Result<T> {
        let text = String::from_utf8_lossy(&fs::read(&self.log)?).into_owned();
        let name = self.target.name;
        let said = text.lines().skip_while(|line| !line.contains("panicked at")).take_while(|line| {
            !line.starts_with("stack backtrace") && !line.starts_with("note:") && !line.starts_with("==")
        });
        println!("{}", said.collect::<Vec<_>>().join("\n"));
        let Some(input) = artifact_path(&text) else {
            bail!("fuzz target {name}: see {}", self.log.display())
        };
        bail!(
            "fuzz target {name}: finding in {}\n  repeat: (cd fuzz && cargo run --release --bin {name} -- {})\n  \
             once it is fixed, keep the input as fuzz/corpus/{name}/<what-it-shows>",
            self.log.display(),
            input.display(),
        )
    }
}

/// Returns the file that libFuzzer wrote the input to, according to the log.
fn artifact_path(log: &str) -> Option<PathBuf> {
    log.lines().find_map(|line| line.split_once("Test unit written to ")).map(|(_, path)| path.trim().into())
}

/// libFuzzer's final statistics.
#[derive(Debug, Default, PartialEq, Eq)]
struct FuzzStatistics {
    executions: u64,
    a_second: u64,
    peak_mib: u64,
}

impl FuzzStatistics {
    fn read(log: &str, time: Duration) -> Self {
        let figure = |name: &str| {
            let line = log.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|figure| figure.trim().parse().ok()).unwrap_or_default()
        };
        let executions = figure("stat::number_of_executed_units:");
        Self {
            executions,
            // libFuzzer's own figure is based on whole seconds.
            a_second: executions.saturating_mul(1000)
                / u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1),
            peak_mib: figure("stat::peak_rss_mb:"),
        }
    }
}

impl std::fmt::Display for FuzzStatistics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:>9}/s  {:>4} MiB at most", group_digits(self.a_second), self.peak_mib)
    }
}

/// Formats `1234567` as `1,234,567`.
fn group_digits(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev();
    groups.map(String::from_utf8_lossy).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_statistics_in_the_log() {
        let log = "#1 INITED\nstat::number_of_executed_units: 200000\nstat::peak_rss_mb:              31\n";
        let expect = FuzzStatistics { executions: 200_000, a_second: 66_666, peak_mib: 31 };
        assert_eq!(FuzzStatistics::read(log, Duration::from_secs(3)), expect);
        assert_eq!(FuzzStatistics::read("", Duration::ZERO), FuzzStatistics::default());
        assert_eq!(expect.to_string(), "   66,666/s    31 MiB at most");
    }

    #[test]
    fn finds_artifact_in_the_log() {
        let log = "x\nartifact_prefix='t/'; Test unit written to t/timeout-1\nBase64: eA==\n";
        assert_eq!(artifact_path(log), Some("t/timeout-1".into()));
        assert_eq!(artifact_path("Done"), None);
    }

    #[test]
    fn every_target_has_a_binary() {
        let manifest = repo::read("fuzz/Cargo.toml").unwrap();
        for FuzzTarget { name, .. } in xtask::seeds::TARGETS {
            assert!(manifest.contains(&format!("path = \"targets/{name}.rs\"")), "{name}");
            let binary = repo::read(&format!("fuzz/targets/{name}.rs")).unwrap();
            assert!(binary.contains(&format!("haft_fuzz::{name}::check(")), "{name}");
        }
    }

    #[test]
    fn groups_digits() {
        let check = |number, expect| assert_eq!(group_digits(number), expect);
        check(0, "0");
        check(999, "999");
        check(1000, "1,000");
        check(12_345_678, "12,345,678");
    }
}
