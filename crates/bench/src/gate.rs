//! Whether a change may pass: the lines whose gates are steady on a busy machine, and nothing else.
//!
//! A line refuses a change when it is over its gate in three runs in a row, each with a sound control and medians that
//! are close together. A run that could not be judged refuses nothing.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::facts::Machine;
use crate::options::Effort;
use crate::platform::Processors;
use crate::report::{Found, Line, Purpose, Report, Verdict};
use crate::rows::{ROWS, Row};

/// How often a line is tried before it refuses a change.
const TRIES: usize = 3;

/// How far apart the medians of a run may be for it to say anything.
const STEADY: f64 = 0.1;

/// The processors that the gates were set on, as they begin to call themselves.
const SET_ON: &str = "AMD EPYC";

/// By how much a comparison may be over its gate on other processors. What runs between two system calls weighs more beside
/// them there, or less: of the same instructions, a question to an extension was 1.76x a bare pipe on an AMD EPYC and 2.24x to
/// 2.45x on an Intel Xeon, the SDK alone 1.23x and 1.35x to 1.44x. What a change costs in instructions, `counts` says anywhere.
const ELSEWHERE: f64 = 1.5;

/// A line that was over its gate: the row and its name.
type Over = (String, String);

/// Runs the gates. Whether all lines are within theirs, or could not be judged.
pub(crate) fn run(effort: Effort) -> Result<bool> {
    let (processors, machine) = (Processors::new()?, Machine::read());
    println!("{machine}\n");
    if slack(&machine) > 1.0 {
        println!(
            "The gates were set on an {SET_ON}: here, comparisons refuse a change at {ELSEWHERE} times their gates.\n"
        );
    }
    let mut over = measure(ROWS.iter(), &processors, &machine, effort)?;
    for attempt in 2..=TRIES {
        if over.is_empty() {
            break;
        }
        println!("over their gates, so measured again ({attempt} of {TRIES}): {}\n", names(&over));
        let rows = ROWS.iter().filter(|row| over.iter().any(|(name, _)| name == row.name));
        let again = measure(rows, &processors, &machine, effort)?;
        over.retain(|line| again.contains(line));
    }
    match over.is_empty() {
        true => println!("no gate is passed"),
        false => println!("over their gates in {TRIES} runs in a row: {}", names(&over)),
    }
    Ok(over.is_empty())
}

fn measure<'a>(
    rows: impl Iterator<Item = &'a Row>,
    processors: &Processors,
    machine: &Machine,
    effort: Effort,
) -> Result<BTreeSet<Over>> {
    let mut over = BTreeSet::new();
    for report in rows.filter_map(|row| row.gates(processors, machine, effort)) {
        let report = report?;
        println!("{report}");
        over.extend(over_gate(&report));
    }
    Ok(over)
}

/// The lines of a run that speak against the change.
fn over_gate(report: &Report) -> impl Iterator<Item = Over> {
    let slack = slack(&report.machine);
    let gated = report.lines.iter().filter(|line| line.purpose == Purpose::Gated);
    let over = gated.filter(move |line| {
        line.verdict() == Verdict::OverGate && is_steady(line) && !is_within(line, slack)
    });
    over.map(|line| (report.row.clone(), line.what.clone()))
}

/// By how much a comparison may be over its gate on this machine.
fn slack(machine: &Machine) -> f64 {
    if machine.cpu.starts_with(SET_ON) { 1.0 } else { ELSEWHERE }
}

/// Whether a comparison is within its gate and so much more.
fn is_within(line: &Line, slack: f64) -> bool {
    let gate = line.goal.map_or(f64::INFINITY, |goal| goal.gate);
    match line.found {
        Found::Ratio(comparison) => comparison.ratio <= gate * slack,
        Found::Value { .. } => false,
    }
}

/// A counter is what it is; a comparison must have come to about the same each time.
fn is_steady(line: &Line) -> bool {
    match line.found {
        Found::Ratio(comparison) => comparison.spread <= STEADY,
        Found::Value { .. } => true,
    }
}

fn names(over: &BTreeSet<Over>) -> String {
    let names: Vec<String> = over.iter().map(|(row, line)| format!("{row} ({line})")).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::Comparison;
    use crate::report::tests::{line, report};

    #[track_caller]
    fn check(line: Line, expect: bool) {
        check_on("AMD EPYC 9B14", line, expect);
    }

    #[track_caller]
    fn check_on(cpu: &str, line: Line, expect: bool) {
        let mut report = report(vec![line.clone()]);
        report.machine.cpu = cpu.to_owned();
        let over: Vec<Over> = over_gate(&report).collect();
        let expected = expect.then(|| ("intercept".to_owned(), line.what.clone()));
        assert_eq!(over, Vec::from_iter(expected), "{line}");
    }

    #[test]
    fn only_a_sound_gated_line_over_its_gate_refuses() {
        check(line(1.9, true), true);
        check(line(f64::NAN, true), true);
        check(line(1.7, true), false);
        let restless = Comparison { base: 1.0, candidate: 1.9, ratio: 1.9, spread: 0.11 };
        check(Line { found: Found::Ratio(restless), ..line(1.9, true) }, false);
        check(line(1.9, false), false);
        check(Line { purpose: Purpose::Reported, ..line(1.9, true) }, false);
        check(Line { goal: None, ..line(1.9, true) }, false);
    }

    #[test]
    fn on_other_processors_a_comparison_may_be_further_out_and_a_counter_may_not() {
        let elsewhere = |line, expect| check_on("Intel(R) Xeon(R) Processor", line, expect);
        elsewhere(line(2.6, true), false);
        elsewhere(line(2.8, true), true);
        elsewhere(line(f64::NAN, true), true);
        elsewhere(Line { found: Found::Value { value: 1.9 }, ..line(1.9, true) }, true);
    }
}
