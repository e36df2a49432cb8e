//! The report of `cargo xtask ci`: times, the slowest tests, skipped tests, and failures with the commands that
//! repeat them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::json;

use super::relative_path;
use super::results::{self, CaseVerdict, TestCase};
use super::step::{FinishedStep, StepOutcome};

/// The number of slowest tests in the report.
const SLOWEST: usize = 20;

/// The number of lines of a failed step's log in the report.
const SHOWN: usize = 40;

/// The data of the report, printed and stored at the end of a run.
#[derive(Debug, Default)]
pub(super) struct CiReport {
    steps: Vec<StepLine>,
    cases: Vec<TestCase>,
    /// Skipped steps with the printed reasons.
    skipped: Vec<(String, String)>,
    failed: Vec<ReportedFailure>,
    /// The ends of the logs of failed steps.
    logs: Vec<String>,
    took: Duration,
}

#[derive(Debug)]
struct StepLine {
    name: &'static str,
    outcome: &'static str,
    took: Duration,
}

/// A failed step or case.
#[derive(Debug)]
struct ReportedFailure {
    name: String,
    repeat: String,
    /// The reason in a few lines; empty if only the log contains it.
    reason: String,
}

impl CiReport {
    /// Collects the results of all steps.
    pub(super) fn new(ended: &[FinishedStep], folder: &Path, took: Duration) -> Self {
        let mut report = Self { took, ..Self::default() };
        for step in ended {
            report.add(step, folder);
        }
        report
    }

    fn add(&mut self, ended: &FinishedStep, folder: &Path) {
        let FinishedStep { step, outcome, took, .. } = ended;
        let word = match outcome {
            StepOutcome::Passed => "ok",
            StepOutcome::Failed(_) => "FAILED",
            StepOutcome::NotRun(_) => "not run",
        };
        self.steps.push(StepLine { name: step.name, outcome: word, took: *took });
        if step.name == "tests" && !step.args.iter().any(|arg| arg == "nextest") {
            let reason = "cargo-nextest is not installed, so skips inside tests are not listed";
            self.skipped.push((step.name.to_owned(), reason.to_owned()));
        }
        let text = ended.text();
        let reasons = text.lines().filter_map(|line| line.strip_prefix("SKIP "));
        self.skipped.extend(reasons.map(|reason| (step.name.to_owned(), reason.to_owned())));
        let cases = match outcome {
            StepOutcome::NotRun(needed) => {
                self.add_failure(step.name, &step.repeat, format!("not run: `{needed}` failed"));
                return;
            }
            StepOutcome::Passed | StepOutcome::Failed(_) => results::read_cases(ended, folder),
        };
        let cases = cases.unwrap_or_else(|error| {
            self.add_failure(step.name, &step.repeat, format!("cannot read its results: {error:#}"));
            Vec::new()
        });
        let variables = step.variable_prefix();
        for case in &cases {
            match &case.verdict {
                CaseVerdict::Passed => {}
                CaseVerdict::Skipped(reason) => self.skipped.push((case.name.clone(), reason.clone())),
                CaseVerdict::Failed(reason) => {
                    let repeat = format!("{variables}{}", case.repeat);
                    self.add_failure(&format!("{}: {}", step.name, case.name), &repeat, reason.clone());
                }
            }
        }
        if let StepOutcome::Failed(status) = outcome {
            let lines: Vec<&str> = text.lines().collect();
            let end = lines.get(lines.len().saturating_sub(SHOWN)..).unwrap_or_default().join("\n");
            let log = relative_path(&ended.log);
            self.logs.push(format!("{}: {status}; the end of {log}:\n{end}", step.name));
            self.add_failure(step.name, &step.repeat, String::new());
        }
        self.cases.extend(cases);
    }

    fn add_failure(&mut self, name: &str, repeat: &str, reason: String) {
        self.failed.push(ReportedFailure { name: name.to_owned(), repeat: repeat.to_owned(), reason });
    }

    /// True if no step and no case failed.
    pub(super) fn has_passed(&self) -> bool {
        self.failed.is_empty()
    }

    /// Returns the slowest cases, the slowest first.
    fn slowest_cases(&self) -> Vec<(&TestCase, Duration)> {
        let mut timed: Vec<_> = self.cases.iter().filter_map(|case| Some((case, case.took?))).collect();
        timed.sort_by_key(|(_, took)| std::cmp::Reverse(*took));
        timed.truncate(SLOWEST);
        timed
    }

    /// Stores the times as `times.json` in the folder.
    pub(super) fn save(&self, folder: &Path) -> Result<()> {
        let steps: Vec<_> = self
            .steps
            .iter()
            .map(|step| json!({"step": step.name, "outcome": step.outcome, "seconds": step.took.as_secs_f64()}))
            .collect();
        let slowest: Vec<_> = self
            .slowest_cases()
            .iter()
            .map(|(case, took)| json!({"name": case.name, "seconds": took.as_secs_f64()}))
            .collect();
        let times = json!({"seconds": self.took.as_secs_f64(), "steps": steps, "slowest": slowest});
        let path = folder.join("times.json");
        std::fs::write(&path, format!("{times:#}\n")).with_context(|| format!("write {}", path.display()))
    }

    /// Returns the reasons with the names of the cases that were skipped for them.
    fn skipped_by_reason(&self) -> BTreeMap<&str, Vec<&str>> {
        let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (name, reason) in &self.skipped {
            reasons.entry(reason).or_default().push(name);
        }
        reasons
    }

    fn count(&self, wanted: fn(&CaseVerdict) -> bool) -> usize {
        self.cases.iter().filter(|case| wanted(&case.verdict)).count()
    }
}

impl fmt::Display for CiReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for log in &self.logs {
            writeln!(f, "\n---- {log}")?;
        }
        writeln!(f, "\nsteps")?;
        for step in &self.steps {
            writeln!(f, "  {:<12} {:>9}  {}", step.name, format_seconds(step.took), step.outcome)?;
        }
        writeln!(f, "  {:<12} {:>9}  in parallel where possible", "total", format_seconds(self.took))?;
        let slowest = self.slowest_cases();
        if !slowest.is_empty() {
            writeln!(f, "\nslowest tests, rows and goals")?;
        }
        for (case, took) in slowest {
            writeln!(f, "  {:>8}  {}", format_seconds(took), case.name)?;
        }
        if !self.skipped.is_empty() {
            writeln!(f, "\nskipped on this machine")?;
        }
        for (reason, names) in self.skipped_by_reason() {
            writeln!(f, "  {reason}\n      {}", names.join("\n      "))?;
        }
        if !self.failed.is_empty() {
            writeln!(f, "\nfailed")?;
        }
        for ReportedFailure { name, repeat, reason } in &self.failed {
            writeln!(f, "  {name}\n      {repeat}")?;
            for line in reason.lines() {
                writeln!(f, "      | {line}")?;
            }
        }
        let (passed, failed) =
            (self.count(|v| *v == CaseVerdict::Passed), self.count(|v| matches!(v, CaseVerdict::Failed(_))));
        let skipped = self.count(|v| matches!(v, CaseVerdict::Skipped(_)));
        let broken = self.steps.iter().filter(|step| step.outcome != "ok").count();
        if broken > 0 {
            writeln!(f, "\n{broken} of {} steps did not pass", self.steps.len())?;
        }
        writeln!(f, "\n{passed} passed, {failed} failed, {skipped} skipped")
    }
}

/// Returns one line about a finished step.
pub(super) fn format_step(ended: &FinishedStep) -> String {
    let outcome = match &ended.outcome {
        StepOutcome::Passed => "ok".to_owned(),
        StepOutcome::Failed(status) => format!("FAILED ({status}); see {}", relative_path(&ended.log)),
        StepOutcome::NotRun(needed) => format!("not run: `{needed}` failed"),
    };
    format!("{:<12} {:>9}  {outcome}", ended.step.name, format_seconds(ended.took))
}

fn format_seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::super::step::CiStep;
    use super::*;

    fn ended(step: CiStep, outcome: StepOutcome, log: &str, folder: &Path) -> FinishedStep {
        let path = step.log(folder);
        std::fs::write(&path, log).unwrap();
        FinishedStep { step, outcome, took: Duration::from_secs(2), log: path }
    }

    #[test]
    fn lists_every_failure_with_the_command_that_repeats_it() {
        let folder = std::env::temp_dir().join(format!("haft-xtask-report-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let faults = r#"{"name":"P-07","outcome":"failed","seconds":9.5,"reason":"x","repeat":"cargo xtask faults P-07"}
{"name":"T-20","outcome":"skipped","seconds":0.1,"reason":"no bubblewrap","repeat":"cargo xtask faults T-20"}"#;
        std::fs::write(folder.join("faults.jsonl"), faults).unwrap();
        let failed = || StepOutcome::Failed("exit status: 1".to_owned());
        let all = [
            ended(CiStep::xtask("tidy", "tidy"), failed(), "3 findings", &folder),
            ended(
                CiStep::built_binary("faults", "haft-faults", "", "cargo xtask faults"),
                failed(),
                "",
                &folder,
            ),
            ended(
                CiStep::cargo("doc-tests", "test --doc"),
                failed(),
                "   Doc-tests haft_core\ntest src/a.rs - Agent (line 1) ... FAILED\n",
                &folder,
            ),
            ended(
                CiStep::xtask("counts", "bench counts"),
                StepOutcome::Passed,
                "SKIP counts: no valgrind\n",
                &folder,
            ),
            ended(CiStep::cargo("docs", "doc"), StepOutcome::NotRun("build"), "", &folder),
        ];
        let report = CiReport::new(&all, &folder, Duration::from_secs(7));
        let text = report.to_string();
        report.save(&folder).unwrap();
        let saved = std::fs::read_to_string(folder.join("times.json")).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(!report.has_passed());
        let (_, end) = text.split_once("\nfailed\n").unwrap();
        for command in [
            "cargo xtask tidy",
            "cargo xtask faults P-07\n      | x\n",
            "cargo test -p haft-core --doc -- 'Agent'",
            "cargo doc",
        ] {
            assert!(end.contains(command), "{command} is not in {end}");
        }
        assert!(
            text.contains("no bubblewrap\n      T-20") && text.contains("counts: no valgrind\n      counts"),
            "{text}"
        );
        assert!(text.contains("      9.5 s  P-07") || text.contains("   9.5 s  P-07"), "{text}");
        assert!(end.trim_end().ends_with("0 passed, 2 failed, 1 skipped"), "{end}");
        assert!(saved.contains("\"P-07\"") && saved.contains("\"seconds\": 7.0"), "{saved}");
    }
}
