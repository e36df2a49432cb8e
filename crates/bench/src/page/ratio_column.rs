//! Draws the ratios of a row in a column of the table, all on one scale.

use std::fmt::{self, Write as _};

use super::css_class;
use super::scale::{LogScale, bounds};
use crate::method::Comparison;
use crate::report::{MeasuredValue, ReportLine};

const WIDTH: f64 = 300.0;
const HEIGHT: f64 = 20.0;
/// Margin beside the outermost marks, for half of a label.
const MARGIN: f64 = 16.0;

/// Returns the scale for all ratios, their goals and 1; `None` without ratios.
pub(super) fn ratio_scale(lines: &[ReportLine]) -> Option<LogScale> {
    let ratio = |line: &ReportLine| match line.found {
        MeasuredValue::Ratio(found) => {
            Some([Some(found.ratio), line.goal.map(|goal| goal.goal), line.goal.map(|goal| goal.gate)])
        }
        MeasuredValue::Value { .. } => None,
    };
    let ratios: Vec<[Option<f64>; 3]> = lines.iter().filter_map(ratio).collect();
    if ratios.is_empty() {
        return None;
    }
    let (least, most) = bounds(ratios.into_iter().flatten().flatten().chain([1.0]));
    LogScale::new((least.min(0.9), (most * 1.1).max(2.0)), (MARGIN, WIDTH - MARGIN))
}

/// Writes the labels above the column.
pub(super) fn write_header(html: &mut String, scale: &LogScale) -> fmt::Result {
    open(html)?;
    for tick in scale.ticks(30.0) {
        write!(html, "<text x=\"{:.1}\" y=\"14\">{tick}×</text>", scale.at(tick))?;
    }
    html.push_str("</svg>");
    Ok(())
}

/// Draws the mark of one line.
pub(super) fn write_mark(
    html: &mut String,
    scale: &LogScale,
    line: &ReportLine,
    found: Comparison,
) -> fmt::Result {
    open(html)?;
    for tick in scale.ticks(30.0) {
        let class = if tick == 1.0 { "one" } else { "tick" };
        write!(html, "<path class=\"{class}\" d=\"M{:.1} 0V{HEIGHT}\"/>", scale.at(tick))?;
    }
    if let Some(goal) = line.goal {
        write!(html, "<path class=\"goal\" d=\"M{:.1} 2V18\"/>", scale.at(goal.goal))?;
        if goal.gate.is_finite() {
            write!(html, "<path class=\"gate\" d=\"M{:.1} 2V18\"/>", scale.at(goal.gate))?;
        }
    }
    let half = found.spread / 2.0;
    let (from, to) = (scale.at(found.ratio * (1.0 - half)), scale.at(found.ratio * (1.0 + half)));
    let (class, middle) = (css_class(line.verdict()), scale.at(found.ratio));
    write!(html, "<path class=\"spread {class}\" d=\"M{from:.1} 10H{to:.1}\"/>")?;
    write!(html, "<circle class=\"dot {class}\" cx=\"{middle:.1}\" cy=\"10\" r=\"4\"/></svg>")
}

fn open(html: &mut String) -> fmt::Result {
    write!(html, "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\">")
}
