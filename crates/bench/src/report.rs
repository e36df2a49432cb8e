//! What a row found, as a table of 80 columns and as JSON.

use std::fmt::{self, Write as _};
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::{Value, json};

use crate::method::Comparison;

/// What the numbers of a line are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) enum Unit {
    #[serde(rename = "s")]
    Seconds,
    #[serde(rename = "B")]
    Bytes,
    /// Of whatever the line's name says: system calls, wakes, bytes by bytes.
    #[serde(rename = "")]
    #[expect(dead_code, reason = "for rows to come")]
    Count,
}

/// What a line should reach at most: a ratio for a comparison, otherwise a value in the line's unit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Goal {
    pub(crate) goal: f64,
    /// Beyond this a check may refuse the change.
    pub(crate) gate: f64,
}

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Found {
    /// Base and candidate side by side.
    Ratio(Comparison),
    /// A figure that needs no base: a counter, or a limit that is promised as it is.
    Value(f64),
}

/// One figure with its name.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    /// At most 26 characters.
    pub(crate) what: String,
    pub(crate) unit: Unit,
    pub(crate) found: Found,
    /// None for a control and for what is only reported.
    pub(crate) goal: Option<Goal>,
    /// Whether the control of the same run was sound.
    pub(crate) sound: bool,
}

/// All lines of a row.
#[derive(Debug, Clone)]
pub(crate) struct Report {
    pub(crate) row: &'static str,
    pub(crate) lines: Vec<Line>,
    /// What could not be measured, and why.
    pub(crate) skipped: Vec<String>,
}

impl Line {
    fn verdict(&self) -> &'static str {
        match self.goal {
            _ if !self.sound => "inconclusive",
            None => "",
            Some(Goal { goal, .. }) if self.found.judged() <= goal => "ok",
            Some(Goal { gate, .. }) if self.found.judged() <= gate => "over goal",
            Some(_) => "over gate",
        }
    }

    fn json(&self) -> Value {
        let mut line = json!({
            "what": self.what,
            "unit": self.unit,
            "goal": self.goal.map(|goal| goal.goal),
            "gate": self.goal.map(|goal| goal.gate),
            "verdict": self.verdict(),
        });
        match self.found {
            Found::Ratio(Comparison { base, candidate, ratio, spread }) => {
                line["base"] = json!(base);
                line["candidate"] = json!(candidate);
                line["ratio"] = json!(ratio);
                line["spread"] = json!(spread);
            }
            Found::Value(value) => line["value"] = json!(value),
        }
        line
    }
}

impl Found {
    /// What the goal is held against.
    fn judged(self) -> f64 {
        match self {
            Self::Ratio(comparison) => comparison.ratio,
            Self::Value(value) => value,
        }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = match self.found {
            Found::Ratio(Comparison { base, candidate, ratio, spread }) => format!(
                "{:<26}{:>9}{:>9}{:>8}{:>7}{:>7}  {}",
                self.what,
                self.unit.show(base),
                self.unit.show(candidate),
                format!("{ratio:.2}x"),
                format!("{:.1}%", spread * 100.0),
                self.goal.map_or_else(String::new, |goal| format!("{:.2}x", goal.goal)),
                self.verdict(),
            ),
            Found::Value(value) => format!(
                "{:<26}{:>18}{:>22}  {}",
                self.what,
                self.unit.show(value),
                self.goal.map_or_else(String::new, |goal| self.unit.show(goal.goal)),
                self.verdict(),
            ),
        };
        f.write_str(line.trim_end())
    }
}

impl Unit {
    fn show(self, value: f64) -> String {
        match self {
            Self::Seconds if value < 1e-3 => format!("{:.1} us", value * 1e6),
            Self::Seconds => format!("{:.2} ms", value * 1e3),
            Self::Bytes if value < 1e6 => format!("{:.1} kB", value / 1e3),
            Self::Bytes => format!("{:.2} MB", value / 1e6),
            Self::Count => format!("{value:.2}"),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table =
            format!("{:<26}{:>9}{:>9}{:>8}{:>7}{:>7}\n", self.row, "base", "haft", "ratio", "spread", "goal");
        for line in &self.lines {
            writeln!(table, "{line}")?;
        }
        for reason in &self.skipped {
            writeln!(table, "skipped: {reason}")?;
        }
        f.write_str(&table)
    }
}

impl Report {
    /// Writes `<folder>/<row>.json`.
    pub(crate) fn save(&self, folder: &Path) -> Result<()> {
        std::fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
        let lines: Vec<Value> = self.lines.iter().map(Line::json).collect();
        let all = json!({ "row": self.row, "lines": lines, "skipped": self.skipped });
        let file = folder.join(format!("{}.json", self.row));
        std::fs::write(&file, format!("{all:#}\n")).with_context(|| format!("write {}", file.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(ratio: f64, sound: bool) -> Line {
        let found =
            Found::Ratio(Comparison { base: 6.44e-6, candidate: ratio * 6.44e-6, ratio, spread: 0.004 });
        let goal = Some(Goal { goal: 1.5, gate: 1.8 });
        Line { what: "x".repeat(26), unit: Unit::Seconds, found, goal, sound }
    }

    #[test]
    fn verdicts() {
        let check = |ratio, sound, expect| assert_eq!(line(ratio, sound).verdict(), expect, "{ratio}");
        check(1.5, true, "ok");
        check(1.6, true, "over goal");
        check(1.9, true, "over gate");
        check(1.0, false, "inconclusive");
        assert_eq!(Line { goal: None, ..line(9.0, true) }.verdict(), "");
        assert_eq!(Line { found: Found::Value(1.6), ..line(9.0, true) }.verdict(), "over goal");
    }

    #[test]
    fn the_table_fits_the_terminal() {
        let value = Line { found: Found::Value(9.75e-3), ..line(9.0, true) };
        let lines = vec![line(1.514, true), line(1.514, false), value];
        let report = Report { row: "intercept", lines, skipped: vec!["python3 is not there".into()] };
        let table = report.to_string();
        assert!(table.lines().all(|line| line.len() <= 80), "{table}");
        assert!(table.contains("6.4 us   9.8 us   1.51x   0.4%  1.50x  over goal"), "{table}");
        assert!(table.contains("9.75 ms            1500.00 ms  ok"), "{table}");
        assert!(table.ends_with("skipped: python3 is not there\n"), "{table}");
    }
}
