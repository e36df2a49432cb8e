//! Draws the lines of a row that share a curve, over the row's axis.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use super::escape;
use super::scale::{LogScale, bounds};
use crate::report::{CurvePoint, MeasuredValue, Report, ReportLine, Unit};

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 44.0;

/// The number of colors in the style.
const COLORS: usize = 8;

/// The vertical measure. Each measure has a separate plot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CurveMeasure {
    Ratio,
    Value(Unit),
}

const HEIGHTS: [CurveMeasure; 4] = [
    CurveMeasure::Ratio,
    CurveMeasure::Value(Unit::Seconds),
    CurveMeasure::Value(Unit::Bytes),
    CurveMeasure::Value(Unit::Count),
];

/// The points of every curve, by the name of the curve.
type CurveMap<'a> = BTreeMap<&'a str, Vec<(f64, f64)>>;

/// Adds a plot for every vertical measure that has a curve.
pub(super) fn draw(html: &mut String, report: &Report) -> fmt::Result {
    for height in HEIGHTS {
        let curves = collect_curves(&report.lines, height);
        let points = || curves.values().flatten();
        let across = LogScale::new(bounds(points().map(|(x, _)| *x)), (LEFT, WIDTH - RIGHT));
        let (least, most) = bounds(points().map(|(_, y)| *y));
        let up = LogScale::new((least / 1.15, most * 1.15), (HEIGHT - BOTTOM, TOP));
        if let (Some(across), Some(up)) = (across, up) {
            let axis = report.axis.as_deref().unwrap_or_default();
            html.push_str("<figure>\n");
            draw_plot(html, &curves, &PlotAxes { across, up, height, axis })?;
            write_legend(html, &curves)?;
            html.push_str("</figure>\n");
        }
    }
    Ok(())
}

/// Returns the curves of at least two points; other points are only in the table.
fn collect_curves(lines: &[ReportLine], height: CurveMeasure) -> CurveMap<'_> {
    let mut curves = CurveMap::new();
    for line in lines {
        if let (Some(CurvePoint { curve, x }), Some(y)) = (&line.point, height.value_of(line)) {
            curves.entry(curve).or_default().push((*x, y));
        }
    }
    curves.retain(|_, points| points.len() > 1);
    curves.values_mut().for_each(|points| points.sort_by(|one, other| one.0.total_cmp(&other.0)));
    curves
}

struct PlotAxes<'a> {
    across: LogScale,
    up: LogScale,
    height: CurveMeasure,
    /// The label of the horizontal axis.
    axis: &'a str,
}

fn draw_plot(html: &mut String, curves: &CurveMap<'_>, axes: &PlotAxes<'_>) -> fmt::Result {
    let PlotAxes { across, up, height, axis } = axes;
    let ((left, right), (bottom, top)) = (across.pixel_range(), up.pixel_range());
    writeln!(html, "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\">")?;
    for tick in up.ticks(22.0) {
        let (at, class) = (up.at(tick), if tick == 1.0 { "one" } else { "tick" });
        write!(html, "<path class=\"{class}\" d=\"M{left} {at:.1}H{right}\"/>")?;
        writeln!(
            html,
            "<text class=\"side\" x=\"{}\" y=\"{:.1}\">{}</text>",
            left - 8.0,
            at + 4.0,
            height.show(tick)
        )?;
    }
    for tick in x_values(curves) {
        let at = across.at(tick);
        write!(html, "<path class=\"tick\" d=\"M{at:.1} {top}V{bottom}\"/>")?;
        writeln!(html, "<text x=\"{at:.1}\" y=\"{}\">{}</text>", bottom + 18.0, format_short(tick))?;
    }
    writeln!(
        html,
        "<text x=\"{}\" y=\"{}\">{}</text>",
        f64::midpoint(left, right),
        HEIGHT - 6.0,
        escape(axis)
    )?;
    for (at, (name, points)) in curves.iter().enumerate() {
        let color = at % COLORS;
        let places: Vec<String> =
            points.iter().map(|(x, y)| format!("{:.1},{:.1}", across.at(*x), up.at(*y))).collect();
        writeln!(html, "<polyline class=\"curve c{color}\" points=\"{}\"/>", places.join(" "))?;
        for (x, y) in points {
            let title = format!("{name}, {}: {}", format_short(*x), height.show(*y));
            write!(
                html,
                "<circle class=\"point c{color}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"3.5\">",
                across.at(*x),
                up.at(*y)
            )?;
            writeln!(html, "<title>{}</title></circle>", escape(&title))?;
        }
    }
    html.push_str("</svg>\n");
    Ok(())
}

fn write_legend(html: &mut String, curves: &CurveMap<'_>) -> fmt::Result {
    html.push_str("<figcaption>");
    for (at, name) in curves.keys().enumerate() {
        write!(html, "<span class=\"c{}\">{}</span> ", at % COLORS, escape(name))?;
    }
    html.push_str("</figcaption>\n");
    Ok(())
}

impl CurveMeasure {
    fn value_of(self, line: &ReportLine) -> Option<f64> {
        match (self, line.found) {
            (Self::Ratio, MeasuredValue::Ratio(found)) => Some(found.ratio),
            (Self::Value(unit), MeasuredValue::Value { value }) if unit == line.unit => Some(value),
            (Self::Ratio | Self::Value(_), _) => None,
        }
    }

    fn show(self, value: f64) -> String {
        match self {
            Self::Ratio => format!("{}×", (value * 100.0).round() / 100.0),
            Self::Value(unit) => unit.show(value),
        }
    }
}

/// Returns the x values of all points.
fn x_values(curves: &CurveMap<'_>) -> Vec<f64> {
    let mut stops: Vec<f64> = curves.values().flatten().map(|(x, _)| *x).collect();
    stops.sort_by(f64::total_cmp);
    stops.dedup();
    stops
}

/// Formats a count with a unit prefix: decimal, or binary if the count is not a decimal multiple.
fn format_short(value: f64) -> String {
    let units = [(1e6, "M"), (1_048_576.0, "Mi"), (1e3, "k"), (1024.0, "Ki")];
    let unit = units.iter().find(|(unit, _)| value >= *unit && value % unit == 0.0);
    unit.map_or_else(|| value.to_string(), |(unit, letter)| format!("{} {letter}", value / unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abbreviates_counts() {
        let check = |value, expect: &str| assert_eq!(format_short(value), expect);
        check(1.0, "1");
        check(200.0, "200");
        check(1000.0, "1 k");
        check(4096.0, "4 Ki");
        check(65_536.0, "64 Ki");
        check(4_194_304.0, "4 Mi");
    }
}
