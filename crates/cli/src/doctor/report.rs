//! The report: for people, and as JSON.

use anyhow::Context as _;
use serde_json::json;

use super::Seen;
use super::finding::{Area, Finding};
use crate::console::{BANNER, columns, rows};

/// What stands before the text of a finding.
const INDENT: &str = "         ";

/// A section for each area, a paragraph for each finding, and how many are wrong.
pub(super) fn text(seen: &Seen, findings: &[Finding]) -> String {
    let columns = columns().min(BANNER);
    let mut parts = vec![format!("haft {} in {}", env!("CARGO_PKG_VERSION"), seen.words.path(&seen.cwd))];
    for area in Area::ALL {
        let of_area: Vec<_> = findings.iter().filter(|finding| finding.area == *area).collect();
        if !of_area.is_empty() {
            parts.push(format!("\n{}", area.heading()));
            parts.extend(of_area.iter().map(|finding| paragraph(finding, columns)));
        }
    }
    let wrong = findings.iter().filter(|finding| finding.is_wrong()).count();
    parts.push(match wrong {
        0 => "\nnothing is wrong".to_owned(),
        1 => "\none thing is wrong".to_owned(),
        more => format!("\n{more} things are wrong"),
    });
    parts.join("\n")
}

/// The next step is never broken, so that it can be copied.
fn paragraph(finding: &Finding, columns: usize) -> String {
    let Finding { name, state, text, next, .. } = finding;
    let first = format!("  {:<5}  ", state.word());
    let told = rows(&first, INDENT, &format!("{name}: {text}"), Some(columns));
    let told = told.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    match next {
        Some(next) => format!("{told}\n{INDENT}> {next}"),
        None => told,
    }
}

/// One object.
pub(super) fn json(seen: &Seen, findings: &[Finding]) -> anyhow::Result<String> {
    let report = json!({
        "haft": env!("CARGO_PKG_VERSION"),
        "home": seen.home.root(),
        "project": seen.project.dir,
        "wrong": findings.iter().filter(|finding| finding.is_wrong()).count(),
        "findings": findings.iter().map(Finding::json).collect::<Vec<_>>(),
    });
    serde_json::to_string_pretty(&report).context("cannot write JSON")
}
