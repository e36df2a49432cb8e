//! Moves a session to another file. The sync thread reads, copies and syncs the content, so that other callers do not
//! wait.
//!
//! The session is locked twice, for a moment each: to determine the content of the new file, and to continue there with
//! entries added meanwhile. The copy has a temporary name until it is complete and on disk, so that an incomplete copy
//! is never mistaken for a session.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::SessionError;
use super::disk::{Disk, DiskFile, read_lines};
use super::entry::{SessionEntry, SessionHeader};
use super::id::EntryId;
use super::line;
use super::log::SessionLog;
use super::recover::{RecoveredSession, SessionRepair, recover};
use super::tree::SessionTree;

/// The suffix of a copy until it is complete.
pub(super) const MOVING: &str = "moving";

/// The content of the new file.
pub(super) struct LogRelocation {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) source: LogSnapshot,
    pub(super) entries: Vec<Arc<SessionEntry>>,
    /// The header of the new file.
    pub(super) header: SessionHeader,
    pub(super) reason: String,
}

/// The new file, which is on disk.
pub(super) struct RelocatedLog {
    pub(super) log: SessionLog,
    pub(super) header: SessionHeader,
    pub(super) repair: SessionRepair,
    there: HashSet<EntryId>,
    /// The number of entries in memory when the move began.
    seen: usize,
}

impl LogRelocation {
    pub(super) fn carry_out(self) -> Result<RelocatedLog, SessionError> {
        let seen = self.entries.len();
        let (lines, there) = self.source.lines(&self.header, &self.entries)?;
        let to = self.source.path.with_file_name(self.header.id.file_name());
        let log =
            self.write(&lines, &to).map_err(|error| SessionError::from_io("continue in", &to, error))?;
        let Self { source, header, reason, .. } = self;
        let repair = SessionRepair::Moved { from: source.path, to, session: header.id, reason };
        Ok(RelocatedLog { log, header, repair, there, seen })
    }

    /// Writes the new file. The file receives its name when its content is on disk; this function returns when the name
    /// is on disk too.
    fn write(&self, lines: &[u8], to: &Path) -> io::Result<SessionLog> {
        let half = to.with_extension(MOVING);
        let mut log = SessionLog::create(Arc::clone(&self.disk), &half, lines)?;
        let named = log.file.sync().and_then(|()| log.rename(to));
        if let Err(error) = named.and_then(|()| self.disk.sync_dir(to.parent().unwrap_or(Path::new(".")))) {
            let _ = std::fs::remove_file(&log.path);
            return Err(error);
        }
        Ok(log)
    }
}

impl RelocatedLog {
    /// Adds the entries that were appended since the copy was read.
    pub(super) fn add(&mut self, entries: &[Arc<SessionEntry>]) -> Result<(), SessionError> {
        let mut lines = Vec::new();
        for entry in entries.iter().skip(self.seen).filter(|entry| !self.there.contains(&entry.id)) {
            lines.extend(entry.to_line()?);
        }
        if lines.is_empty() {
            return Ok(());
        }
        self.log
            .append(&lines)
            .map_err(|error| SessionError::from_io("continue in", &self.log.path, error.into()))
    }

    /// Removes the new file, because the session does not continue there.
    pub(super) fn discard_file(self) {
        let _ = std::fs::remove_file(&self.log.path);
    }
}

/// The written part of a session's file, which can be read without the lock because the file only grows.
pub(super) struct LogSnapshot {
    pub(super) file: Arc<dyn DiskFile>,
    pub(super) end: u64,
    pub(super) path: PathBuf,
    /// True if everything in the file is also in memory.
    pub(super) known: bool,
}

impl LogSnapshot {
    /// Returns a header, the unchanged lines of the file, and the lines of entries that exist only in memory; also
    /// returns which entries those are.
    pub(super) fn lines(
        &self,
        header: &SessionHeader,
        entries: &[Arc<SessionEntry>],
    ) -> Result<(Vec<u8>, HashSet<EntryId>), SessionError> {
        let old = match self.read() {
            Ok(old) => old,
            // Reads the available lines, so that lines of unknown types are kept.
            Err(_) if self.known => read_lines(self.file.as_ref(), self.end).unwrap_or_default().0,
            Err(error) => return Err(SessionError::from_io("read", &self.path, error)),
        };
        merge_lines(header, &old, entries.iter().cloned().collect())
    }

    /// Returns the ids of all lines.
    pub(super) fn read_ids(&self) -> Result<HashSet<EntryId>, SessionError> {
        let lines = self.read().map_err(|error| SessionError::from_io("read", &self.path, error))?;
        Ok(lines.split(|byte| *byte == b'\n').filter_map(line::line_id).collect())
    }

    /// Reads the file; fails if another program has truncated it.
    fn read(&self) -> io::Result<Vec<u8>> {
        let (lines, read) = read_lines(self.file.as_ref(), self.end)?;
        match read == self.end {
            true => Ok(lines),
            false => {
                Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file was truncated by another program"))
            }
        }
    }
}

fn merge_lines(
    header: &SessionHeader,
    old: &[u8],
    tree: SessionTree,
) -> Result<(Vec<u8>, HashSet<EntryId>), SessionError> {
    let RecoveredSession { header: old_header, entries, whole, .. } = recover(old);
    let mut lines = header.to_line()?;
    let from = match old_header {
        Some(_) => memchr::memchr(b'\n', old).map_or(0, |at| at + 1),
        None => 0,
    };
    lines.extend_from_slice(old.get(from..whole).unwrap_or_default());
    let mut there: HashSet<EntryId> = entries.iter().map(|entry| entry.id).collect();
    for entry in tree.parents_first().filter(|entry| !there.contains(&entry.id)) {
        lines.extend(entry.to_line()?);
    }
    there.extend(tree.all().iter().map(|entry| entry.id));
    Ok((lines, there))
}
