//! Compares the gated lines of this build with those of another build, measured alternately on the same machine.
//!
//! Each figure is already a ratio to a bare pipe or process of the same run. The change between the builds is the
//! quotient of two such ratios, so the processor cancels out.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::facts::MachineDescription;
use crate::method::EffortLevel;
use crate::method::median;
use crate::report::{LinePurpose, MeasuredValue, Report, ReportLine};
use crate::rows::{BenchmarkRow, ROWS};

/// A line fails the gate if it is too slow in this many runs of its row.
const TRIES: usize = 3;

/// The allowed increase when all pairs agree. The memory layout of two builds differs, which is worth a few percent.
const ROOM: f64 = 0.1;

/// The exit code for arguments that a build does not know.
const UNKNOWN: i32 = 2;

/// One line of both builds.
#[derive(Debug)]
struct LineComparison {
    what: String,
    /// The median figures of the base and of this build.
    base: f64,
    here: f64,
    /// The median of the pairs' quotients, and the allowed maximum.
    change: f64,
    allowed: f64,
    goal: Option<f64>,
    slower: bool,
}

/// Measures this build and the base, row by row. Returns true if no line is slower in this build.
pub(super) fn run(base: &Path, effort: EffortLevel) -> Result<bool> {
    println!("{}\n", MachineDescription::read());
    let own = std::env::current_exe().context("find the path of this binary")?;
    let rows: Vec<&BenchmarkRow> = ROWS.iter().filter(|row| row.is_gated()).collect();
    let (mut unknown, mut slower) = (Vec::new(), Vec::new());
    for row in &rows {
        let Some(lines) = judge_row(row, base, &own, effort)? else {
            unknown.push(row.name);
            continue;
        };
        slower.extend(lines.into_iter().map(|line| format!("{} ({line})", row.name)));
    }
    if unknown.len() == rows.len() {
        println!("SKIP gate: the base does not support `gate --json`; nothing was compared");
        return Ok(true);
    }
    if !unknown.is_empty() {
        println!("SKIP rows that are missing in the base: {}", unknown.join(", "));
    }
    match slower.is_empty() {
        true => println!("no gated line is slower than in the base"),
        false => println!("slower than in the base, {TRIES} times in a row:\n  {}", slower.join("\n  ")),
    }
    Ok(slower.is_empty())
}

/// Returns the lines of a row that were slower in every try; `None` if the base does not know the row.
fn judge_row(
    row: &BenchmarkRow,
    base: &Path,
    own: &Path,
    effort: EffortLevel,
) -> Result<Option<BTreeSet<String>>> {
    let mut slower: Option<BTreeSet<String>> = None;
    for attempt in 1..=TRIES {
        let Some(pairs) = measure_pairs(row.name, base, own, effort)? else { return Ok(None) };
        let compared = compare(&pairs);
        print_table(row.name, &compared);
        let now = compared.into_iter().filter(|line| line.slower).map(|line| line.what).collect();
        let still = slower.map_or_else(|| BTreeSet::clone(&now), |before| &before & &now);
        if still.is_empty() {
            return Ok(Some(still));
        }
        if attempt < TRIES {
            println!("slower than allowed, measuring again ({} of {TRIES})\n", attempt + 1);
        }
        slower = Some(still);
    }
    Ok(slower)
}

/// Measures the base and this build alternately and returns their reports.
fn measure_pairs(
    row: &str,
    base: &Path,
    own: &Path,
    effort: EffortLevel,
) -> Result<Option<Vec<(Report, Report)>>> {
    let count = match effort {
        EffortLevel::Full => 7,
        EffortLevel::Quick => 3,
    };
    let here = || run_build(own, row)?.with_context(|| format!("this build does not know row {row}"));
    let mut pairs = Vec::with_capacity(count);
    for at in 0..count {
        // The base is measured first in one pair and last in the next.
        let first = if at % 2 == 0 { None } else { Some(here()?) };
        let Some(base) = run_build(base, row)? else { return Ok(None) };
        pairs.push((base, first.map_or_else(here, Ok)?));
    }
    Ok(Some(pairs))
}

/// Runs a row with a build. Returns `None` if the build does not know the row.
fn run_build(program: &Path, row: &str) -> Result<Option<Report>> {
    #[expect(clippy::disallowed_methods, reason = "a benchmark's own child")]
    let mut command = Command::new(program);
    let output = command.args(["gate", "--json", row, "--quick"]).stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("start {}", program.display()))?;
    if output.status.code() == Some(UNKNOWN) {
        return Ok(None);
    }
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("row {row} of {}: {}\n{said}", program.display(), output.status);
    }
    let report = serde_json::from_slice(&output.stdout);
    report.map(Some).with_context(|| format!("read the output of {} for row {row}", program.display()))
}

/// Compares the gated lines that both builds have.
fn compare(pairs: &[(Report, Report)]) -> Vec<LineComparison> {
    let lines = pairs.first().map(|(_, here)| here.lines.as_slice()).unwrap_or_default();
    let gated = lines.iter().filter(|line| line.purpose == LinePurpose::Gated);
    let figure = |report: &Report, what: &str| {
        report.lines.iter().find(|line| line.what == what).map(|line| line.found.judged_value())
    };
    let compared = |line: &ReportLine| {
        let figures = pairs.iter().map(|(base, here)| figure(base, &line.what).zip(figure(here, &line.what)));
        Some(judge_line(line, &figures.collect::<Option<Vec<_>>>()?))
    };
    gated.filter_map(compared).collect()
}

/// Judges a line by its figures in the base and in this build.
///
/// The line is slower if the median change exceeds 1 by more than the tolerance plus the range of the changes. A
/// counter must also exceed its gate, because counters near zero can double without harm.
fn judge_line(line: &ReportLine, figures: &[(f64, f64)]) -> LineComparison {
    let changes = || figures.iter().map(|(base, here)| here / base);
    let least = changes().fold(f64::INFINITY, f64::min);
    let most = changes().fold(f64::NEG_INFINITY, f64::max);
    let (change, allowed) = (median(changes().collect()), 1.0 + ROOM + (most - least));
    let base = median(figures.iter().map(|(base, _)| *base).collect());
    let here = median(figures.iter().map(|(_, here)| *here).collect());
    let is_over_gate = line.goal.is_none_or(|goal| here > goal.gate);
    let slower = match line.found {
        MeasuredValue::Ratio(_) => change > allowed,
        // There is no quotient if the base is zero.
        MeasuredValue::Value { .. } => here > base * (1.0 + ROOM) && is_over_gate,
    };
    let goal = line.goal.map(|goal| goal.goal);
    LineComparison { what: line.what.clone(), base, here, change, allowed, goal, slower }
}

fn print_table(row: &str, lines: &[LineComparison]) {
    println!("{row:<26}{:>8}{:>8}{:>9}{:>9}{:>8}", "base", "here", "change", "allowed", "goal");
    for line in lines {
        println!("{line}");
    }
    println!();
}

impl fmt::Display for LineComparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, base, here, change, allowed, goal, slower } = self;
        let goal = goal.map_or_else(String::new, |goal| format!("{goal:.2}"));
        let (change, allowed) =
            [change, allowed].map(|share| format!("{:+.1}%", (share - 1.0) * 100.0)).into();
        let verdict = if *slower { "slower" } else { "ok" };
        write!(f, "{what:<26}{base:>8.2}{here:>8.2}{change:>9}{allowed:>9}{goal:>8}  {verdict}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::Comparison;
    use crate::report::LineGoal;
    use crate::report::tests::{line, report};

    #[track_caller]
    fn check(line: &ReportLine, figures: &[(f64, f64)], expect: bool) {
        let compared = judge_line(line, figures);
        assert_eq!(compared.slower, expect, "{compared}");
        assert!(compared.to_string().len() <= 80, "{compared}");
    }

    #[test]
    fn ratio_may_grow_by_tolerance_and_spread() {
        let ratio = line(1.5, true);
        check(&ratio, &[(1.5, 1.63), (1.5, 1.63), (1.5, 1.63)], false);
        check(&ratio, &[(1.5, 1.67), (1.5, 1.67), (1.5, 1.67)], true);
        check(&ratio, &[(1.0, 1.15), (1.0, 1.2), (1.0, 1.24)], true);
        check(&ratio, &[(1.0, 1.15), (1.0, 1.2), (1.0, 1.26)], false);
        check(&ratio, &[(2.0, 1.0), (2.0, 1.0), (2.0, 1.0)], false);
    }

    #[test]
    fn ignores_absolute_gate_of_ratio() {
        check(&line(9.0, true), &[(9.0, 9.0), (9.0, 9.0), (9.0, 9.0)], false);
        check(&line(1.0, true), &[(1.0, 1.2), (1.0, 1.2), (1.0, 1.2)], true);
    }

    #[test]
    fn counter_must_also_exceed_its_gate() {
        let goal = Some(LineGoal { goal: 0.05, gate: 0.2 });
        let counter = ReportLine { found: MeasuredValue::Value { value: 0.1 }, goal, ..line(1.0, true) };
        check(&counter, &[(0.01, 0.1), (0.01, 0.1), (0.01, 0.1)], false);
        check(&counter, &[(0.01, 0.3), (0.01, 0.3), (0.01, 0.3)], true);
        check(&counter, &[(0.0, 0.0), (0.0, 0.0), (0.0, 0.0)], false);
        check(&counter, &[(0.0, 0.3), (0.0, 0.3), (0.0, 0.3)], true);
        check(&counter, &[(0.0, 0.3), (0.01, 0.3), (0.01, 0.3)], true);
    }

    #[test]
    fn compares_gated_lines_by_name() {
        let named = |what: &str, ratio| {
            let comparison = Comparison { base: 1.0, candidate: ratio, ratio, spread: 0.0 };
            ReportLine { what: what.to_owned(), found: MeasuredValue::Ratio(comparison), ..line(ratio, true) }
        };
        let reported = ReportLine { purpose: LinePurpose::Reported, ..named("reported", 1.0) };
        let base = report(vec![named("same", 1.0), reported.clone()]);
        let here = report(vec![reported, named("added", 1.0), named("same", 2.0)]);
        let pairs = vec![(base, here); 3];
        let compared = compare(&pairs);
        let found: Vec<(&str, f64)> = compared.iter().map(|line| (line.what.as_str(), line.change)).collect();
        assert_eq!(found, [("same", 2.0)]);
    }
}
