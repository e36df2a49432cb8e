//! The state of a session behind its lock: entries, leaf, and storage.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_protocol::defense::{Defense, is_up};
use haft_protocol::message::{Message, Rfc3339Time};

use super::SessionError;
use super::disk::{Disk, RealDisk, read_file_lines};
use super::entry::{EntryBody, ForkOrigin, MessageEntry, SessionEntry, SessionHeader, Tags};
use super::entry_store::EntryStore;
use super::id::{EntryId, SessionId};
use super::intervention::HookIntervention;
use super::log::{AppendError, LogFile, SessionLog, resolve_link};
use super::recover::{RecoveredSession, SessionRepair, recover};
use super::relocation::LogSnapshot;
use super::relocation::{LogRelocation, RelocatedLog};
use super::tree::{SessionTree, fold_tags};
use super::watch::{SessionChange, SessionWatchers};
use super::{build_context, header, resume};
use crate::panics::panic_message;

pub(super) struct SessionState {
    pub(super) header: SessionHeader,
    tree: SessionTree,
    pub(super) leaf: Option<EntryId>,
    kept: SessionStorage,
    pub(super) repairs: Vec<SessionRepair>,
    /// The number of appended entries.
    given: u64,
    /// The number of appended entries that are on disk.
    safe: u64,
    /// True if the last handle was dropped and the file was unlocked.
    closed: bool,
    /// The current name, if it has been read; an empty string if there is none.
    pub(super) name: Option<String>,
    pub(super) tags: KnownTags,
    /// The ids of all lines of the file, if they have been read.
    pub(super) file_ids: Option<HashSet<EntryId>>,
    pub(super) watchers: SessionWatchers,
}

/// The tags of the session, as far as they are known.
pub(super) enum KnownTags {
    /// The file has not been read; the changes that were appended meanwhile.
    Unread(Vec<Tags>),
    Folded(BTreeMap<String, String>),
}

impl KnownTags {
    fn add(&mut self, change: &Tags) {
        match self {
            Self::Unread(changes) => changes.push(change.clone()),
            Self::Folded(tags) => change.apply_to(tags),
        }
    }

    /// Completes the tags that were found in the file, and returns the current ones.
    pub(super) fn resolve(&mut self, mut found: BTreeMap<String, String>) -> BTreeMap<String, String> {
        match self {
            Self::Folded(tags) => tags.clone(),
            Self::Unread(changes) => {
                // The appended changes are newer. To apply those that are in the file once more changes nothing.
                changes.iter().for_each(|change| change.apply_to(&mut found));
                *self = Self::Folded(found.clone());
                found
            }
        }
    }
}

enum SessionStorage {
    Memory,
    /// The file will be created with the first content.
    NotCreated {
        disk: Arc<dyn Disk>,
        path: PathBuf,
    },
    File {
        disk: Arc<dyn Disk>,
        log: SessionLog,
        /// The reason why the file is no longer written.
        broken: Option<AbandonedFile>,
        /// True if everything in the file is also in memory.
        known: bool,
    },
    ReadOnly {
        path: PathBuf,
    },
    /// A store of the embedder. All entries are also in memory.
    Store {
        store: Arc<dyn EntryStore>,
        /// The lines that are not yet in the store.
        owed: Vec<u8>,
        /// True if the store has the header, or `owed` begins with it.
        begun: bool,
    },
}

/// The content of a session, which can be read without the lock.
pub(super) struct SessionSnapshot {
    pub(super) header: SessionHeader,
    pub(super) leaf: Option<EntryId>,
    pub(super) entries: Vec<Arc<SessionEntry>>,
    pub(super) home: SnapshotStorage,
}

/// The location of the entries that are not in memory.
pub(super) enum SnapshotStorage {
    Memory,
    /// The file does not exist yet.
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

/// A file that is no longer written. The next file will contain all entries.
struct AbandonedFile {
    reason: String,
    /// True if some entries exist only in memory.
    owed: bool,
    /// The leaf when the file was abandoned, which is also its last entry.
    leaf: Option<EntryId>,
}

/// The work that syncs all appended entries to disk.
pub(super) enum SyncTask {
    Nothing,
    Sync { file: Arc<LogFile>, given: u64 },
    Store { store: Arc<dyn EntryStore>, lines: Vec<u8> },
    Move(Box<LogRelocation>),
}

/// The destination of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AppendOutcome {
    Written,
    /// The entry stays in memory until there is another file.
    Deferred,
}

impl SessionState {
    /// Adds entries that exist only in memory, each after the one that it follows.
    pub(super) fn with_entries(mut self, entries: Vec<Arc<SessionEntry>>) -> Self {
        self.leaf = entries.last().map(|entry| entry.id);
        self.tags = KnownTags::Folded(fold_tags(entries.iter().map(Arc::as_ref)));
        self.tree = entries.into_iter().collect();
        self
    }

    fn new(header: SessionHeader, kept: SessionStorage) -> Self {
        Self {
            header,
            tree: SessionTree::default(),
            leaf: None,
            kept,
            repairs: Vec::new(),
            given: 0,
            safe: 0,
            closed: false,
            name: None,
            tags: KnownTags::Folded(BTreeMap::new()),
            file_ids: None,
            watchers: SessionWatchers::default(),
        }
    }

    pub(super) fn in_memory(header: SessionHeader) -> Self {
        Self::new(header, SessionStorage::Memory)
    }

    pub(super) fn not_created(disk: Arc<dyn Disk>, header: SessionHeader, path: PathBuf) -> Self {
        Self::new(header, SessionStorage::NotCreated { disk, path })
    }

    pub(super) fn in_store(store: Arc<dyn EntryStore>, cwd: &Path) -> Result<Self, SessionError> {
        let loaded = load_lines(store.as_ref())?;
        let lines: Vec<u8> = whole_lines(&loaded).flat_map(|line| [line, b"\n"].concat()).collect();
        let begun = !lines.is_empty();
        // A store of rows may have joined them without the last newline. In a store of bytes, the next line needs it.
        let owed = if begun && !loaded.ends_with(b"\n") { b"\n".to_vec() } else { Vec::new() };
        let kept = SessionStorage::Store { store, owed, begun };
        if !begun {
            return Ok(Self::new(header(cwd, None), kept));
        }
        let (recovered, place) = (recover(&lines), Path::new("in the program's store"));
        match recovered.header.as_ref().and_then(SessionHeader::newer_version) {
            Some(version) => Err(SessionError::Newer { path: place.to_owned(), version }),
            None => Ok(Self::from_recovered(recovered, place, |_| kept)),
        }
    }

    pub(super) fn save_in(&mut self, store: Arc<dyn EntryStore>) -> Result<(), SessionError> {
        let has_lines = whole_lines(&load_lines(store.as_ref())?).next().is_some();
        if !matches!(self.kept, SessionStorage::Memory) || has_lines {
            return Err(SessionError::AlreadySaved);
        }
        let begun = self.tree.all().iter().any(|entry| entry.body.is_content());
        let owed = if begun { self.all_lines()? } else { Vec::new() };
        self.kept = SessionStorage::Store { store, owed, begun };
        Ok(())
    }

    /// Returns the header and all entries in memory as lines.
    fn all_lines(&self) -> Result<Vec<u8>, SessionError> {
        let mut lines = self.header.to_line()?;
        for entry in self.tree.all() {
            lines.extend(entry.to_line()?);
        }
        Ok(lines)
    }

    pub(super) fn open(disk: Arc<dyn Disk>, path: &Path) -> Result<Self, SessionError> {
        let path = &resolve_link(path);
        let io = |doing, error| SessionError::from_io(doing, path, error);
        let mut log = SessionLog::open(Arc::clone(&disk), path).map_err(|error| io("open", error))?;
        let header =
            resume::read_header(log.disk_file().as_ref(), log.end).map_err(|error| io("read", error))?;
        if header.is_some_and(|header| header.newer_version().is_some()) {
            // The file is not changed at all, because only a newer build can interpret its incomplete end.
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
        let bytes = read_file_lines(path).map_err(|error| SessionError::from_io("read", path, error))?;
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
        let tags = KnownTags::Unread(Vec::new());
        Self { tree, leaf, repairs, tags, ..Self::new(header, kept) }
    }

    /// True if the ids of all entries are in memory.
    pub(super) fn knows_all_ids(&self) -> bool {
        self.file_ids.is_some() || !matches!(self.kept, SessionStorage::File { known: false, .. })
    }

    /// True if a line of the session has the id. The ids of all entries must be in memory.
    fn has_id(&self, id: EntryId) -> bool {
        let in_file = self.file_ids.as_ref().is_some_and(|ids| ids.contains(&id));
        in_file || self.tree.get(id).is_some() || id.is_session(self.header.id)
    }

    /// Appends an entry with the caller's id or a new one; returns the id and the destination of the entry.
    pub(super) fn append(
        &mut self,
        id: Option<EntryId>,
        mut body: EntryBody,
        time: Rfc3339Time,
    ) -> Result<(EntryId, AppendOutcome), SessionError> {
        if let Some(id) = id.filter(|id| self.has_id(*id)) {
            return Err(SessionError::DuplicateId(id));
        }
        if let EntryBody::Compaction(compaction) = &mut body {
            compaction.settings = build_context(&self.branch()).settings;
        }
        let entry = SessionEntry { id: id.unwrap_or_default(), parent: self.leaf, time, body };
        let written = self.write(&entry)?;
        if let EntryBody::Name(name) = &entry.body {
            self.name = Some(name.name.clone());
        }
        if let EntryBody::Tags(change) = &entry.body {
            self.tags.add(change);
        }
        let (id, entry) = (entry.id, Arc::new(entry));
        self.tree.push(Arc::clone(&entry));
        self.leaf = Some(id);
        self.given += 1;
        self.watchers.notify_all(|| SessionChange::Appended(Arc::clone(&entry)));
        Ok((id, written))
    }

    fn write(&mut self, entry: &SessionEntry) -> Result<AppendOutcome, SessionError> {
        match &mut self.kept {
            SessionStorage::Memory => Ok(AppendOutcome::Written),
            SessionStorage::ReadOnly { path } => Err(match self.header.newer_version() {
                Some(version) => SessionError::Newer { path: path.clone(), version },
                None => SessionError::ReadOnly { path: path.clone() },
            }),
            SessionStorage::NotCreated { .. } | SessionStorage::Store { begun: false, .. }
                if !entry.body.is_content() =>
            {
                Ok(AppendOutcome::Written)
            }
            SessionStorage::Store { begun: false, .. } => {
                let lines = [self.all_lines()?, entry.to_line()?].concat();
                if let SessionStorage::Store { owed, begun, .. } = &mut self.kept {
                    (*owed, *begun) = (lines, true);
                }
                Ok(AppendOutcome::Written)
            }
            SessionStorage::Store { owed, .. } => {
                owed.extend(entry.to_line()?);
                Ok(AppendOutcome::Written)
            }
            SessionStorage::NotCreated { disk, path } => {
                let mut lines = self.header.to_line()?;
                for entry in self.tree.all().iter().map(Arc::as_ref).chain([entry]) {
                    lines.extend(entry.to_line()?);
                }
                // Created by the caller of `append`, because no other place outlives the program yet. The names of the
                // file and of new directories are synced with the first entry that a caller waits for.
                let log = SessionLog::create(Arc::clone(disk), path, &lines)
                    .map_err(|error| SessionError::from_io("make", path, error))?;
                self.kept = SessionStorage::File { disk: Arc::clone(disk), log, broken: None, known: true };
                Ok(AppendOutcome::Written)
            }
            SessionStorage::File { .. } => self.write_line(entry.to_line()?),
        }
    }

    /// Writes a line immediately, whatever its length. The caller of `append` can continue without waiting because the
    /// entry is already written, in order.
    fn write_line(&mut self, mut line: Vec<u8>) -> Result<AppendOutcome, SessionError> {
        let SessionStorage::File { log, broken, .. } = &mut self.kept else {
            return Ok(AppendOutcome::Written);
        };
        if let Some(broken) = broken {
            broken.owed = true;
            return Ok(AppendOutcome::Deferred);
        }
        if log.end == 0 {
            // The header itself was cut off.
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

    /// Returns the work that syncs all appended entries to disk. A file whose sync failed is never synced again: the
    /// session moves to a new file. If that fails, the move is retried at the next sync.
    pub(super) fn next_sync_task(&self) -> Result<SyncTask, SessionError> {
        let (disk, log, broken, known) = match &self.kept {
            SessionStorage::File { disk, log, broken, known } => (disk, log, broken, known),
            SessionStorage::Store { store, owed, .. } if has_lines(owed) => {
                let (store, lines) = (Arc::clone(store), owed.clone());
                return Ok(SyncTask::Store { store, lines });
            }
            SessionStorage::Store { .. }
            | SessionStorage::Memory
            | SessionStorage::NotCreated { .. }
            | SessionStorage::ReadOnly { .. } => return Ok(SyncTask::Nothing),
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

    /// Returns the content, to be read without the lock.
    pub(super) fn snapshot(&self) -> SessionSnapshot {
        let home = match &self.kept {
            SessionStorage::Memory | SessionStorage::Store { .. } => SnapshotStorage::Memory,
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

    /// Handles the end of a sync of `file`. Returns true if all entries before `given` are on disk: the sync succeeded,
    /// and the file is still the session's file.
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

    /// Handles the end of an append of the first `length` bytes that are owed to the store.
    pub(super) fn finish_store(
        &mut self,
        length: usize,
        outcome: io::Result<()>,
    ) -> Result<(), SessionError> {
        let SessionStorage::Store { owed, .. } = &mut self.kept else { return Ok(()) };
        outcome.map_err(|error| SessionError::from_store("save entries to", error))?;
        owed.drain(..length.min(owed.len()));
        Ok(())
    }

    pub(super) fn finish_relocation(&mut self, mut moved: RelocatedLog) -> Result<(), SessionError> {
        // Nearly always there is nothing to add, because callers wait while a session moves.
        if let Err(error) = moved.add(self.tree.all()) {
            moved.discard_file();
            return Err(error);
        }
        let RelocatedLog { log, header, repair, .. } = moved;
        if let SessionStorage::File { log: old, broken, .. } = &mut self.kept {
            (*old, *broken) = (log, None);
        }
        self.header = header;
        self.watchers.notify_all(|| SessionChange::HeaderChanged(self.header.clone()));
        self.repairs.push(repair);
        Ok(())
    }

    pub(super) fn is_synced(&self) -> bool {
        match &self.kept {
            SessionStorage::File { broken, .. } => broken.is_none() && self.safe == self.given,
            SessionStorage::Store { owed, .. } => !has_lines(owed),
            SessionStorage::Memory | SessionStorage::NotCreated { .. } | SessionStorage::ReadOnly { .. } => {
                true
            }
        }
    }

    /// Unlocks the file for others. Only a sync may remain to be done.
    pub(super) fn close(&mut self) {
        self.closed = true;
        if let SessionStorage::File { log, .. } = &self.kept {
            log.disk_file().unlock();
        }
    }

    /// Returns the disk to which an entry with this body is written; `None` if it stays in memory.
    pub(super) fn disk_for(&self, body: &EntryBody) -> Option<&dyn Disk> {
        match &self.kept {
            SessionStorage::NotCreated { disk, .. } if body.is_content() => Some(disk.as_ref()),
            SessionStorage::Store { begun: false, .. } if !body.is_content() => None,
            SessionStorage::File { .. }
            | SessionStorage::Store { .. }
            | SessionStorage::Memory
            | SessionStorage::NotCreated { .. }
            | SessionStorage::ReadOnly { .. } => self.disk(),
        }
    }

    /// Returns the disk of the session's file; `None` if no file is written.
    pub(super) fn disk(&self) -> Option<&dyn Disk> {
        match &self.kept {
            SessionStorage::File { disk, .. } => Some(disk.as_ref()),
            // Only to start the thread.
            SessionStorage::Store { .. } => Some(&RealDisk),
            SessionStorage::Memory | SessionStorage::NotCreated { .. } | SessionStorage::ReadOnly { .. } => {
                None
            }
        }
    }

    pub(super) fn path(&self) -> Option<&Path> {
        match &self.kept {
            SessionStorage::Memory | SessionStorage::Store { .. } => None,
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
        self.move_leaf(entry);
        Ok(())
    }

    /// Moves to the root. Entries that exist only in memory are dropped, because nothing can show them again.
    pub(super) fn clear(&mut self) {
        self.move_leaf(None);
        if matches!(self.kept, SessionStorage::Memory) {
            self.tree = SessionTree::default();
            self.watchers.notify_all(|| SessionChange::Cleared);
        }
    }

    fn move_leaf(&mut self, leaf: Option<EntryId>) {
        self.leaf = leaf;
        self.watchers.notify_all(|| SessionChange::LeafMoved(leaf));
    }

    /// Reads a branch that is only in the file.
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

    /// True if the conversation ends with a prompt or a tool result, and no hook ended the turn.
    pub(super) fn lacks_answer(&self) -> bool {
        let mut next = self.leaf;
        while let Some(entry) = next.and_then(|id| self.tree.get(id)) {
            match &entry.body {
                EntryBody::MessageEntry(MessageEntry { message, .. }) => {
                    return matches!(message, Message::User { .. } | Message::Tool(_));
                }
                EntryBody::Custom(custom) if HookIntervention::from_custom(custom).is_some() => return false,
                EntryBody::BranchSummary(_) | EntryBody::Compaction(_) => return false,
                EntryBody::CustomMessage(_)
                | EntryBody::Custom(_)
                | EntryBody::ModelChange(_)
                | EntryBody::ThinkingChange(_)
                | EntryBody::ToolsChange(_)
                | EntryBody::ToolStart(_)
                | EntryBody::Label(_)
                | EntryBody::Tags(_)
                | EntryBody::Name(_)
                | EntryBody::Unknown(_) => next = entry.parent,
            }
        }
        false
    }

    pub(super) fn branch(&self) -> Vec<Arc<SessionEntry>> {
        self.tree.branch(self.leaf).unwrap_or_default()
    }
}

/// True if the owed bytes contain an entry, and not only the newline before the next one.
fn has_lines(owed: &[u8]) -> bool {
    owed.len() > 1
}

/// Returns the lines that are not empty.
fn whole_lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
}

/// Loads the lines of a store, whose code can panic.
fn load_lines(store: &dyn EntryStore) -> Result<Vec<u8>, SessionError> {
    let loaded = catch_unwind(AssertUnwindSafe(|| store.load_lines()));
    let loaded = loaded.unwrap_or_else(|panic| Err(io::Error::other(panic_message(panic.as_ref()))));
    loaded.map_err(|error| SessionError::from_store("load the session from", error))
}

/// Appends lines to a store, whose code can panic.
pub(super) fn append_lines(store: &dyn EntryStore, lines: &[u8]) -> io::Result<()> {
    let appended = catch_unwind(AssertUnwindSafe(|| store.append_lines(lines)));
    appended.unwrap_or_else(|panic| Err(io::Error::other(panic_message(panic.as_ref()))))
}

fn log_snapshot(log: &SessionLog, known: bool) -> LogSnapshot {
    LogSnapshot { file: Arc::clone(log.disk_file()), end: log.end, path: log.path.clone(), known }
}

/// Reads the branch from the end of the file, or the whole file if a line is damaged. Returns true if all lines were
/// read.
fn read_tail(log: &SessionLog) -> io::Result<(RecoveredSession, bool)> {
    let file = log.disk_file().as_ref();
    let header = resume::read_header(file, log.end)?.filter(|header| header.newer_version().is_none());
    if let Some(header) = header
        && is_up(Defense::SessionTail)
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

/// Returns a header for a file without one, based on the file's name.
fn lost_header(path: &Path) -> SessionHeader {
    let id = path.file_stem().and_then(|stem| stem.to_str()).and_then(SessionId::parse);
    let lost = header(Path::new(""), None);
    SessionHeader { id: id.unwrap_or(lost.id), ..lost }
}
