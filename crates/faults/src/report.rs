//! The report of a run: one line of JSON for each row or goal, and the lists at the end.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Serialize;

/// The outcome of a row or goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ReportOutcome {
    Ok,
    Failed,
    Skipped,
}

/// The result of a row or goal in a report.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ReportEntry {
    /// The id, such as `P-07`.
    pub(crate) name: String,
    pub(crate) outcome: ReportOutcome,
    pub(crate) seconds: f64,
    /// The reason for a failure or a skip, or what was skipped in part; may be empty.
    pub(crate) reason: String,
    /// The command that repeats this row or goal.
    pub(crate) repeat: String,
}

impl ReportEntry {
    pub(crate) fn new(
        name: &str,
        outcome: ReportOutcome,
        took: Duration,
        reason: String,
        repeat: String,
    ) -> Self {
        let seconds = (took.as_secs_f64() * 10.0).round() / 10.0;
        Self { name: name.to_owned(), outcome, seconds, reason, repeat }
    }
}

/// The entries of a run, optionally written to a file as they arrive.
pub(crate) struct RunReport {
    file: Option<File>,
    entries: Vec<ReportEntry>,
}

impl RunReport {
    /// Creates an empty report and overwrites the file.
    pub(crate) fn new(path: Option<&Path>) -> Result<Self> {
        let create =
            |path: &Path| File::create(path).with_context(|| format!("create the report {}", path.display()));
        Ok(Self { file: path.map(create).transpose()?, entries: Vec::new() })
    }

    /// Adds an entry.
    pub(crate) fn add(&mut self, entry: ReportEntry) -> Result<()> {
        if let Some(file) = &mut self.file {
            let line = serde_json::to_string(&entry).context("write an entry as JSON")?;
            writeln!(file, "{line}").context("write the report")?;
        }
        self.entries.push(entry);
        Ok(())
    }

    /// True if no entry failed.
    pub(crate) fn is_good(&self) -> bool {
        self.entries.iter().all(|entry| entry.outcome != ReportOutcome::Failed)
    }

    /// Lists the failed entries with the command that repeats each, and the skipped entries with the reason. Empty if
    /// there are none.
    pub(crate) fn render_lists(&self) -> String {
        let mut text = String::new();
        let mut list = |title: &str, chosen: &dyn Fn(&ReportEntry) -> bool, shows_command: bool| {
            let mut chosen = self.entries.iter().filter(|entry| chosen(entry)).peekable();
            if chosen.peek().is_some() {
                text.push_str(&format!("\n{title}:\n"));
            }
            for entry in chosen {
                let reason = entry.reason.lines().collect::<Vec<_>>().join("; ");
                text.push_str(&format!("  {:<6} {reason}\n", entry.name));
                if shows_command {
                    text.push_str(&format!("         repeat: {}\n", entry.repeat));
                }
            }
        };
        list("failed", &|entry| entry.outcome == ReportOutcome::Failed, true);
        list("skipped", &|entry| entry.outcome == ReportOutcome::Skipped, false);
        list(
            "skipped in part",
            &|entry| entry.outcome == ReportOutcome::Ok && !entry.reason.is_empty(),
            false,
        );
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_json_lines_and_lists_failures_and_skips() {
        let entry = |name: &str, outcome, reason: &str| {
            let repeat = format!("cargo xtask faults {name}");
            ReportEntry::new(name, outcome, Duration::from_millis(1_234), reason.to_owned(), repeat)
        };
        let dir = std::env::temp_dir().join(format!("haft-faults-report-{}", std::process::id()));
        let mut report = RunReport::new(Some(&dir)).unwrap();
        report.add(entry("P-01", ReportOutcome::Ok, "")).unwrap();
        assert!(report.is_good() && report.render_lists().is_empty());
        report.add(entry("P-07", ReportOutcome::Failed, "U1: gone")).unwrap();
        report.add(entry("S-11", ReportOutcome::Skipped, "strace")).unwrap();
        report.add(entry("T-20", ReportOutcome::Ok, "SKIP Strict")).unwrap();
        let written = std::fs::read_to_string(&dir).unwrap();
        std::fs::remove_file(&dir).unwrap();
        assert!(!report.is_good());
        assert_eq!(
            report.render_lists(),
            "\nfailed:\n  P-07   U1: gone\n         repeat: cargo xtask faults P-07\n\
             \nskipped:\n  S-11   strace\n\nskipped in part:\n  T-20   SKIP Strict\n"
        );
        assert_eq!(
            written.lines().nth(1),
            Some(
                r#"{"name":"P-07","outcome":"failed","seconds":1.2,"reason":"U1: gone","repeat":"cargo xtask faults P-07"}"#
            )
        );
        assert_eq!(written.lines().count(), 4);
    }
}
