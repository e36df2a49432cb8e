//! Runs rows in separate processes, several at a time, and prints the results.

mod children;

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::report::{ReportEntry, ReportOutcome, RunReport};
use crate::row::FaultRow;
use crate::rows;
use crate::single_row::CaseSubset;
use crate::world::RunMode;
pub(crate) use children::kill_tagged;
use children::{RowExit, RowProcess};

/// The first argument of a process that runs one row.
pub(crate) const ROW: &str = "row";

/// The first argument of the control process, which has no faults.
pub(crate) const CONTROL: &str = "control";

/// The beginning of the last line of a row's output if that line is shown although the row passed.
pub(crate) const FOUND: &str = "found: ";

/// The number of rows that run at the same time. Most of them sleep.
const AT_ONCE: usize = 6;

/// The slowest rows, with the number of processes for their cases. They start first, so that none of them runs alone at
/// the end.
const LONGEST: &[(&str, usize)] = &[
    ("T-36", 1),
    ("T-38", 1),
    ("T-26", 6),
    ("S-12", 2),
    ("S-11", 2),
    ("T-18", 1),
    ("S-14", 2),
    ("P-01", 2),
    ("T-14", 1),
    ("H-01", 2),
    ("H-06", 1),
    ("T-13", 1),
    ("L-06", 1),
];

/// The time after which a row counts as hanging. Successful rows take far less.
pub(crate) const PATIENCE: Duration = Duration::from_secs(900);

/// The same time without the defenses, which may be needed to prevent a hang.
const PATIENCE_UNDEFENDED: Duration = Duration::from_secs(30);

/// The same time for full counts.
const PATIENCE_IN_FULL: Duration = Duration::from_secs(3600);

/// The length of a printed reason; the row's output has the complete reason.
const REASON: usize = 400;

/// The selection of rows, and the mode.
pub(crate) struct RunPlan {
    mode: RunMode,
    rows: Vec<&'static FaultRow>,
    target: PathBuf,
}

/// The outcome of one row.
struct RowResult {
    verdict: RowVerdict,
    reason: String,
    took: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RowVerdict {
    Ok,
    Failed,
    Skipped,
    /// Without its defense, the row failed, as it should.
    Noticed,
    /// Without its defense, the row passed.
    Missed,
}

impl RowVerdict {
    const fn text(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "FAILED",
            Self::Skipped => "SKIP",
            Self::Noticed => "noticed",
            Self::Missed => "MISSED",
        }
    }

    /// Returns the outcome for the report.
    const fn outcome(self) -> ReportOutcome {
        match self {
            Self::Ok | Self::Noticed => ReportOutcome::Ok,
            Self::Failed | Self::Missed => ReportOutcome::Failed,
            Self::Skipped => ReportOutcome::Skipped,
        }
    }

    const fn is_bad(self) -> bool {
        matches!(self, Self::Failed | Self::Missed)
    }
}

impl RunPlan {
    /// Selects these rows, or all; a group's letter selects all of its rows.
    pub(crate) fn new(mode: RunMode, names: &[&str]) -> Result<Self> {
        let named = |row: &&FaultRow| {
            names.is_empty()
                || names.iter().any(|name| row.id == *name || row.id.split('-').next() == Some(name))
        };
        let mut rows: Vec<_> = rows::all().filter(named).collect();
        rows.sort_by_key(|row| LONGEST.iter().position(|(id, _)| *id == row.id).unwrap_or(LONGEST.len()));
        if rows.is_empty() {
            bail!("unknown row {}; run with --list to see all rows", names.join(" "));
        }
        // The results are in the target directory of the build.
        let binary = std::env::current_exe().context("find the path of this binary")?;
        let target = binary.ancestors().nth(2).unwrap_or(Path::new("target")).join("faults");
        Ok(Self { mode, rows, target })
    }

    /// Runs the rows, and writes a report if a file is named. Returns true if every row is as expected.
    pub(crate) fn run(self, report: Option<&Path>) -> Result<bool> {
        let report = Mutex::new(RunReport::new(report)?);
        fs::create_dir_all(&self.target).context("create target/faults")?;
        let (start, control) = (Instant::now(), self.target.join("control.bin"));
        let _ = fs::remove_file(&control);
        let fault_free = RowProcess::start(
            &[CONTROL.to_owned(), control.display().to_string()],
            &self.target.join("control.txt"),
        )?;
        let queue: Mutex<VecDeque<(&'static FaultRow, CaseSubset)>> = Mutex::new(self.parts().collect());
        let (verdicts, begun) = (Mutex::new(Vec::new()), Mutex::new(BTreeMap::new()));
        // A `while let` would keep the queue locked until the row has ended.
        let next = || lock(&queue).pop_front();
        std::thread::scope(|scope| {
            let work = || -> Result<()> {
                while let Some((row, part)) = next() {
                    let ended = self.run_one(row, part, &control);
                    let Some(ended) = merge_parts(&begun, row, part, ended) else { continue };
                    let mut report = lock(&report);
                    println!("{}", line(row, &ended));
                    lock(&verdicts).push(ended.verdict);
                    report.add(self.report_entry(row, ended))?;
                }
                Ok(())
            };
            let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
            let mut joined = workers.into_iter().map(|worker| worker.join());
            joined.try_for_each(|done| done.unwrap_or_else(|_| bail!("a thread panicked")))
        })?;
        drop(fault_free);
        let report = report.into_inner().unwrap_or_else(PoisonError::into_inner);
        println!("{}{}", summary(&lock(&verdicts), start.elapsed()), report.render_lists());
        Ok(report.is_good())
    }

    /// Returns the subsets of all rows, one process each. Without the defenses each row is one subset, because its
    /// cases depend on each other.
    fn parts(&self) -> impl Iterator<Item = (&'static FaultRow, CaseSubset)> {
        let parts = |row: &FaultRow| {
            let longest = LONGEST.iter().find(|(id, _)| *id == row.id && !self.mode.undefended);
            longest.map_or(1, |(_, parts)| *parts)
        };
        self.rows.iter().flat_map(move |row| {
            let of = parts(row);
            (0..of).map(move |first| (*row, CaseSubset { first, of }))
        })
    }

    fn report_entry(&self, row: &FaultRow, ended: RowResult) -> ReportEntry {
        let RowResult { verdict, reason, took } = ended;
        let flags: String = self.mode.flags().iter().map(|flag| format!("{flag} ")).collect();
        let repeat = format!("cargo xtask faults {flags}{}", row.id);
        let kept = match verdict {
            // Findings are for people; skipped parts are for the report as well.
            RowVerdict::Ok | RowVerdict::Noticed if !reason.starts_with("SKIP") => String::new(),
            RowVerdict::Ok
            | RowVerdict::Noticed
            | RowVerdict::Failed
            | RowVerdict::Missed
            | RowVerdict::Skipped => reason.chars().take(REASON).collect(),
        };
        ReportEntry::new(row.id, verdict.outcome(), took, kept, repeat)
    }

    fn run_one(&self, row: &FaultRow, part: CaseSubset, control: &Path) -> RowResult {
        let start = Instant::now();
        let (verdict, reason) = match self.try_one(row, part, control) {
            Ok(outcome) => outcome,
            Err(error) => (RowVerdict::Failed, format!("{error:#}")),
        };
        RowResult { verdict, reason, took: start.elapsed() }
    }

    fn try_one(&self, row: &FaultRow, part: CaseSubset, control: &Path) -> Result<(RowVerdict, String)> {
        if self.mode.undefended && row.undefend.is_none() {
            return Ok((RowVerdict::Missed, "the row cannot be run without its defense".to_owned()));
        }
        let dir = match part {
            CaseSubset { of: 1, .. } => self.target.join(row.id),
            CaseSubset { first, .. } => self.target.join(format!("{}.{}", row.id, first + 1)),
        };
        if dir.exists() {
            fs::remove_dir_all(&dir).with_context(|| format!("remove {}", dir.display()))?;
        }
        fs::create_dir_all(&dir).with_context(|| format!("create {}", dir.display()))?;
        let tag = format!("{}-{}-{:08x}", row.id, std::process::id(), random_number());
        let mut args = vec![ROW.to_owned(), row.id.to_owned(), part.to_string(), tag.clone()];
        args.extend([dir.display().to_string(), control.display().to_string()]);
        args.extend(self.mode.flags());
        let output = dir.join("output.txt");
        let mut child = RowProcess::start(&args, &output)?;
        let patience = match self.mode {
            RunMode { undefended: true, .. } => PATIENCE_UNDEFENDED,
            RunMode { full: true, .. } => PATIENCE_IN_FULL,
            RunMode { .. } => PATIENCE,
        };
        let ended = child.wait(patience)?;
        drop(child);
        // A row that crashed or hung may have left processes behind, which must not disturb later rows.
        kill_tagged(&tag);
        let reason = fs::read_to_string(&output).unwrap_or_default();
        let reason = reason.lines().rev().find(|line| !line.is_empty()).unwrap_or_default().to_owned();
        let (verdict, reason) = self.verdict(ended, reason);
        if !verdict.is_bad() {
            let _ = fs::remove_dir_all(&dir);
        }
        Ok((verdict, reason))
    }

    fn verdict(&self, ended: RowExit, reason: String) -> (RowVerdict, String) {
        let failed = if self.mode.undefended { RowVerdict::Noticed } else { RowVerdict::Failed };
        match ended {
            RowExit::Passed if self.mode.undefended => {
                (RowVerdict::Missed, "the row passes without its defense, so it proves nothing".to_owned())
            }
            RowExit::Passed => (RowVerdict::Ok, reason.strip_prefix(FOUND).unwrap_or_default().to_owned()),
            RowExit::Skipped => (RowVerdict::Skipped, reason),
            RowExit::Failed => (failed, reason),
            RowExit::Died(how) => (failed, format!("the row's process died ({how}); {reason}")),
            RowExit::Hung(after) => (failed, format!("the row did not end within {} s", after.as_secs())),
        }
    }
}

/// Returns the result of the row when the last of its subsets has ended: the worst verdict, and the longest time.
fn merge_parts(
    begun: &Mutex<BTreeMap<&'static str, Vec<RowResult>>>,
    row: &'static FaultRow,
    part: CaseSubset,
    ended: RowResult,
) -> Option<RowResult> {
    let mut begun = lock(begun);
    let parts = begun.entry(row.id).or_default();
    parts.push(ended);
    if parts.len() < part.of {
        return None;
    }
    let parts = begun.remove(row.id).unwrap_or_default();
    let took = parts.iter().map(|part| part.took).max().unwrap_or_default();
    let rank = |part: &RowResult| {
        (part.verdict.is_bad(), part.verdict == RowVerdict::Skipped, !part.reason.is_empty())
    };
    parts.into_iter().max_by_key(rank).map(|worst| RowResult { took, ..worst })
}

fn line(row: &FaultRow, RowResult { verdict, reason, took }: &RowResult) -> String {
    let line = format!("{:<6} {:<8} {:>5.1} s  {}", row.id, verdict.text(), took.as_secs_f64(), row.title);
    let reason: String = reason.chars().take(REASON).collect();
    if reason.is_empty() { line } else { format!("{line}\n       {reason}") }
}

fn summary(verdicts: &[RowVerdict], took: Duration) -> String {
    let count = |verdict| verdicts.iter().filter(|other| **other == verdict).count();
    let kinds =
        [RowVerdict::Ok, RowVerdict::Noticed, RowVerdict::Skipped, RowVerdict::Failed, RowVerdict::Missed];
    let counts = kinds.into_iter().filter(|&kind| count(kind) > 0);
    let counts: Vec<_> = counts.map(|kind| format!("{} {}", count(kind), kind.text())).collect();
    format!("\n{} rows in {:.1} s: {}", verdicts.len(), took.as_secs_f64(), counts.join(", "))
}

fn random_number() -> u32 {
    use std::hash::BuildHasher;
    let hash = std::collections::hash_map::RandomState::new().hash_one(Instant::now());
    u32::try_from(hash & u64::from(u32::MAX)).unwrap_or_default()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slowest_rows_exist() {
        let unknown: Vec<_> =
            LONGEST.iter().filter(|(id, _)| !rows::all().any(|row| row.id == *id)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}
