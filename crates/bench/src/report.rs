//! The result of a row, printed as a table (`report/table.rs`) and saved as JSON (`report/saved.rs`).

mod saved;
mod table;

use serde::{Deserialize, Serialize};

use crate::facts::{self, MachineDescription, RunConditions, SystemLoad};
use crate::method::{Comparison, EffortLevel, RepetitionPlan};

pub(crate) use saved::{load_all, reports_dir};

/// The version of the JSON. It increases when a reader of the old version would misread the new one.
const SCHEMA: u32 = 1;

/// The unit of a line's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Unit {
    #[serde(rename = "s")]
    Seconds,
    #[serde(rename = "B")]
    Bytes,
    /// A count of the items in the line's name: system calls, wake-ups, bytes per byte.
    #[serde(rename = "")]
    Count,
}

/// The goal of a line: a ratio for a comparison, otherwise a value in the line's unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct LineGoal {
    pub(crate) goal: f64,
    /// The value above which a check may reject the change. Infinite without a gate, and then absent from the JSON.
    #[serde(default = "infinite_gate", skip_serializing_if = "is_infinite")]
    pub(crate) gate: f64,
}

/// The measured value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum MeasuredValue {
    /// Base and candidate, compared with each other.
    Ratio(Comparison),
    /// A figure without a base: a counter, or an absolute limit.
    Value { value: f64 },
}

/// The purpose of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LinePurpose {
    /// The base compared with itself.
    Control,
    /// A figure for information; exceeding its gate is reported and has no consequences.
    Reported,
    /// A line for which `gate` rejects a change.
    Gated,
}

/// One named figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ReportLine {
    /// The name, at most 26 characters.
    pub(crate) what: String,
    pub(crate) unit: Unit,
    #[serde(flatten)]
    pub(crate) found: MeasuredValue,
    /// The goal; `None` for a control and for lines without a goal.
    #[serde(flatten)]
    pub(crate) goal: Option<LineGoal>,
    pub(crate) purpose: LinePurpose,
    /// True if the control of the same run was sound.
    pub(crate) sound: bool,
    /// The position on a curve of the plots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) point: Option<CurvePoint>,
}

/// A point of a curve. The points of one curve in a row are joined along the row's axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct CurvePoint {
    pub(crate) curve: String,
    pub(crate) x: f64,
}

/// The verdict about a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The line has no goal.
    None,
    Ok,
    OverGoal,
    OverGate,
    /// The machine was too busy for a reliable measurement.
    Inconclusive,
}

/// All lines of a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Report {
    /// The version of the JSON; see `docs/benchmarks.md`.
    pub(crate) schema: u32,
    pub(crate) row: String,
    pub(crate) about: String,
    /// The start of the measurement, in UTC.
    pub(crate) date: String,
    pub(crate) effort: EffortLevel,
    pub(crate) machine: MachineDescription,
    pub(crate) setting: RunConditions,
    pub(crate) load: SystemLoad,
    /// The label of the points' `x`.
    pub(crate) axis: Option<String>,
    pub(crate) lines: Vec<ReportLine>,
    /// The parts that could not be measured, with the reason.
    pub(crate) skipped: Vec<String>,
}

impl LineGoal {
    /// Returns a goal without a gate.
    pub(crate) const fn without_gate(goal: f64) -> Self {
        Self { goal, gate: f64::INFINITY }
    }
}

impl Report {
    /// Creates a report without lines.
    pub(crate) fn new(
        row: &str,
        about: &str,
        effort: EffortLevel,
        machine: MachineDescription,
        setting: RunConditions,
    ) -> Self {
        Self {
            schema: SCHEMA,
            row: row.to_owned(),
            about: about.to_owned(),
            date: facts::utc_timestamp(),
            effort,
            machine,
            setting,
            load: SystemLoad { before: 0.0, after: 0.0 },
            axis: None,
            lines: Vec::new(),
            skipped: Vec::new(),
        }
    }

    /// Adds a comparison of the base with itself. Returns true if the machine was quiet enough.
    pub(crate) fn add_control(&mut self, what: &str, unit: Unit, found: Comparison) -> bool {
        let sound = found.is_sound_control();
        self.add(what, unit, MeasuredValue::Ratio(found), None, sound).purpose = LinePurpose::Control;
        sound
    }

    /// Adds a comparison. `sound` is the result of [`Self::add_control`] for the same base.
    pub(crate) fn add_comparison(
        &mut self,
        what: &str,
        unit: Unit,
        found: Comparison,
        goal: Option<LineGoal>,
        sound: bool,
    ) -> &mut ReportLine {
        self.add(what, unit, MeasuredValue::Ratio(found), goal, sound)
    }

    /// Adds a figure that needs no base.
    pub(crate) fn add_figure(
        &mut self,
        what: &str,
        unit: Unit,
        value: f64,
        goal: Option<LineGoal>,
    ) -> &mut ReportLine {
        self.add(what, unit, MeasuredValue::Value { value }, goal, true)
    }

    /// Records a part that could not be measured, with the reason.
    pub(crate) fn skip(&mut self, what: impl Into<String>) {
        self.skipped.push(what.into());
    }

    /// Sets the label of the x axis of this row's points.
    pub(crate) fn set_axis(&mut self, what: &str) {
        self.axis = Some(what.to_owned());
    }

    /// Returns the plan, shortened for a quick run.
    pub(crate) fn plan_for_effort(&self, plan: RepetitionPlan) -> RepetitionPlan {
        match self.effort {
            EffortLevel::Full => plan,
            EffortLevel::Quick => plan.quick(),
        }
    }

    fn add(
        &mut self,
        what: &str,
        unit: Unit,
        found: MeasuredValue,
        goal: Option<LineGoal>,
        sound: bool,
    ) -> &mut ReportLine {
        let (what, purpose) = (what.to_owned(), LinePurpose::Reported);
        let at = self.lines.len();
        self.lines.push(ReportLine { what, unit, found, goal, purpose, sound, point: None });
        &mut self.lines[at]
    }
}

impl ReportLine {
    /// Makes the line reject a change that exceeds its gate. Use it only for lines that are steady on a busy machine:
    /// short blocks on one processor, CPU time, counters.
    pub(crate) fn make_gated(&mut self) -> &mut Self {
        self.purpose = LinePurpose::Gated;
        self
    }

    /// Adds the line to a curve of the plots.
    pub(crate) fn on_curve(&mut self, curve: &str, x: f64) -> &mut Self {
        self.point = Some(CurvePoint { curve: curve.to_owned(), x });
        self
    }

    /// Returns the verdict.
    pub(crate) fn verdict(&self) -> Verdict {
        match self.goal {
            _ if !self.sound => Verdict::Inconclusive,
            None => Verdict::None,
            Some(LineGoal { goal, .. }) if self.found.judged_value() <= goal => Verdict::Ok,
            Some(LineGoal { gate, .. }) if self.found.judged_value() <= gate => Verdict::OverGoal,
            Some(_) => Verdict::OverGate,
        }
    }
}

impl Verdict {
    /// Returns the text for people.
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

impl MeasuredValue {
    /// Returns the value that is compared with the goal.
    pub(crate) fn judged_value(self) -> f64 {
        match self {
            Self::Ratio(comparison) => comparison.ratio,
            Self::Value { value } => value,
        }
    }
}

impl Unit {
    /// Formats a value with its unit.
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

fn infinite_gate() -> f64 {
    f64::INFINITY
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_infinite(gate: &f64) -> bool {
    gate.is_infinite()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn line(ratio: f64, sound: bool) -> ReportLine {
        let found = MeasuredValue::Ratio(Comparison {
            base: 6.44e-6,
            candidate: ratio * 6.44e-6,
            ratio,
            spread: 0.004,
        });
        let goal = Some(LineGoal { goal: 1.5, gate: 1.8 });
        let purpose = LinePurpose::Gated;
        ReportLine { what: "x".repeat(26), unit: Unit::Seconds, found, goal, purpose, sound, point: None }
    }

    pub(crate) fn report(lines: Vec<ReportLine>) -> Report {
        let text = |text: &str| text.to_owned();
        Report {
            schema: 1,
            row: text("intercept"),
            about: text("asking an extension"),
            date: text("2026-11-21T19:30:00Z"),
            effort: EffortLevel::Full,
            machine: MachineDescription {
                cpu: text("a CPU"),
                cpus: 2,
                kernel: text("Linux 6.18"),
                rustc: text("rustc 1.95"),
                haft: text("0.1.0"),
            },
            setting: RunConditions { cpus: 1, real_time: false },
            load: SystemLoad { before: 0.5, after: 1.5 },
            axis: Some(text("bytes")),
            lines,
            skipped: vec![text("python3 is not installed")],
        }
    }

    #[test]
    fn verdict_compares_value_with_goal_and_gate() {
        let check = |ratio, sound, expect| assert_eq!(line(ratio, sound).verdict(), expect, "{ratio}");
        check(1.5, true, Verdict::Ok);
        check(1.6, true, Verdict::OverGoal);
        check(1.9, true, Verdict::OverGate);
        check(1.0, false, Verdict::Inconclusive);
        check(f64::NAN, true, Verdict::OverGate);
        assert_eq!(ReportLine { goal: None, ..line(9.0, true) }.verdict(), Verdict::None);
        assert_eq!(
            ReportLine { found: MeasuredValue::Value { value: 1.6 }, ..line(9.0, true) }.verdict(),
            Verdict::OverGoal
        );
        assert_eq!(
            ReportLine { goal: Some(LineGoal::without_gate(1.5)), ..line(9.0, true) }.verdict(),
            Verdict::OverGoal
        );
    }
}
