//! Instruction counts of code paths that every question takes. They gate the cost of a change, because they are equal
//! on any machine, however busy. They do not measure time; the rows do.
//!
//! Each path runs many times, and once with zero repetitions, under valgrind's callgrind. The difference is the cost of
//! its operations.

mod baseline;
mod callgrind;
mod paths;

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use crate::peers;
use baseline::{Baseline, BuildEnvironment, CountChange, PathComparison};
use paths::{CountedPath, PATHS};

pub(crate) use callgrind::{has_valgrind, valgrind_command};
pub(crate) use paths::run_path;

/// The role of this binary that runs a path; the arguments are the path's name and the number of operations.
pub(crate) const ROLE: &str = "count";

/// Counts all paths and judges them against the baseline, or writes a new baseline. Returns true if the gate passes.
pub(crate) fn run(write: bool) -> Result<bool> {
    if !has_valgrind() {
        println!("SKIP counts: valgrind is not installed");
        return Ok(true);
    }
    let build = BuildEnvironment::current();
    let instructions = count_all()?;
    if write {
        for (path, count) in &instructions {
            println!("{path:<26}{count:>13}");
        }
        return Baseline { build, instructions }.write().map(|()| true);
    }
    let baseline = Baseline::read()?;
    let judgments = baseline.compare(&instructions);
    println!("{:<26}{:>13}{:>13}{:>9}", "instructions", "baseline", "now", "change");
    for judgment in &judgments {
        println!("{judgment}");
    }
    if let Some(difference) = baseline.build.describe_difference(&build) {
        println!("SKIP counts: printed but not judged, because the builds differ\n{difference}");
        return Ok(true);
    }
    print!("{}", advice_text(&judgments));
    Ok(judgments.iter().all(|judgment| judgment.change.passes()))
}

/// Returns the next step for the reader.
fn advice_text(judgments: &[PathComparison<'_>]) -> &'static str {
    let any = |change| judgments.iter().any(|judgment| judgment.change == change);
    if any(CountChange::More) {
        "Paths marked `more` exceed the baseline by more than 5 %. If that is intended,\n\
         renew the baseline: cargo xtask bench counts --write\n"
    } else if any(CountChange::New) || any(CountChange::Missing) {
        "The paths in the baseline differ from the counted paths.\n\
         Renew the baseline: cargo xtask bench counts --write\n"
    } else if any(CountChange::Fewer) {
        "Paths marked `fewer` improved. Renew the baseline: cargo xtask bench counts --write\n"
    } else {
        ""
    }
}

/// Returns the instructions of one operation of each path. Counts two paths at a time.
fn count_all() -> Result<BTreeMap<String, u64>> {
    let (left, right): (Vec<_>, Vec<_>) = PATHS.iter().enumerate().partition(|(at, _)| at % 2 == 0);
    let count_each = |paths: Vec<(usize, &CountedPath)>| -> Result<Vec<(String, u64)>> {
        paths.into_iter().map(|(_, path)| Ok((path.name.to_owned(), count(path)?))).collect()
    };
    std::thread::scope(|scope| {
        let left = scope.spawn(move || count_each(left));
        let right = count_each(right)?;
        let left = left.join().ok().context("a counting thread panicked")??;
        Ok(left.into_iter().chain(right).collect())
    })
}

/// Returns the instructions of one operation.
fn count(path: &CountedPath) -> Result<u64> {
    let process = |times: u64| callgrind::count(&[peers::MARK, ROLE, path.name, &times.to_string()]);
    Ok(process(path.times)?.saturating_sub(process(0)?) / path.times)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn baseline_has_counted_paths() {
        let baseline = Baseline::read().unwrap();
        let names: Vec<&str> = baseline.instructions.keys().map(String::as_str).collect();
        let mut expect: Vec<&str> = PATHS.iter().map(|path| path.name).collect();
        expect.sort_unstable();
        assert_eq!(names, expect);
    }

    #[test]
    fn every_path_runs() {
        for path in PATHS {
            run_path(path.name, "2").unwrap();
        }
    }

    #[test]
    fn advice_names_worst_change() {
        let advise = |changes: &[CountChange]| {
            let judge = |&change| PathComparison { path: "x", before: None, now: None, change };
            advice_text(&changes.iter().map(judge).collect::<Vec<_>>())
        };
        assert_eq!(advise(&[CountChange::Same]), "");
        assert!(advise(&[CountChange::Fewer, CountChange::Same]).contains("improved"));
        assert!(advise(&[CountChange::Fewer, CountChange::New]).contains("differ"));
        assert!(advise(&[CountChange::Missing]).contains("differ"));
        assert!(advise(&[CountChange::New, CountChange::More]).contains("intended"));
    }
}
