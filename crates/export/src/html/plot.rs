//! Charts of tokens and cost per turn, drawn as SVG without scripts.

use std::fmt::Write as _;

use haft_protocol::message::TokenUsage;

use super::facts::{dollar_text, token_count_text};

/// Lengths in units of the drawing.
const WIDTH: f64 = 720.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 708.0;
const TOP: f64 = 30.0;
const PLOT: f64 = 88.0;
const PANEL: f64 = 150.0;
/// The height of the text below the last chart.
const FOOT: f64 = 20.0;

/// One chart.
struct UsageChart {
    title: &'static str,
    /// The series from bottom to top, each with its CSS class and its name.
    series: Vec<(&'static str, &'static str, Vec<f64>)>,
    /// True for a line chart, false for a bar chart.
    line: bool,
    show: fn(f64) -> String,
}

/// Writes the charts if at least two answers have a known usage.
pub(super) fn write_charts(out: &mut String, turns: &[TokenUsage]) {
    if turns.len() < 2 {
        return;
    }
    let panels = usage_charts(turns);
    let height = panels.len() as f64 * PANEL + FOOT;
    let _ = write!(
        out,
        "<section class=\"plot\" aria-labelledby=\"usage\"><h2 id=\"usage\">Tokens and cost over the turns</h2>\
         <div class=\"scroll\" tabindex=\"0\"><svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-labelledby=\"usage\">"
    );
    for (at, panel) in panels.iter().enumerate() {
        let _ = write!(out, "<g transform=\"translate(0 {})\">", at as f64 * PANEL);
        draw_chart(out, panel);
        out.push_str("</g>");
    }
    draw_turn_axis(out, turns.len(), height);
    draw_tooltips(out, turns, height);
    out.push_str("</svg></div></section>");
}

fn usage_charts(turns: &[TokenUsage]) -> Vec<UsageChart> {
    let of =
        |value: fn(&TokenUsage) -> u64| turns.iter().map(|usage| value(usage) as f64).collect::<Vec<_>>();
    let tokens = |tokens: f64| token_count_text(tokens.round() as u64);
    let mut panels = vec![
        UsageChart {
            title: "Tokens sent",
            series: vec![
                ("second", "from the cache", of(|usage| usage.cache_read)),
                ("first", "new", of(|usage| usage.input + usage.cache_write)),
            ],
            line: false,
            show: tokens,
        },
        UsageChart {
            title: "Tokens received",
            series: vec![("first", "", of(|usage| usage.output))],
            line: false,
            show: tokens,
        },
    ];
    let mut sum = 0.0;
    let so_far = turns.iter().map(|usage| {
        sum += usage.cost_usd;
        sum
    });
    let so_far: Vec<f64> = so_far.collect();
    if sum > 0.0 {
        let series = vec![("first", "", so_far)];
        panels.push(UsageChart { title: "Cost so far", series, line: true, show: dollar_text });
    }
    panels
}

fn draw_chart(out: &mut String, panel: &UsageChart) {
    let turns = panel.series.first().map_or(0, |(_, _, values)| values.len());
    let sums: Vec<f64> =
        (0..turns).map(|at| panel.series.iter().filter_map(|(_, _, values)| values.get(at)).sum()).collect();
    let step = tick_step(sums.iter().copied().fold(0.0, f64::max));
    let top = step * (sums.iter().copied().fold(0.0, f64::max) / step).ceil().max(1.0);
    let y = |value: f64| TOP + PLOT - value / top * PLOT;
    let _ = write!(out, "<text class=\"title\" x=\"0\" y=\"14\">{}</text>", panel.title);
    draw_legend(out, panel);
    let ticks = (top / step).round() as usize;
    for tick in 0..=ticks {
        let value = tick as f64 * step;
        let (at, label) = (y(value), (panel.show)(value));
        let _ = write!(
            out,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
             <text class=\"tick\" text-anchor=\"end\" x=\"{}\" y=\"{:.1}\">{label}</text>",
            LEFT - 8.0,
            at + 3.5
        );
    }
    match panel.line {
        true => draw_line(out, &sums, y),
        false => draw_bars(out, panel, turns, y),
    }
}

fn draw_legend(out: &mut String, panel: &UsageChart) {
    let mut right = RIGHT;
    for (class, name, values) in panel.series.iter().filter(|(_, name, _)| !name.is_empty()) {
        if values.iter().all(|value| *value == 0.0) {
            continue;
        }
        let _ = write!(
            out,
            "<text class=\"tick\" text-anchor=\"end\" x=\"{right}\" y=\"14\">{name}</text>\
             <rect class=\"{class}\" x=\"{}\" y=\"5\" width=\"10\" height=\"10\" rx=\"2\"/>",
            right - 17.0 - name.len() as f64 * 6.4
        );
        right -= 36.0 + name.len() as f64 * 6.4;
    }
}

fn draw_bars(out: &mut String, panel: &UsageChart, turns: usize, y: impl Fn(f64) -> f64) {
    let slot = slot_width(turns);
    // Leaves a gap between bars that are wide enough.
    let width = (slot * 0.72).clamp(slot.min(1.0), 26.0);
    for at in 0..turns {
        let mut below = 0.0;
        for (class, _, values) in &panel.series {
            let value = values.get(at).copied().unwrap_or_default();
            let (from, to) = (y(below), y(below + value));
            below += value;
            if value > 0.0 {
                let _ = write!(
                    out,
                    "<rect class=\"{class}\" x=\"{:.1}\" y=\"{to:.1}\" width=\"{width:.1}\" height=\"{:.1}\"/>",
                    slot_center(at, slot) - width / 2.0,
                    (from - to).max(0.5)
                );
            }
        }
    }
}

fn draw_line(out: &mut String, values: &[f64], y: impl Fn(f64) -> f64) {
    let slot = slot_width(values.len());
    let points: Vec<String> = values
        .iter()
        .enumerate()
        .map(|(at, value)| format!("{:.1},{:.1}", slot_center(at, slot), y(*value)))
        .collect();
    let (first, last) = (slot_center(0, slot), slot_center(values.len().saturating_sub(1), slot));
    let zero = TOP + PLOT;
    let points = points.join(" ");
    let _ = write!(
        out,
        "<polygon class=\"area\" points=\"{first:.1},{zero} {points} {last:.1},{zero}\"/>\
         <polyline class=\"line\" points=\"{points}\"/>"
    );
}

/// Writes the turn numbers, as many as fit.
fn draw_turn_axis(out: &mut String, turns: usize, height: f64) {
    let slot = slot_width(turns);
    let every = tick_step((turns as f64 / 4.0).max(1.0)).max(1.0) as usize;
    let shown = |turn: usize| turn == 1 || turn.is_multiple_of(every) && turn > every / 2;
    for turn in (1..=turns).filter(|turn| shown(*turn)) {
        let _ = write!(
            out,
            "<text class=\"tick\" text-anchor=\"middle\" x=\"{:.1}\" y=\"{}\">{turn}</text>",
            slot_center(turn - 1, slot),
            height - FOOT - 14.0
        );
    }
    let _ = write!(
        out,
        "<text class=\"tick\" text-anchor=\"end\" x=\"{RIGHT}\" y=\"{}\">turn: one answer of the model</text>",
        height - 8.0
    );
}

fn draw_tooltips(out: &mut String, turns: &[TokenUsage], height: f64) {
    let slot = slot_width(turns.len());
    let mut sum = 0.0;
    for (at, usage) in turns.iter().enumerate() {
        sum += usage.cost_usd;
        let TokenUsage { input, output, cache_read, cache_write, cost_usd, .. } = *usage;
        let _ = write!(
            out,
            "<rect class=\"hover\" x=\"{:.1}\" y=\"0\" width=\"{slot:.1}\" height=\"{:.1}\"><title>Turn {}\n\
             sent {}: {} new, {} from the cache\nreceived {}",
            LEFT + at as f64 * slot,
            height - FOOT,
            at + 1,
            token_count_text(input + cache_read + cache_write),
            token_count_text(input + cache_write),
            token_count_text(cache_read),
            token_count_text(output),
        );
        if sum > 0.0 {
            let _ = write!(out, "\ncost {}, so far {}", dollar_text(cost_usd), dollar_text(sum));
        }
        out.push_str("</title></rect>");
    }
}

fn slot_width(turns: usize) -> f64 {
    (RIGHT - LEFT) / turns.max(1) as f64
}

fn slot_center(at: usize, slot: f64) -> f64 {
    LEFT + (at as f64 + 0.5) * slot
}

/// Returns a round distance for two to five ticks.
fn tick_step(most: f64) -> f64 {
    if most <= 0.0 || !most.is_finite() {
        return 1.0;
    }
    let rough = most / 3.0;
    let unit = 10_f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * unit);
    steps.into_iter().find(|step| *step >= rough * 0.999).unwrap_or(unit * 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        for (most, expect) in
            [(0.0, 1.0), (3.0, 1.0), (10.0, 5.0), (100.0, 50.0), (151_234.0, 100_000.0), (0.0123, 0.005)]
        {
            let found = tick_step(most);
            assert!((found - expect).abs() < 1e-9, "{most}: {found}");
        }
        assert!((tick_step(f64::NAN) - 1.0).abs() < f64::EPSILON);
    }

    #[test]
    fn draws_no_chart_for_a_single_answer() {
        let mut out = String::new();
        write_charts(&mut out, &[TokenUsage::default()]);
        assert_eq!(out, "");
        write_charts(&mut out, &[TokenUsage::default().with_input(10), TokenUsage::default()]);
        assert!(out.contains("Tokens sent") && !out.contains("Cost"), "{out}");
        assert!(!out.contains("NaN"), "{out}");
    }
}
