//! Reads the current branch of a session from the end of its file, in a time that does not depend on the length of the
//! file.
//!
//! A parent comes before its children, so one backward pass finds a branch from its leaf to its root. The pass ends at
//! the first entry that the last compaction kept. Damaged files are left to [`recover`](super::recover()), which reads
//! the whole file.

use std::io;
use std::ops::ControlFlow;

use super::disk::{DiskFile, read_range};
use super::entry::{EntryBody, SessionEntry, SessionHeader};
use super::id::EntryId;
use super::line::{self, EntryHead, HEADER, ParsedEntry};
use super::log::last_newline;
use crate::limits::MAX_SESSION_LINE;

/// The number of bytes per read.
const STEP: u64 = 256 * 1024;

/// The maximum size of the first line.
const LONGEST_HEADER: u64 = 64 * 1024;

/// Reads the header; returns `None` if it is damaged.
pub(super) fn read_header(file: &dyn DiskFile, end: u64) -> io::Result<Option<SessionHeader>> {
    let bytes = read_range(file, 0, end.min(LONGEST_HEADER))?;
    let line = memchr::memchr(b'\n', &bytes).and_then(|at| bytes.get(..at));
    Ok(line.and_then(|line| line::read_header(line).ok()))
}

/// Reads the branch that ends with `leaf`, or with the last entry of the file; oldest entry first. Returns `None` if a
/// line is damaged.
///
/// `end` is the offset after the last newline.
pub(super) fn read_branch(
    file: &dyn DiskFile,
    end: u64,
    leaf: Option<EntryId>,
) -> io::Result<Option<Vec<SessionEntry>>> {
    let mut walk = BackwardScan {
        wanted: leaf.map_or(ScanTarget::Last, ScanTarget::Entry),
        kept: None,
        branch: Vec::new(),
    };
    let (mut to, mut step) = (end, STEP);
    while to > 0 {
        let from = to.saturating_sub(step);
        let bytes = read_range(file, from, to)?;
        if from > 0
            && memchr::memchr(b'\n', bytes.get(..bytes.len().saturating_sub(1)).unwrap_or_default()).is_none()
        {
            // The step contains no whole line, so it is extended to all of the last line and the newline before it.
            step = to - last_newline(file, to - 1)? + 1;
            if step > MAX_SESSION_LINE as u64 {
                return Ok(None);
            }
            continue;
        }
        if !bytes.ends_with(b"\n") {
            return Ok(None);
        }
        // The first line may have begun before the step.
        let begin = if from == 0 { 0 } else { memchr::memchr(b'\n', &bytes).map_or(0, |at| at + 1) };
        match walk.scan_lines(bytes.get(begin..).unwrap_or_default(), from == 0) {
            ControlFlow::Break(ScanOutcome::Complete) => {
                walk.branch.reverse();
                return Ok(Some(walk.branch));
            }
            ControlFlow::Break(ScanOutcome::Malformed) => return Ok(None),
            ControlFlow::Continue(()) => (to, step) = (from + begin as u64, STEP),
        }
    }
    Ok(None)
}

/// A pass from the end of a file to its beginning.
struct BackwardScan {
    wanted: ScanTarget,
    /// The first entry that the last compaction kept; `None` until the pass finds a compaction.
    kept: Option<EntryId>,
    /// The branch, newest entry first.
    branch: Vec<SessionEntry>,
}

enum ScanTarget {
    Last,
    Entry(EntryId),
}

enum ScanOutcome {
    Complete,
    /// A line is damaged.
    Malformed,
}

impl BackwardScan {
    /// Scans whole lines, the last one first. `first`: the lines begin with the header.
    fn scan_lines(&mut self, lines: &[u8], first: bool) -> ControlFlow<ScanOutcome> {
        let mut rest = lines;
        while let Some(before) = rest.strip_suffix(b"\n") {
            let begin = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
            let line = before.get(begin..).unwrap_or_default();
            rest = before.get(..begin).unwrap_or_default();
            if first && rest.is_empty() {
                // The pass reached the header. A branch whose root was not found is damaged. An empty session has no
                // last entry.
                return ControlFlow::Break(match self.wanted {
                    ScanTarget::Last => ScanOutcome::Complete,
                    ScanTarget::Entry(_) => ScanOutcome::Malformed,
                });
            }
            self.scan_line(line)?;
        }
        ControlFlow::Continue(())
    }

    fn scan_line(&mut self, line: &[u8]) -> ControlFlow<ScanOutcome> {
        let text = line::checked_text(line).ok();
        let Some((head, text)) = text.and_then(|text| Some((EntryHead::read(text).ok()?, text))) else {
            return ControlFlow::Break(ScanOutcome::Malformed);
        };
        let (id, parent) = (head.id, head.parent);
        if matches!(self.wanted, ScanTarget::Entry(wanted) if wanted != id) {
            return ControlFlow::Continue(());
        }
        if head.kind == HEADER {
            return ControlFlow::Break(ScanOutcome::Malformed);
        }
        let ParsedEntry { entry, unread: None } = head.with_body(text) else {
            return ControlFlow::Break(ScanOutcome::Malformed);
        };
        let compaction = if let EntryBody::Compaction(compaction) = &entry.body {
            Some(compaction.first_kept)
        } else {
            None
        };
        self.branch.push(entry);
        let last = self.kept == Some(id);
        match (self.kept, compaction) {
            (None, Some(None)) => return ControlFlow::Break(ScanOutcome::Complete),
            (None, Some(kept)) => self.kept = kept,
            (Some(_), _) | (None, None) => {}
        }
        match parent {
            Some(parent) if !last => self.wanted = ScanTarget::Entry(parent),
            Some(_) | None => return ControlFlow::Break(ScanOutcome::Complete),
        }
        ControlFlow::Continue(())
    }
}
