//! The results of single tests, rows and goals, as far as the files and the output of a step contain them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use super::plan;
use super::step::{FinishedStep, StepProgram};
use crate::repo;

/// The number of lines that are kept of a failed test's output.
const REASON: usize = 8;

/// A test, a fault row or a goal.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TestCase {
    pub(super) name: String,
    pub(super) verdict: CaseVerdict,
    /// The duration, or `None` if the test program does not report it.
    pub(super) took: Option<Duration>,
    /// The command that repeats this case alone.
    pub(super) repeat: String,
}

/// The result of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CaseVerdict {
    Passed,
    /// The case passed but left a part out, for this reason.
    Skipped(String),
    /// The case failed, with the beginning of its output; empty if the test program does not report it.
    Failed(String),
}

/// Reads the cases of a finished step, if it has any.
pub(super) fn read_cases(ended: &FinishedStep, folder: &Path) -> Result<Vec<TestCase>> {
    match (ended.step.name, ended.step.program) {
        ("tests", StepProgram::Cargo) if ended.step.args.iter().any(|arg| arg == "nextest") => {
            let path = junit_path()?;
            let text = std::fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
            from_junit(&text)
        }
        ("tests" | "doc-tests", _) => Ok(from_libtest(&ended.text())),
        ("faults", _) => from_rows(&folder.join(plan::FAULTS)),
        ("goals", _) => from_rows(&folder.join(plan::MEASURED)),
        ("undefended", _) => from_rows(&folder.join(plan::UNDEFENDED)),
        _ => Ok(Vec::new()),
    }
}

/// Returns the path of the report that cargo-nextest writes for the profile `ci`.
pub(super) fn junit_path() -> Result<PathBuf> {
    Ok(repo::target_dir()?.join("nextest/ci/junit.xml"))
}

/// Reads cargo-nextest's report.
fn from_junit(text: &str) -> Result<Vec<TestCase>> {
    let document = roxmltree::Document::parse(text).context("read cargo-nextest's report")?;
    let cases = document.descendants().filter(|node| node.has_tag_name("testcase"));
    Ok(cases
        .map(|node| {
            let (binary, test) =
                (node.attribute("classname").unwrap_or_default(), node.attribute("name").unwrap_or_default());
            let failure =
                node.children().find(|child| child.has_tag_name("failure") || child.has_tag_name("error"));
            let said = node
                .children()
                .filter(|child| child.has_tag_name("system-out") || child.has_tag_name("system-err"));
            let skip = said.filter_map(|child| child.text()).find_map(skip_reason);
            let verdict = match (failure, skip) {
                (Some(failure), _) => CaseVerdict::Failed(first_lines(failure.text().unwrap_or_default())),
                (None, Some(reason)) => CaseVerdict::Skipped(reason),
                (None, None) => CaseVerdict::Passed,
            };
            let seconds = node.attribute("time").and_then(|time| time.parse().ok());
            let took = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            TestCase { name: format!("{binary} {test}"), verdict, took, repeat: repeat_command(binary, test) }
        })
        .collect())
}

/// Returns the first lines of a failed test's output, without the backtrace.
fn first_lines(said: &str) -> String {
    let lines = said.lines().take_while(|line| !line.starts_with("stack backtrace"));
    let lines = lines.filter(|line| !line.trim().is_empty()).take(REASON);
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the reason of a test that prints `SKIP` and a reason.
fn skip_reason(said: &str) -> Option<String> {
    let line = said.lines().find_map(|line| {
        let line = line.trim_start();
        line.strip_prefix("SKIP ").or_else(|| line.strip_prefix("SKIP:"))
    })?;
    Some(line.trim_start_matches([':', ' ']).to_owned())
}

/// Returns the command for one test of a binary, which has cargo-nextest's name: `package`, `package::test`,
/// `package::bin/name`.
fn repeat_command(binary: &str, test: &str) -> String {
    let (package, target) = binary.split_once("::").unwrap_or((binary, ""));
    let target = match target.split_once('/') {
        Some((kind, name)) => format!("--{kind} {name}"),
        None if target.is_empty() => "--lib".to_owned(),
        None => format!("--test {target}"),
    };
    format!("cargo test -p {package} {target} -- --exact {test}")
}

/// Reads the output of the standard test harness, from `cargo test` or documentation tests.
fn from_libtest(log: &str) -> Vec<TestCase> {
    let mut program = TestProgram::default();
    let mut cases = Vec::new();
    for line in log.lines() {
        if let Some(target) = TestProgram::read(line) {
            program = target;
        } else if let Some((name, verdict)) = parse_result(line) {
            cases.push(TestCase {
                name: format!("{} {name}", program.package),
                verdict,
                took: None,
                repeat: program.repeat_command(name),
            });
        }
    }
    cases
}

/// Parses a line like `test session::resumes ... ok`.
fn parse_result(line: &str) -> Option<(&str, CaseVerdict)> {
    let (name, result) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    let verdict = match result {
        "FAILED" => CaseVerdict::Failed(String::new()),
        "ok" => CaseVerdict::Passed,
        other => {
            CaseVerdict::Skipped(other.strip_prefix("ignored")?.trim_start_matches([',', ' ']).to_owned())
        }
    };
    Some((name, verdict))
}

/// The test program that the following output belongs to.
#[derive(Debug, Default, PartialEq, Eq)]
struct TestProgram {
    package: String,
    is_doc: bool,
}

impl TestProgram {
    /// Parses the heading of a test program.
    fn read(line: &str) -> Option<Self> {
        let line = line.trim_start();
        if let Some(package) = line.strip_prefix("Doc-tests ") {
            return Some(Self { package: package.replace('_', "-"), is_doc: true });
        }
        let (_, path) = line.strip_prefix("Running ")?.rsplit_once(['(', '/', '\\'])?;
        let name = path.trim_end_matches(')').rsplit_once('-').map_or(path, |(name, _)| name);
        Some(Self { package: name.replace('_', "-"), is_doc: false })
    }

    fn repeat_command(&self, test: &str) -> String {
        match self.is_doc {
            true => {
                // A test at the top of a file has no item: `src/lib.rs - (line 17)`.
                let (file, item) = test.split_once(" - ").unwrap_or((test, ""));
                let item = item.split(' ').next().unwrap_or_default();
                let filter = if item.is_empty() || item.starts_with('(') { file } else { item };
                format!("cargo test -p {} --doc -- '{filter}'", self.package)
            }
            false => format!("cargo test --workspace -- --exact {test}"),
        }
    }
}

/// Reads the results of fault rows or goals, one JSON object per line.
fn from_rows(path: &Path) -> Result<Vec<TestCase>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
    text.lines().map(parse_row).collect()
}

fn parse_row(line: &str) -> Result<TestCase> {
    let row: Value = serde_json::from_str(line).with_context(|| format!("read {line}"))?;
    let text = |field: &str| row[field].as_str().unwrap_or_default().to_owned();
    let verdict = match row["outcome"].as_str() {
        // Passed as far as this machine can run it.
        Some("ok") if !text("reason").is_empty() => CaseVerdict::Skipped(text("reason")),
        Some("ok") => CaseVerdict::Passed,
        Some("skipped") => CaseVerdict::Skipped(text("reason")),
        _ => CaseVerdict::Failed(text("reason")),
    };
    let took = row["seconds"].as_f64().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    Ok(TestCase { name: text("name"), verdict, took, repeat: text("repeat") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_report_of_nextest() {
        let report = r#"<testsuites><testsuite name="haft-core::it">
            <testcase name="gates::blocks" classname="haft-core::it" time="1.250"/>
            <testcase name="a" classname="haft-core" time="0.5"><failure>

                thread 'a' panicked:
                left: 1</failure></testcase>
            <testcase name="b" classname="haft::bin/haft" time="0.5"><system-err>x
SKIP no chromium</system-err></testcase></testsuite></testsuites>"#;
        let cases = from_junit(report).unwrap();
        let verdicts: Vec<_> = cases.iter().map(|case| case.verdict.clone()).collect();
        let said = "                thread 'a' panicked:\n                left: 1".to_owned();
        assert_eq!(
            verdicts,
            [CaseVerdict::Passed, CaseVerdict::Failed(said), CaseVerdict::Skipped("no chromium".to_owned())]
        );
        assert_eq!(cases[0].took, Some(Duration::from_millis(1250)));
        let commands: Vec<_> = cases.iter().map(|case| case.repeat.as_str()).collect();
        assert_eq!(
            commands,
            [
                "cargo test -p haft-core --test it -- --exact gates::blocks",
                "cargo test -p haft-core --lib -- --exact a",
                "cargo test -p haft --bin haft -- --exact b",
            ]
        );
    }

    #[test]
    fn reads_the_output_of_the_standard_harness() {
        let log = "     Running unittests src/lib.rs (target/debug/deps/haft_core-0a1b)\n\
                   test gates::blocks ... ok\ntest gates::hangs ... FAILED\n\
                   \x20  Doc-tests haft_core\ntest crates/core/src/agent.rs - agent::Agent (line 9) ... FAILED\n\
                   test crates/core/src/x.rs - x (line 1) ... ignored\ntest result: FAILED. 1 passed\n";
        let cases = from_libtest(log);
        let failed: Vec<_> = cases
            .iter()
            .filter(|case| matches!(case.verdict, CaseVerdict::Failed(_)))
            .map(|case| case.repeat.as_str())
            .collect();
        assert_eq!(
            failed,
            [
                "cargo test --workspace -- --exact gates::hangs",
                "cargo test -p haft-core --doc -- 'agent::Agent'"
            ]
        );
        assert_eq!((cases.len(), cases[0].name.as_str()), (4, "haft-core gates::blocks"));
    }

    #[test]
    fn repeats_doc_test_without_item_by_its_file() {
        let target = TestProgram { package: "haft-sdk".to_owned(), is_doc: true };
        let command = target.repeat_command("crates/sdk/src/lib.rs - (line 17)");
        assert_eq!(command, "cargo test -p haft-sdk --doc -- 'crates/sdk/src/lib.rs'");
    }

    #[test]
    fn reads_rows_of_the_fault_matrix() {
        let line = r#"{"name":"P-07","outcome":"failed","seconds":1.5,"reason":"x","repeat":"cargo xtask faults P-07"}"#;
        let case = parse_row(line).unwrap();
        assert_eq!(
            (case.verdict, case.repeat.as_str()),
            (CaseVerdict::Failed("x".to_owned()), "cargo xtask faults P-07")
        );
        assert!(parse_row("{").is_err());
    }
}
