//! The result of a row. Printed as a table (`report/table.rs`) and kept as JSON (`report/saved.rs`).

mod saved;
mod table;

use serde::{Deserialize, Serialize};

use crate::facts::{self, Load, Machine, Setting};
use crate::method::{Comparison, Effort, Plan};

pub(crate) use saved::{folder, load_all};

/// The version of the JSON. It grows when a reader of the old one would misread the new one.
const SCHEMA: u32 = 1;

/// The unit of a line's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Unit {
    #[serde(rename = "s")]
    Seconds,
    #[serde(rename = "B")]
    Bytes,
    /// Of whatever the line's name says: system calls, wakes, bytes by bytes.
    #[serde(rename = "")]
    Count,
}

/// The goal of a line: a ratio for a comparison, otherwise a value in the line's unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Goal {
    pub(crate) goal: f64,
    /// Beyond this a check may refuse the change. Infinite where none may, and then not in the JSON.
    #[serde(default = "infinite", skip_serializing_if = "is_infinite")]
    pub(crate) gate: f64,
}

/// The measured value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Found {
    /// Base and candidate side by side.
    Ratio(Comparison),
    /// A figure that needs no base: a counter, or a limit that is promised as it is.
    Value { value: f64 },
}

/// The purpose of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Purpose {
    /// The base against itself.
    Control,
    /// For people to read; what is over its gate says so, and nothing follows.
    Reported,
    /// A line for which `gate` rejects a change.
    Gated,
}

/// One figure with its name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Line {
    /// At most 26 characters.
    pub(crate) what: String,
    pub(crate) unit: Unit,
    #[serde(flatten)]
    pub(crate) found: Found,
    /// None for a control and for what has no goal.
    #[serde(flatten)]
    pub(crate) goal: Option<Goal>,
    pub(crate) purpose: Purpose,
    /// True if the control of the same run was sound.
    pub(crate) sound: bool,
    /// Where it stands on a curve of the plots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) point: Option<Point>,
}

/// A place on a curve: lines of one row with the same curve are joined, by the row's axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Point {
    pub(crate) curve: String,
    pub(crate) x: f64,
}

/// The verdict about a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing was asked of it.
    None,
    Ok,
    OverGoal,
    OverGate,
    /// The machine could not be measured on.
    Inconclusive,
}

/// All lines of a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Report {
    /// Of the JSON; see `docs/benchmarks.md`.
    pub(crate) schema: u32,
    pub(crate) row: String,
    pub(crate) about: String,
    /// When it was begun, in UTC.
    pub(crate) date: String,
    pub(crate) effort: Effort,
    pub(crate) machine: Machine,
    pub(crate) setting: Setting,
    pub(crate) load: Load,
    /// The meaning of the points' `x`.
    pub(crate) axis: Option<String>,
    pub(crate) lines: Vec<Line>,
    /// The parts that could not be measured, and why.
    pub(crate) skipped: Vec<String>,
}

impl Goal {
    /// A goal whose miss is only reported.
    pub(crate) const fn reported(goal: f64) -> Self {
        Self { goal, gate: f64::INFINITY }
    }
}

impl Report {
    /// One that is empty yet.
    pub(crate) fn new(row: &str, about: &str, effort: Effort, machine: Machine, setting: Setting) -> Self {
        Self {
            schema: SCHEMA,
            row: row.to_owned(),
            about: about.to_owned(),
            date: facts::date(),
            effort,
            machine,
            setting,
            load: Load { before: 0.0, after: 0.0 },
            axis: None,
            lines: Vec::new(),
            skipped: Vec::new(),
        }
    }

    /// Adds a comparison of the base with itself; says whether the machine can be measured on.
    pub(crate) fn control(&mut self, what: &str, unit: Unit, found: Comparison) -> bool {
        let sound = found.is_sound_control();
        self.add(what, unit, Found::Ratio(found), None, sound).purpose = Purpose::Control;
        sound
    }

    /// Adds a comparison. `sound` is what the control of the same base said.
    pub(crate) fn line(
        &mut self,
        what: &str,
        unit: Unit,
        found: Comparison,
        goal: Option<Goal>,
        sound: bool,
    ) -> &mut Line {
        self.add(what, unit, Found::Ratio(found), goal, sound)
    }

    /// Adds a figure that needs no base.
    pub(crate) fn figure(&mut self, what: &str, unit: Unit, value: f64, goal: Option<Goal>) -> &mut Line {
        self.add(what, unit, Found::Value { value }, goal, true)
    }

    /// Notes what could not be measured, and why.
    pub(crate) fn skip(&mut self, what: impl Into<String>) {
        self.skipped.push(what.into());
    }

    /// Names what the `x` of this row's points is.
    pub(crate) fn axis(&mut self, what: &str) {
        self.axis = Some(what.to_owned());
    }

    /// The plan, or less of it when time is short.
    pub(crate) fn plan(&self, plan: Plan) -> Plan {
        match self.effort {
            Effort::Full => plan,
            Effort::Quick => plan.quick(),
        }
    }

    fn add(&mut self, what: &str, unit: Unit, found: Found, goal: Option<Goal>, sound: bool) -> &mut Line {
        let (what, purpose) = (what.to_owned(), Purpose::Reported);
        let at = self.lines.len();
        self.lines.push(Line { what, unit, found, goal, purpose, sound, point: None });
        &mut self.lines[at]
    }
}

impl Line {
    /// Makes a change that takes it over its gate one to refuse. Only for what is steady on a busy machine: short blocks
    /// on one processor, CPU time, counters.
    pub(crate) fn gated(&mut self) -> &mut Self {
        self.purpose = Purpose::Gated;
        self
    }

    /// Puts it on a curve of the plots.
    pub(crate) fn on(&mut self, curve: &str, x: f64) -> &mut Self {
        self.point = Some(Point { curve: curve.to_owned(), x });
        self
    }

    /// Returns the verdict.
    pub(crate) fn verdict(&self) -> Verdict {
        match self.goal {
            _ if !self.sound => Verdict::Inconclusive,
            None => Verdict::None,
            Some(Goal { goal, .. }) if self.found.judged() <= goal => Verdict::Ok,
            Some(Goal { gate, .. }) if self.found.judged() <= gate => Verdict::OverGoal,
            Some(_) => Verdict::OverGate,
        }
    }
}

impl Verdict {
    /// As people read it.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Ok => "ok",
            Self::OverGoal => "over goal",
            Self::OverGate => "over gate",
            Self::Inconclusive => "inconclusive",
        }
    }
}

impl Found {
    /// Returns the value that is compared with the goal.
    pub(crate) fn judged(self) -> f64 {
        match self {
            Self::Ratio(comparison) => comparison.ratio,
            Self::Value { value } => value,
        }
    }
}

impl Unit {
    /// A number with its unit, short.
    pub(crate) fn show(self, value: f64) -> String {
        match self {
            Self::Seconds if value < 1e-3 => format!("{:.1} us", value * 1e6),
            Self::Seconds => format!("{:.2} ms", value * 1e3),
            Self::Bytes if value < 1e6 => format!("{:.1} kB", value / 1e3),
            Self::Bytes => format!("{:.2} MB", value / 1e6),
            Self::Count => format!("{value:.2}"),
        }
    }
}

fn infinite() -> f64 {
    f64::INFINITY
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_infinite(gate: &f64) -> bool {
    gate.is_infinite()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn line(ratio: f64, sound: bool) -> Line {
        let found =
            Found::Ratio(Comparison { base: 6.44e-6, candidate: ratio * 6.44e-6, ratio, spread: 0.004 });
        let goal = Some(Goal { goal: 1.5, gate: 1.8 });
        let purpose = Purpose::Gated;
        Line { what: "x".repeat(26), unit: Unit::Seconds, found, goal, purpose, sound, point: None }
    }

    pub(crate) fn report(lines: Vec<Line>) -> Report {
        let text = |text: &str| text.to_owned();
        Report {
            schema: 1,
            row: text("intercept"),
            about: text("asking an extension"),
            date: text("2026-11-21T19:30:00Z"),
            effort: Effort::Full,
            machine: Machine {
                cpu: text("a CPU"),
                cpus: 2,
                kernel: text("Linux 6.18"),
                rustc: text("rustc 1.95"),
                haft: text("0.1.0"),
            },
            setting: Setting { cpus: 1, real_time: false },
            load: Load { before: 0.5, after: 1.5 },
            axis: Some(text("bytes")),
            lines,
            skipped: vec![text("python3 is not there")],
        }
    }

    #[test]
    fn verdicts() {
        let check = |ratio, sound, expect| assert_eq!(line(ratio, sound).verdict(), expect, "{ratio}");
        check(1.5, true, Verdict::Ok);
        check(1.6, true, Verdict::OverGoal);
        check(1.9, true, Verdict::OverGate);
        check(1.0, false, Verdict::Inconclusive);
        check(f64::NAN, true, Verdict::OverGate);
        assert_eq!(Line { goal: None, ..line(9.0, true) }.verdict(), Verdict::None);
        assert_eq!(
            Line { found: Found::Value { value: 1.6 }, ..line(9.0, true) }.verdict(),
            Verdict::OverGoal
        );
        assert_eq!(Line { goal: Some(Goal::reported(1.5)), ..line(9.0, true) }.verdict(), Verdict::OverGoal);
    }
}
