//! A session goes on in another file: reading, copying and syncing all of it is for the thread that syncs, and nobody
//! waits for it who does not have to.
//!
//! The lock on the session is held twice, for a moment each: to say what has to be in the new file, and to go on there
//! with what was added meanwhile. The copy has another name until it is whole and on the disk, so that no copy which the
//! end of the program left half made is ever taken for a session.

use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::disk::Disk;
use super::entry::{Entry, Header};
use super::error::SessionError;
use super::id::EntryId;
use super::log::Log;
use super::recover::Repair;
use super::source::Source;

/// What the name of a copy ends with until it is whole.
pub(super) const MOVING: &str = "moving";

/// What has to be in the new file.
pub(super) struct Moving {
    pub(super) disk: Arc<dyn Disk>,
    /// The old file.
    pub(super) source: Source,
    /// What is in memory.
    pub(super) entries: Vec<Arc<Entry>>,
    /// What the new file begins with.
    pub(super) header: Header,
    pub(super) reason: String,
}

/// The new file: it is on the disk.
pub(super) struct Moved {
    pub(super) log: Log,
    pub(super) header: Header,
    pub(super) repair: Repair,
    /// The entries in it.
    there: HashSet<EntryId>,
    /// How many entries were in memory when it was begun.
    seen: usize,
}

impl Moving {
    /// Makes the new file.
    pub(super) fn carry_out(self) -> Result<Moved, SessionError> {
        let seen = self.entries.len();
        let (lines, there) = self.source.lines(&self.header, &self.entries)?;
        let to = self.source.path.with_file_name(self.header.id.file_name());
        let log = self.write(&lines, &to).map_err(|error| SessionError::io("go on in", &to, error))?;
        let Self { source, header, reason, .. } = self;
        let repair = Repair::Moved { from: source.path, to, session: header.id, reason };
        Ok(Moved { log, header, repair, there, seen })
    }

    /// It has its name when it is on the disk, and this returns when the name is, too.
    fn write(&self, lines: &[u8], to: &Path) -> io::Result<Log> {
        let half = to.with_extension(MOVING);
        let mut log = Log::create(Arc::clone(&self.disk), &half, lines)?;
        let named = log.file().sync().and_then(|()| log.rename(to));
        if let Err(error) = named.and_then(|()| self.disk.sync_dir(to.parent().unwrap_or(Path::new(".")))) {
            let _ = std::fs::remove_file(log.path());
            return Err(error);
        }
        Ok(log)
    }
}

impl Moved {
    /// Adds what came into memory since: what was appended, and is not among what was read of the old file.
    pub(super) fn add(&mut self, entries: &[Arc<Entry>]) -> Result<(), SessionError> {
        let mut lines = Vec::new();
        for entry in entries.iter().skip(self.seen).filter(|entry| !self.there.contains(&entry.id)) {
            lines.extend(entry.to_line()?);
        }
        if lines.is_empty() {
            return Ok(());
        }
        self.log.append(&lines).map_err(|error| SessionError::io("go on in", self.log.path(), error.into()))
    }

    /// Takes it back: the session does not go on there.
    pub(super) fn discard(self) {
        let _ = std::fs::remove_file(self.log.path());
    }
}
