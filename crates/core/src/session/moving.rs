//! A session goes on in another file: reading, copying and syncing all of it is for the thread that syncs, and nobody
//! waits for it who does not have to.
//!
//! The lock on the session is held twice, for a moment each: to say what has to be in the new file, and to go on there
//! with what was added meanwhile. The copy has another name until it is whole and on the disk, so that no copy which the
//! end of the program left half made is ever taken for a session.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::SessionError;
use super::disk::{Disk, DiskFile, read_range};
use super::entry::{SessionEntry, SessionHeader};
use super::id::EntryId;
use super::log::SessionLog;
use super::recover::{RecoveredSession, SessionRepair, recover};
use super::tree::SessionTree;

/// The end of the name of a copy until it is whole.
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

/// The new file: it is on the disk.
pub(super) struct RelocatedLog {
    pub(super) log: SessionLog,
    pub(super) header: SessionHeader,
    pub(super) repair: SessionRepair,
    there: HashSet<EntryId>,
    /// The number of entries that were in memory when it was begun.
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

    /// It has its name when it is on the disk, and this returns when the name is, too.
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
    /// Adds what came into memory since: what was appended, and is not among what was read of the old file.
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

    /// Takes it back: the session does not go on there.
    pub(super) fn discard(self) {
        let _ = std::fs::remove_file(&self.log.path);
    }
}

/// A session's file, as far as it was written, to be read without its lock: it only grows.
pub(super) struct LogSnapshot {
    pub(super) file: Arc<dyn DiskFile>,
    pub(super) end: u64,
    pub(super) path: PathBuf,
    /// Everything that is in the file is in memory, too.
    pub(super) known: bool,
}

impl LogSnapshot {
    /// A header, the lines of the file as they stand, and those of the entries in memory that are not among them. Says
    /// which entries that are.
    pub(super) fn lines(
        &self,
        header: &SessionHeader,
        entries: &[Arc<SessionEntry>],
    ) -> Result<(Vec<u8>, HashSet<EntryId>), SessionError> {
        let old = match self.read() {
            Ok(old) => old,
            // What is there all the same: lines that this build does not know stay as they are.
            Err(_) if self.known => read_range(self.file.as_ref(), 0, self.end).unwrap_or_default(),
            Err(error) => return Err(SessionError::from_io("read", &self.path, error)),
        };
        merge_lines(header, &old, entries.iter().cloned().collect())
    }

    /// The file; an error if somebody else took some of it away.
    fn read(&self) -> io::Result<Vec<u8>> {
        let bytes = read_range(self.file.as_ref(), 0, self.end)?;
        match bytes.len() as u64 == self.end {
            true => Ok(bytes),
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
