//! Instruction counts of the paths that every question takes: exact on any machine, however busy, and so good for seeing
//! what a change did. They say nothing about time; the rows do.
//!
//! A path runs many times and not at all, under valgrind's callgrind; the difference is what it costs. Counts depend on
//! the processor, whose abilities the libraries look at, so a change is marked and never fails a build.

mod paths;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::facts::Machine;
use crate::peers;
use paths::PATHS;

pub(crate) use paths::work;

/// The role of this binary that runs a path: its name and how often come behind.
pub(crate) const ROLE: &str = "count";

/// A count that is further from its baseline is marked.
const MARKED: f64 = 0.05;

/// Counts, and where they were taken.
#[derive(Debug, Serialize, Deserialize)]
struct Counts {
    cpu: String,
    rustc: String,
    haft: String,
    /// Instructions for one operation, by path.
    instructions: BTreeMap<String, u64>,
}

/// Counts all paths and prints them beside the baseline; writes a new one if wished.
pub(crate) fn run(write: bool) -> Result<()> {
    if !has_valgrind() {
        println!("skipped: instruction counts need valgrind");
        return Ok(());
    }
    let machine = Machine::read();
    let baseline = read_baseline()?;
    if let Some(Counts { cpu, rustc, .. }) = baseline.as_ref().filter(|_| !write) {
        println!("baseline: {cpu}, {rustc}");
    }
    println!("{:<26}{:>13}{:>13}{:>9}", "instructions", "baseline", "now", "change");
    let mut instructions = BTreeMap::new();
    for path in PATHS {
        let now = count(path.name, path.times)?;
        let before = baseline.as_ref().and_then(|counts| counts.instructions.get(path.name));
        println!("{}", line(path.name, before.copied(), now));
        instructions.insert(path.name.to_owned(), now);
    }
    if write {
        let counts = Counts { cpu: machine.cpu, rustc: machine.rustc, haft: machine.haft, instructions };
        let text = serde_json::to_string_pretty(&counts)? + "\n";
        std::fs::write(baseline_file(), text)
            .with_context(|| format!("write {}", baseline_file().display()))?;
    }
    Ok(())
}

/// One row of the table.
fn line(name: &str, before: Option<u64>, now: u64) -> String {
    let Some(before) = before else { return format!("{name:<26}{:>13}{now:>13}      new", "") };
    #[expect(clippy::cast_precision_loss, reason = "counts of instructions are far below 2^52")]
    let change = now as f64 / before.max(1) as f64 - 1.0;
    let mark = match change {
        _ if change > MARKED => "  more",
        _ if change < -MARKED => "  less",
        _ => "",
    };
    format!("{name:<26}{before:>13}{now:>13}{:>9}{mark}", format!("{:+.1}%", change * 100.0))
}

/// The instructions of one operation.
fn count(path: &str, times: u64) -> Result<u64> {
    let (all, none) = (callgrind(path, times)?, callgrind(path, 0)?);
    Ok(all.saturating_sub(none) / times)
}

/// The instructions of a whole process that goes a path so many times.
fn callgrind(path: &str, times: u64) -> Result<u64> {
    let folder = tempfile::tempdir().context("make a folder for callgrind")?;
    let file = folder.path().join("out");
    let output = valgrind()
        .args(["--tool=callgrind", "--error-exitcode=0"])
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(std::env::current_exe().context("find this binary")?)
        .args([peers::MARK, ROLE, path, &times.to_string()])
        .stdin(Stdio::null())
        .output()
        .context("start valgrind")?;
    if !output.status.success() {
        bail!("{path} under valgrind: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    let report = std::fs::read_to_string(&file).with_context(|| format!("read {}", file.display()))?;
    total(&report).with_context(|| format!("callgrind gave no total for {path}"))
}

/// The sum in a file of callgrind's.
fn total(report: &str) -> Option<u64> {
    let sum =
        |line: &str| line.strip_prefix("summary: ").or(line.strip_prefix("totals: "))?.trim().parse().ok();
    report.lines().find_map(sum)
}

pub(crate) fn valgrind() -> Command {
    #[expect(clippy::disallowed_methods, reason = "a benchmark's own child")]
    Command::new("valgrind")
}

pub(crate) fn has_valgrind() -> bool {
    let version = valgrind().arg("--version").stdin(Stdio::null()).output();
    version.is_ok_and(|output| output.status.success())
}

fn read_baseline() -> Result<Option<Counts>> {
    let file = baseline_file();
    match std::fs::read_to_string(&file) {
        Ok(text) => serde_json::from_str(&text).map(Some).with_context(|| format!("read {}", file.display())),
        Err(_) => Ok(None),
    }
}

fn baseline_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("counts.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_more_than_a_twentieth_is_marked() {
        let check = |before, now, expect: &str| assert!(line("x", before, now).ends_with(expect), "{expect}");
        check(Some(1_000), 1_049, "1049    +4.9%");
        check(Some(1_000), 1_051, "1051    +5.1%  more");
        check(Some(1_000), 900, "900   -10.0%  less");
        check(None, 900, "900      new");
    }

    #[test]
    fn the_sum_is_read_from_either_line() {
        assert_eq!(total("version: 1\nevents: Ir\nsummary: 48951201\n\nfl=x\n1 2\n"), Some(48_951_201));
        assert_eq!(total("events: Ir\n1 2\ntotals: 7\n"), Some(7));
        assert_eq!(total("events: Ir\n"), None);
    }

    #[test]
    fn the_baseline_knows_every_path() {
        let baseline = read_baseline().unwrap().expect("there is a baseline");
        let names: Vec<&str> = baseline.instructions.keys().map(String::as_str).collect();
        let mut expect: Vec<&str> = PATHS.iter().map(|path| path.name).collect();
        expect.sort_unstable();
        assert_eq!(names, expect);
    }

    #[test]
    fn every_path_can_be_gone() {
        for path in PATHS {
            work(path.name, "2").unwrap();
        }
    }
}
