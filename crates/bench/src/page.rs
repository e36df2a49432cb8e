//! Renders all reports of a directory as one self-contained HTML page without scripts, fonts or external images.

mod curves;
mod ratio_column;
mod scale;

use std::fmt::{self, Write as _};
use std::path::Path;

use anyhow::{Context, Result};

use crate::method::EffortLevel;
use crate::report::{self, LinePurpose, MeasuredValue, Report, ReportLine, Verdict};
use scale::LogScale;

/// The file name of the page.
pub(crate) const FILE: &str = "index.html";

const STYLE: &str = include_str!("page/style.css");

const LEGEND: &str = concat!(
    r#"<p class="legend"><svg viewBox="0 0 10 12" width="10" height="12"><circle class="dot ok" cx="5" cy="6" r="3.5"/>"#,
    r#"</svg> measured value with its spread <svg viewBox="0 0 10 12" width="10" height="12"><path class="goal" d="M5 0V12"/>"#,
    r#"</svg> goal <svg viewBox="0 0 10 12" width="10" height="12"><path class="gate" d="M5 0V12"/></svg> gate"#,
    "</p>\n"
);

/// Writes the page from the reports in the folder, in the order of these rows.
pub(crate) fn write_page(folder: &Path, order: &[&str]) -> Result<()> {
    let (mut reports, others) = report::load_all(folder)?;
    for file in others {
        eprintln!("{} is not on the page: another version of haft-bench wrote it", file.display());
    }
    let place = |report: &Report| order.iter().position(|row| *row == report.row);
    reports.sort_by_key(|report| place(report).unwrap_or(usize::MAX));
    let file = folder.join(FILE);
    std::fs::write(&file, render_page(&reports)?).with_context(|| format!("write {}", file.display()))
}

fn render_page(reports: &[Report]) -> Result<String, fmt::Error> {
    let mut html = String::new();
    write!(
        html,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width\"/>\n<title>haft benchmarks</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n<h1>haft benchmarks</h1>\n\
         <p>The cost of haft, compared with the minimum that the operating system needs for the same purpose. Both are \
         measured in the same run. Compare the ratios; the times depend on the machine.</p>\n"
    )?;
    summary(&mut html, reports)?;
    html.push_str(LEGEND);
    for report in reports {
        render_section(&mut html, report)?;
    }
    html.push_str("</body>\n</html>\n");
    Ok(html)
}

fn summary(html: &mut String, reports: &[Report]) -> fmt::Result {
    html.push_str("<nav>\n");
    for report in reports {
        write!(html, "<a href=\"#{0}\">{0}", escape(&report.row))?;
        for verdict in [Verdict::Ok, Verdict::OverGoal, Verdict::OverGate, Verdict::Inconclusive] {
            let count = report.lines.iter().filter(|line| line.goal.is_some() && line.verdict() == verdict);
            match count.count() {
                0 => {}
                count => write!(
                    html,
                    " <b class=\"{}\" title=\"{}\">{count}</b>",
                    css_class(verdict),
                    verdict.text()
                )?,
            }
        }
        html.push_str("</a>\n");
    }
    html.push_str("</nav>\n");
    Ok(())
}

fn render_section(html: &mut String, report: &Report) -> fmt::Result {
    let Report { row, about, date, machine, setting, load, .. } = report;
    let effort = if report.effort == EffortLevel::Quick { "; a quick run" } else { "" };
    write!(html, "<section id=\"{0}\">\n<h2>{0}</h2>\n<p>{1}, {setting}.</p>\n", escape(row), escape(about))?;
    render_table(html, report)?;
    for reason in &report.skipped {
        writeln!(html, "<p class=\"skipped\">Not measured: {}.</p>", escape(reason))?;
    }
    curves::draw(html, report)?;
    let (machine, date) = (escape(&machine.to_string()), escape(date));
    writeln!(html, "<p class=\"facts\">{date}; {machine}; {load}{effort}</p>")?;
    html.push_str("</section>\n");
    Ok(())
}

fn render_table(html: &mut String, report: &Report) -> fmt::Result {
    let scale = ratio_column::ratio_scale(&report.lines);
    html.push_str("<table>\n<tr><th></th><th>floor</th><th>haft</th><th>ratio</th><th>spread</th><th>");
    if let Some(scale) = &scale {
        ratio_column::write_header(html, scale)?;
    }
    html.push_str("</th><th>goal</th><th>gate</th><th></th></tr>\n");
    for line in &report.lines {
        render_line(html, line, scale.as_ref())?;
    }
    html.push_str("</table>\n");
    Ok(())
}

fn render_line(html: &mut String, line: &ReportLine, scale: Option<&LogScale>) -> fmt::Result {
    let control = if line.purpose == LinePurpose::Control { " class=\"control\"" } else { "" };
    write!(html, "<tr{control}><th>{}</th>", escape(&line.what))?;
    match line.found {
        MeasuredValue::Ratio(found) => {
            let (base, candidate) = (line.unit.show(found.base), line.unit.show(found.candidate));
            write!(html, "<td>{base}</td><td>{candidate}</td><td><strong>{:.2}×</strong></td>", found.ratio)?;
            write!(html, "<td>{:.1} %</td><td class=\"plot\">", found.spread * 100.0)?;
            if let Some(scale) = scale {
                ratio_column::write_mark(html, scale, line, found)?;
            }
            html.push_str("</td>");
        }
        MeasuredValue::Value { value } => {
            write!(
                html,
                "<td></td><td><strong>{}</strong></td><td colspan=\"3\"></td>",
                line.unit.show(value)
            )?;
        }
    }
    let limit = |limit: Option<f64>| match (limit, line.found) {
        (Some(limit), MeasuredValue::Ratio(_)) if limit.is_finite() => format!("{limit:.2}×"),
        (Some(limit), MeasuredValue::Value { .. }) if limit.is_finite() => line.unit.show(limit),
        _ => String::new(),
    };
    let (goal, gate) = (limit(line.goal.map(|goal| goal.goal)), limit(line.goal.map(|goal| goal.gate)));
    let (class, text) = (css_class(line.verdict()), line.verdict().text());
    writeln!(
        html,
        "<td>{goal}</td><td>{gate}</td><td class=\"verdict\"><b class=\"{class}\">{text}</b></td></tr>"
    )
}

/// Returns the CSS class of a verdict.
fn css_class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::None => "none",
        Verdict::Ok => "ok",
        Verdict::OverGoal => "over-goal",
        Verdict::OverGate => "over-gate",
        Verdict::Inconclusive => "inconclusive",
    }
}

/// Escapes text for HTML and SVG.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::LineGoal;
    use crate::report::tests::{line, report};

    fn body(lines: Vec<ReportLine>) -> String {
        let html = render_page(&[report(lines)]).unwrap();
        html.split_once("<nav>").unwrap().1.replace(LEGEND, "")
    }

    #[test]
    fn renders_small_page() {
        let value = MeasuredValue::Value { value: 0.01 };
        let figure = ReportLine {
            what: "p99 <b>".into(),
            found: value,
            goal: Some(LineGoal::without_gate(0.1)),
            ..line(1.0, true)
        };
        insta::assert_snapshot!(body(vec![ReportLine { what: "host".into(), ..line(1.6, true) }, figure]), @r##"
<a href="#intercept">intercept <b class="ok" title="ok">1</b> <b class="over-goal" title="over goal">1</b></a>
</nav>
<section id="intercept">
<h2>intercept</h2>
<p>asking an extension, on one CPU.</p>
<table>
<tr><th></th><th>floor</th><th>haft</th><th>ratio</th><th>spread</th><th><svg viewBox="0 0 300 20" width="300" height="20"><text x="51.4" y="14">1×</text><text x="187.4" y="14">1.5×</text><text x="284.0" y="14">2×</text></svg></th><th>goal</th><th>gate</th><th></th></tr>
<tr><th>host</th><td>6.4 us</td><td>10.3 us</td><td><strong>1.60×</strong></td><td>0.4 %</td><td class="plot"><svg viewBox="0 0 300 20" width="300" height="20"><path class="one" d="M51.4 0V20"/><path class="tick" d="M187.4 0V20"/><path class="tick" d="M284.0 0V20"/><path class="goal" d="M187.4 2V18"/><path class="gate" d="M248.6 2V18"/><path class="spread over-goal" d="M208.4 10H209.8"/><circle class="dot over-goal" cx="209.1" cy="10" r="4"/></svg></td><td>1.50×</td><td>1.80×</td><td class="verdict"><b class="over-goal">over goal</b></td></tr>
<tr><th>p99 &lt;b&gt;</th><td></td><td><strong>10.00 ms</strong></td><td colspan="3"></td><td>100.00 ms</td><td></td><td class="verdict"><b class="ok">ok</b></td></tr>
</table>
<p class="skipped">Not measured: python3 is not installed.</p>
<p class="facts">2026-11-21T19:30:00Z; haft 0.1.0, rustc 1.95, Linux 6.18, 2 x a CPU; load 0.5 to 1.5</p>
</section>
</body>
</html>
"##);
    }

    #[test]
    fn draws_curve_of_two_points() {
        let point = |ratio, x| {
            let mut line = line(ratio, true);
            line.on_curve("host, Rust peer", x);
            line
        };
        assert!(!body(vec![point(1.5, 200.0)]).contains("<figure>"));
        let html = body(vec![point(1.5, 200.0), point(2.0, 4096.0)]);
        let figure = html.split_once("<figure>").unwrap().1.split_once("</figure>").unwrap().0;
        insta::assert_snapshot!(figure, @r##"
<svg viewBox="0 0 720 300" width="720" height="300">
<path class="tick" d="M62 195.4H704"/><text class="side" x="54" y="199.4">1.5×</text>
<path class="tick" d="M62 70.6H704"/><text class="side" x="54" y="74.6">2×</text>
<path class="tick" d="M62.0 10V256"/><text x="62.0" y="274">200</text>
<path class="tick" d="M704.0 10V256"/><text x="704.0" y="274">4 Ki</text>
<text x="383" y="294">bytes</text>
<polyline class="curve c0" points="62.0,195.4 704.0,70.6"/>
<circle class="point c0" cx="62.0" cy="195.4" r="3.5"><title>host, Rust peer, 200: 1.5×</title></circle>
<circle class="point c0" cx="704.0" cy="70.6" r="3.5"><title>host, Rust peer, 4 Ki: 2×</title></circle>
</svg>
<figcaption><span class="c0">host, Rust peer</span> </figcaption>
"##);
    }

    #[test]
    fn page_has_no_external_resources() {
        let html = render_page(&[report(vec![line(1.5, true)])]).unwrap();
        for foreign in ["http", "<script", "@import", "url("] {
            assert!(!html.contains(foreign), "{foreign}");
        }
    }
}
