//! A session behind its lock: entries, leaf, and where they are kept.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_protocol::defence::{Defence, is_up};
use haft_protocol::message::Rfc3339Time;

use super::SessionError;
use super::disk::Disk;
use super::entry::{EntryBody, ForkOrigin, SessionEntry, SessionHeader};
use super::id::{EntryId, SessionId};
use super::log::{AppendError, LogFile, SessionLog, resolve_link};
use super::moving::LogSnapshot;
use super::moving::{LogRelocation, RelocatedLog};
use super::recover::{RecoveredSession, SessionRepair, recover};
use super::tree::SessionTree;
use super::{build_context, header, resume};

pub(super) struct SessionState {
    pub(super) header: SessionHeader,
    tree: SessionTree,
    pub(super) leaf: Option<EntryId>,
    kept: SessionStorage,
    pub(super) repairs: Vec<SessionRepair>,
    /// The number of entries that were appended.
    given: u64,
    /// The number of them that are on the disk.
    safe: u64,
    /// Nobody holds the session any more, and its file is free for others.
    closed: bool,
    /// The name that it was last given, once that is known; an empty one if it has none.
    pub(super) name: Option<String>,
}

enum SessionStorage {
    Memory,
    /// In a file that is made with the first entry that is worth one.
    NotCreated {
        disk: Arc<dyn Disk>,
        path: PathBuf,
    },
    File {
        disk: Arc<dyn Disk>,
        log: SessionLog,
        /// Why the file is not written any more.
        broken: Option<AbandonedFile>,
        /// Everything that is in the file is in memory, too.
        known: bool,
    },
    ReadOnly {
        path: PathBuf,
    },
}

/// All of a session, to be read without its lock.
pub(super) struct SessionSnapshot {
    pub(super) header: SessionHeader,
    pub(super) leaf: Option<EntryId>,
    pub(super) entries: Vec<Arc<SessionEntry>>,
    pub(super) home: SnapshotStorage,
}

/// The place of the entries that are not in memory.
pub(super) enum SnapshotStorage {
    Memory,
    /// None yet: the file is still to be made.
    NotCreated {
        disk: Arc<dyn Disk>,
        path: PathBuf,
    },
    File {
        disk: Arc<dyn Disk>,
        source: LogSnapshot,
    },
    ReadOnly {
        path: PathBuf,
    },
}

/// A file that is not written any more. The next one will hold everything.
struct AbandonedFile {
    reason: String,
    /// There are entries in memory that are in no file yet.
    owed: bool,
    /// The leaf when it was given up: the last entry that it has, too.
    leaf: Option<EntryId>,
}

/// The work that brings everything that was appended to the disk.
pub(super) enum SyncTask {
    Nothing,
    Sync { file: Arc<LogFile>, given: u64 },
    Move(Box<LogRelocation>),
}

/// Where an entry went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AppendOutcome {
    Written,
    /// It is in memory, until there is another file.
    Deferred,
}

impl SessionState {
    /// One with entries that are in memory only, each behind the one that it follows.
    pub(super) fn with_entries(mut self, entries: Vec<Arc<SessionEntry>>) -> Self {
        self.leaf = entries.last().map(|entry| entry.id);
        self.tree = entries.into_iter().collect();
        self
    }

    fn new(header: SessionHeader, kept: SessionStorage) -> Self {
        let (tree, repairs) = (SessionTree::default(), Vec::new());
        Self { header, tree, leaf: None, kept, repairs, given: 0, safe: 0, closed: false, name: None }
    }

    pub(super) fn in_memory(header: SessionHeader) -> Self {
        Self::new(header, SessionStorage::Memory)
    }

    pub(super) fn not_created(disk: Arc<dyn Disk>, header: SessionHeader, path: PathBuf) -> Self {
        Self::new(header, SessionStorage::NotCreated { disk, path })
    }

    pub(super) fn open(disk: Arc<dyn Disk>, path: &Path) -> Result<Self, SessionError> {
        let path = &resolve_link(path);
        let io = |doing, error| SessionError::from_io(doing, path, error);
        let mut log = SessionLog::open(Arc::clone(&disk), path).map_err(|error| io("open", error))?;
        let header =
            resume::read_header(log.disk_file().as_ref(), log.end).map_err(|error| io("read", error))?;
        if header.is_some_and(|header| header.newer_version().is_some()) {
            // Not even its end is touched: what is torn there, only a newer build knows.
            return Self::open_read_only(path);
        }
        let cut = log.repair_tail().map_err(|error| io("open", error))?;
        let (recovered, known) = read_tail(&log).map_err(|error| io("read", error))?;
        let mut state = Self::from_recovered(recovered, path, |header| match header.newer_version() {
            Some(_) => SessionStorage::ReadOnly { path: path.to_owned() },
            None => SessionStorage::File { disk, log, broken: None, known },
        });
        let torn = cut.map(|cut| SessionRepair::TornTail { bytes: cut.bytes, saved: Some(cut.saved) });
        state.repairs.extend(torn);
        Ok(state)
    }

    pub(super) fn open_read_only(path: &Path) -> Result<Self, SessionError> {
        let bytes = std::fs::read(path).map_err(|error| SessionError::from_io("read", path, error))?;
        Ok(Self::from_recovered(recover(&bytes), path, |_| SessionStorage::ReadOnly {
            path: path.to_owned(),
        }))
    }

    fn from_recovered(
        recovered: RecoveredSession,
        path: &Path,
        kept: impl FnOnce(&SessionHeader) -> SessionStorage,
    ) -> Self {
        let RecoveredSession { header, entries, repairs, .. } = recovered;
        let header = header.unwrap_or_else(|| lost_header(path));
        let leaf = entries.last().map(|entry| entry.id);
        let kept = kept(&header);
        let tree = entries.into_iter().map(Arc::new).collect();
        Self { tree, leaf, repairs, ..Self::new(header, kept) }
    }

    /// Adds an entry; says its name and where it went.
    pub(super) fn append(
        &mut self,
        mut body: EntryBody,
        time: Rfc3339Time,
    ) -> Result<(EntryId, AppendOutcome), SessionError> {
        if let EntryBody::Compaction(compaction) = &mut body {
            compaction.settings = build_context(&self.branch()).settings;
        }
        let entry = SessionEntry { id: EntryId::new(), parent: self.leaf, time, body };
        let written = self.write(&entry)?;
        if let EntryBody::Name(name) = &entry.body {
            self.name = Some(name.name.clone());
        }
        let id = entry.id;
        self.tree.push(Arc::new(entry));
        self.leaf = Some(id);
        self.given += 1;
        Ok((id, written))
    }

    fn write(&mut self, entry: &SessionEntry) -> Result<AppendOutcome, SessionError> {
        match &mut self.kept {
            SessionStorage::Memory => Ok(AppendOutcome::Written),
            SessionStorage::ReadOnly { path } => Err(match self.header.newer_version() {
                Some(version) => SessionError::Newer { path: path.clone(), version },
                None => SessionError::ReadOnly { path: path.clone() },
            }),
            SessionStorage::NotCreated { .. } if !entry.body.is_content() => Ok(AppendOutcome::Written),
            SessionStorage::NotCreated { disk, path } => {
                let mut lines = self.header.to_line()?;
                for entry in self.tree.all().iter().map(Arc::as_ref).chain([entry]) {
                    lines.extend(entry.to_line()?);
                }
                // Made here, by who appends: there is no other place yet where the entry would outlive the program. Its
                // name and those of the directories that are made for it are synced with the first entry that somebody
                // waits for.
                let log = SessionLog::create(Arc::clone(disk), path, &lines)
                    .map_err(|error| SessionError::from_io("make", path, error))?;
                self.kept = SessionStorage::File { disk: Arc::clone(disk), log, broken: None, known: true };
                Ok(AppendOutcome::Written)
            }
            SessionStorage::File { .. } => self.write_line(entry.to_line()?),
        }
    }

    /// Writes a line here and now, however long it is: that an entry is handed to the system when `append` returns, and
    /// behind the one before it, is what lets its caller go on without waiting.
    fn write_line(&mut self, mut line: Vec<u8>) -> Result<AppendOutcome, SessionError> {
        let SessionStorage::File { log, broken, .. } = &mut self.kept else {
            return Ok(AppendOutcome::Written);
        };
        if let Some(broken) = broken {
            broken.owed = true;
            return Ok(AppendOutcome::Deferred);
        }
        if log.end == 0 {
            // What was torn off was all there was.
            line.splice(..0, self.header.to_line()?);
        }
        match log.append(&line) {
            Ok(()) => Ok(AppendOutcome::Written),
            Err(AppendError::Io(error)) => Err(SessionError::from_io("write", &log.path, error)),
            Err(AppendError::Lost(reason)) => {
                *broken = Some(AbandonedFile { reason: reason.to_owned(), owed: true, leaf: self.leaf });
                Ok(AppendOutcome::Deferred)
            }
        }
    }

    /// Returns the work that brings everything that was appended to the disk. A file whose sync failed is never synced
    /// again: the session goes on in a new one, and when that fails it is tried again the next time.
    pub(super) fn next_sync_task(&self) -> Result<SyncTask, SessionError> {
        let SessionStorage::File { disk, log, broken, known } = &self.kept else {
            return Ok(SyncTask::Nothing);
        };
        let Some(AbandonedFile { reason, owed, leaf }) = broken else {
            return Ok(SyncTask::Sync { file: Arc::clone(&log.file), given: self.given });
        };
        if self.closed && !owed {
            return Err(SessionError::Unknown);
        }
        let forked_from = Some(ForkOrigin { session: self.header.id, entry: *leaf });
        Ok(SyncTask::Move(Box::new(LogRelocation {
            disk: Arc::clone(disk),
            source: log_snapshot(log, *known),
            entries: self.tree.all().to_vec(),
            header: header(Path::new(&self.header.cwd), forked_from),
            reason: reason.clone(),
        })))
    }

    /// All of it, to be read without the lock.
    pub(super) fn snapshot(&self) -> SessionSnapshot {
        let home = match &self.kept {
            SessionStorage::Memory => SnapshotStorage::Memory,
            SessionStorage::NotCreated { disk, path } => {
                SnapshotStorage::NotCreated { disk: Arc::clone(disk), path: path.clone() }
            }
            SessionStorage::File { disk, log, known, .. } => {
                SnapshotStorage::File { disk: Arc::clone(disk), source: log_snapshot(log, *known) }
            }
            SessionStorage::ReadOnly { path } => SnapshotStorage::ReadOnly { path: path.clone() },
        };
        SessionSnapshot {
            header: self.header.clone(),
            leaf: self.leaf,
            entries: self.tree.all().to_vec(),
            home,
        }
    }

    /// A sync of `file` has ended. Says whether everything that was `given` before it is on the disk: it is not when the
    /// sync failed, or when the file turned out meanwhile not to be the session's any more.
    pub(super) fn finish_sync(&mut self, file: &Arc<LogFile>, given: u64, outcome: io::Result<()>) -> bool {
        let SessionStorage::File { log, broken, .. } = &mut self.kept else { return true };
        if let (Err(error), None) = (&outcome, &broken)
            && Arc::ptr_eq(&log.file, file)
        {
            *broken = Some(AbandonedFile { reason: error.to_string(), owed: false, leaf: self.leaf });
        }
        let sound = broken.is_none();
        if sound {
            self.safe = self.safe.max(given);
        }
        sound
    }

    pub(super) fn finish_relocation(&mut self, mut moved: RelocatedLog) -> Result<(), SessionError> {
        // Nearly always there is nothing to add: whoever appends while a session moves waits for that.
        if let Err(error) = moved.add(self.tree.all()) {
            moved.discard();
            return Err(error);
        }
        let RelocatedLog { log, header, repair, .. } = moved;
        if let SessionStorage::File { log: old, broken, .. } = &mut self.kept {
            (*old, *broken) = (log, None);
        }
        self.header = header;
        self.repairs.push(repair);
        Ok(())
    }

    pub(super) fn is_synced(&self) -> bool {
        match &self.kept {
            SessionStorage::File { broken, .. } => broken.is_none() && self.safe == self.given,
            SessionStorage::Memory | SessionStorage::NotCreated { .. } | SessionStorage::ReadOnly { .. } => {
                true
            }
        }
    }

    /// Lets others have the file. What is left to do is to sync it.
    pub(super) fn close(&mut self) {
        self.closed = true;
        if let SessionStorage::File { log, .. } = &self.kept {
            log.disk_file().unlock();
        }
    }

    /// Where an entry with this body will be written; none if it stays in memory.
    pub(super) fn disk_for(&self, body: &EntryBody) -> Option<&dyn Disk> {
        match &self.kept {
            SessionStorage::NotCreated { disk, .. } if body.is_content() => Some(disk.as_ref()),
            SessionStorage::File { .. }
            | SessionStorage::Memory
            | SessionStorage::NotCreated { .. }
            | SessionStorage::ReadOnly { .. } => self.disk(),
        }
    }

    /// Where the session's file is, if it has one that is written.
    pub(super) fn disk(&self) -> Option<&dyn Disk> {
        match &self.kept {
            SessionStorage::File { disk, .. } => Some(disk.as_ref()),
            SessionStorage::Memory | SessionStorage::NotCreated { .. } | SessionStorage::ReadOnly { .. } => {
                None
            }
        }
    }

    pub(super) fn path(&self) -> Option<&Path> {
        match &self.kept {
            SessionStorage::Memory => None,
            SessionStorage::File { log, .. } => Some(&log.path),
            SessionStorage::NotCreated { path, .. } | SessionStorage::ReadOnly { path } => Some(path),
        }
    }

    pub(super) fn is_read_only(&self) -> bool {
        matches!(self.kept, SessionStorage::ReadOnly { .. })
    }

    pub(super) fn move_to(&mut self, entry: Option<EntryId>) -> Result<(), SessionError> {
        if let (Err(_), Some(id)) = (self.tree.branch(entry), entry) {
            self.load(id)?;
        }
        self.leaf = entry;
        Ok(())
    }

    /// Goes on from the root. What is nowhere but in memory nothing can show again.
    pub(super) fn clear(&mut self) {
        self.leaf = None;
        if matches!(self.kept, SessionStorage::Memory) {
            self.tree = SessionTree::default();
        }
    }

    /// Reads a branch that is in the file only.
    fn load(&mut self, leaf: EntryId) -> Result<(), SessionError> {
        let SessionStorage::File { log, .. } = &self.kept else { return Err(SessionError::NoEntry(leaf)) };
        let io = |error| SessionError::from_io("read", &log.path, error);
        let entries = match resume::read_branch(log.disk_file().as_ref(), log.end, Some(leaf)).map_err(io)? {
            Some(branch) => branch,
            None => recover(&log.read().map_err(io)?).entries,
        };
        for entry in entries {
            if self.tree.get(entry.id).is_none() {
                self.tree.push(Arc::new(entry));
            }
        }
        self.tree.branch(Some(leaf)).map(drop).map_err(SessionError::NoEntry)
    }

    pub(super) fn entry(&self, id: EntryId) -> Option<Arc<SessionEntry>> {
        self.tree.get(id).map(Arc::clone)
    }

    pub(super) fn branch(&self) -> Vec<Arc<SessionEntry>> {
        self.tree.branch(self.leaf).unwrap_or_default()
    }
}

fn log_snapshot(log: &SessionLog, known: bool) -> LogSnapshot {
    LogSnapshot { file: Arc::clone(log.disk_file()), end: log.end, path: log.path.clone(), known }
}

/// Reads the branch from the end of the file; all of it if something is not as it should be. Says whether every line is
/// known then.
fn read_tail(log: &SessionLog) -> io::Result<(RecoveredSession, bool)> {
    let file = log.disk_file().as_ref();
    let header = resume::read_header(file, log.end)?.filter(|header| header.newer_version().is_none());
    if let Some(header) = header
        && is_up(Defence::SessionTail)
        && let Some(entries) = resume::read_branch(file, log.end, None)?
    {
        return Ok((
            RecoveredSession { header: Some(header), entries, repairs: Vec::new(), whole: 0 },
            false,
        ));
    }
    let recovered = recover(&log.read()?);
    let known = recovered.repairs.is_empty();
    Ok((recovered, known))
}

/// The header of a file that has lost its own: what the file's name still says.
fn lost_header(path: &Path) -> SessionHeader {
    let id = path.file_stem().and_then(|stem| stem.to_str()).and_then(SessionId::parse);
    let lost = header(Path::new(""), None);
    SessionHeader { id: id.unwrap_or(lost.id), ..lost }
}
