//! A session behind its lock: entries, leaf, and where they are kept.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_protocol::defence::{Defence, is_up};
use haft_protocol::message::Time;

use super::disk::{Disk, DiskFile};
use super::entry::{Entry, EntryBody, Header, Origin};
use super::error::SessionError;
use super::id::{EntryId, SessionId};
use super::log::{AppendError, Log};
use super::recover::{Recovered, Repair, recover};
use super::tree::Tree;
use super::{context, file_name, header, line, resume};

pub(super) struct State {
    header: Header,
    tree: Tree,
    leaf: Option<EntryId>,
    kept: Kept,
    repairs: Vec<Repair>,
    /// Nobody holds the session any more, and its file is free for others.
    closed: bool,
}

/// Where the entries are kept.
enum Kept {
    Memory,
    /// In a file that is made with the first entry that is worth one.
    Unborn {
        disk: Arc<dyn Disk>,
        path: PathBuf,
    },
    File {
        disk: Arc<dyn Disk>,
        log: Log,
        broken: Option<String>,
        /// Everything that is in the file is in memory, too.
        known: bool,
    },
    /// In a file that is only read.
    ReadOnly {
        path: PathBuf,
    },
}

impl State {
    fn new(header: Header, kept: Kept) -> Self {
        Self { header, tree: Tree::default(), leaf: None, kept, repairs: Vec::new(), closed: false }
    }

    pub(super) fn in_memory(header: Header) -> Self {
        Self::new(header, Kept::Memory)
    }

    pub(super) fn unborn(disk: Arc<dyn Disk>, header: Header, path: PathBuf) -> Self {
        Self::new(header, Kept::Unborn { disk, path })
    }

    pub(super) fn open(disk: Arc<dyn Disk>, path: &Path) -> Result<Self, SessionError> {
        let path = &behind_link(path);
        let io = |doing, error| SessionError::io(doing, path, error);
        let mut log = Log::open(Arc::clone(&disk), path).map_err(|error| io("open", error))?;
        let header = resume::header(log.file().as_ref(), log.end()).map_err(|error| io("read", error))?;
        if header.is_some_and(|header| header.newer().is_some()) {
            // Not even its end is touched: what is torn there, only a newer build knows.
            return Self::open_read_only(path);
        }
        let cut = log.mend().map_err(|error| io("open", error))?;
        let (recovered, known) = quickly(&log).map_err(|error| io("read", error))?;
        let mut state = Self::of(recovered, path, |header| match header.newer() {
            Some(_) => Kept::ReadOnly { path: path.to_owned() },
            None => Kept::File { disk, log, broken: None, known },
        });
        let torn = cut.map(|cut| Repair::TornTail { bytes: cut.bytes, saved: Some(cut.saved) });
        state.repairs.extend(torn);
        Ok(state)
    }

    pub(super) fn open_read_only(path: &Path) -> Result<Self, SessionError> {
        let bytes = std::fs::read(path).map_err(|error| SessionError::io("read", path, error))?;
        Ok(Self::of(recover(&bytes), path, |_| Kept::ReadOnly { path: path.to_owned() }))
    }

    fn of(recovered: Recovered, path: &Path, kept: impl FnOnce(&Header) -> Kept) -> Self {
        let Recovered { header, entries, repairs, .. } = recovered;
        let header = header.unwrap_or_else(|| lost_header(path));
        let leaf = entries.last().map(|entry| entry.id);
        let kept = kept(&header);
        Self { header, tree: entries.into_iter().map(Arc::new).collect(), leaf, kept, repairs, closed: false }
    }

    /// Adds an entry; says its name when it is handed to the system.
    pub(super) fn append(&mut self, mut body: EntryBody, time: Time) -> Result<EntryId, SessionError> {
        if let EntryBody::Compaction(compaction) = &mut body {
            compaction.settings = context(&self.branch()).settings;
        }
        let entry = Entry { id: EntryId::new(), parent: self.leaf, time, body };
        self.write(&entry)?;
        let id = entry.id;
        self.tree.push(Arc::new(entry));
        self.leaf = Some(id);
        Ok(id)
    }

    fn write(&mut self, entry: &Entry) -> Result<(), SessionError> {
        match &mut self.kept {
            Kept::Memory => Ok(()),
            Kept::ReadOnly { path } => Err(match self.header.newer() {
                Some(version) => SessionError::Newer { path: path.clone(), version },
                None => SessionError::ReadOnly { path: path.clone() },
            }),
            Kept::Unborn { .. } if !entry.body.is_content() => Ok(()),
            Kept::Unborn { disk, path } => {
                let mut lines = line::of_header(&self.header)?;
                for entry in self.tree.all().iter().map(Arc::as_ref).chain([entry]) {
                    lines.extend(line::of_entry(entry)?);
                }
                let log = Log::create(Arc::clone(disk), path, &lines)
                    .map_err(|error| SessionError::io("make", path, error))?;
                self.kept = Kept::File { disk: Arc::clone(disk), log, broken: None, known: true };
                Ok(())
            }
            Kept::File { .. } => {
                self.mend()?;
                self.write_lines(line::of_entry(entry)?)
            }
        }
    }

    fn write_lines(&mut self, mut lines: Vec<u8>) -> Result<(), SessionError> {
        for last in [false, true] {
            let Kept::File { log, .. } = &mut self.kept else { break };
            if log.end() == 0 {
                // What was torn off was all there was.
                lines.splice(..0, line::of_header(&self.header)?);
            }
            let error = match log.append(&lines) {
                Ok(()) => break,
                Err(AppendError::Io(error)) => error,
                Err(AppendError::Lost(reason)) if last => io::Error::other(reason),
                Err(AppendError::Lost(reason)) => {
                    self.relocate(reason.to_owned())?;
                    continue;
                }
            };
            return Err(SessionError::io("write", log.path(), error));
        }
        Ok(())
    }

    /// Goes on in a new file that holds everything, and is on the disk before anything is acknowledged. The old one is
    /// not written any more. When this fails it is tried again with the next entry.
    fn relocate(&mut self, reason: String) -> Result<(), SessionError> {
        let Kept::File { disk, log, broken, known } = &mut self.kept else { return Ok(()) };
        *broken = Some(reason.clone());
        if self.closed {
            return Err(SessionError::Unknown);
        }
        let (disk, from, known) = (Arc::clone(disk), log.path().to_owned(), *known);
        let old = match log.read_all() {
            Ok(old) => old,
            Err(_) if known => log.read().unwrap_or_default(),
            Err(error) => return Err(SessionError::io("read", &from, error)),
        };
        let origin = Origin { session: self.header.id, entry: self.leaf };
        let header = Header {
            id: SessionId::new(),
            forked_from: Some(origin),
            ..header(Path::new(&self.header.cwd), None)
        };
        let lines = everything(&header, &old, &self.tree)?;
        let to = from.with_file_name(file_name(header.id));
        let io = |error| SessionError::io("go on in", &to, error);
        let log = Log::create(Arc::clone(&disk), &to, &lines).map_err(io)?;
        if let Err(error) = log.file().sync() {
            let _ = std::fs::remove_file(&to);
            return Err(io(error));
        }
        self.repairs.push(Repair::Moved { from, to, session: header.id, reason });
        self.header = header;
        self.kept = Kept::File { disk, log, broken: None, known };
        Ok(())
    }

    /// Goes on in a new file if this one is broken.
    pub(super) fn mend(&mut self) -> Result<(), SessionError> {
        match &self.kept {
            Kept::File { broken: Some(reason), .. } => self.relocate(reason.clone()),
            Kept::File { broken: None, .. } | Kept::Memory | Kept::Unborn { .. } | Kept::ReadOnly { .. } => {
                Ok(())
            }
        }
    }

    /// Lets others have the file. What is left to do is to sync it.
    pub(super) fn close(&mut self) {
        self.closed = true;
        if let Kept::File { log, .. } = &self.kept {
            log.file().unlock();
        }
    }

    /// A sync of `file` has ended. When it failed, what was written since the last one may be gone.
    pub(super) fn synced(
        &mut self,
        file: &Arc<dyn DiskFile>,
        outcome: io::Result<()>,
    ) -> Result<(), SessionError> {
        match (&self.kept, outcome) {
            (Kept::File { log, .. }, Err(error)) if Arc::ptr_eq(log.file(), file) => {
                self.relocate(error.to_string())
            }
            // It may have broken meanwhile, or moved with all of its entries.
            _ => self.mend(),
        }
    }

    /// Where an entry with this body will be written; none if it stays in memory.
    pub(super) fn disk_of(&self, body: &EntryBody) -> Option<&dyn Disk> {
        match &self.kept {
            Kept::Unborn { disk, .. } if body.is_content() => Some(disk.as_ref()),
            Kept::File { .. } | Kept::Memory | Kept::Unborn { .. } | Kept::ReadOnly { .. } => self.disk(),
        }
    }

    /// Where the session's file is, if it has one that is written.
    pub(super) fn disk(&self) -> Option<&dyn Disk> {
        match &self.kept {
            Kept::File { disk, .. } => Some(disk.as_ref()),
            Kept::Memory | Kept::Unborn { .. } | Kept::ReadOnly { .. } => None,
        }
    }

    /// The file that has to be synced.
    pub(super) fn file(&self) -> Option<Arc<dyn DiskFile>> {
        match &self.kept {
            Kept::File { log, .. } => Some(Arc::clone(log.file())),
            Kept::Memory | Kept::Unborn { .. } | Kept::ReadOnly { .. } => None,
        }
    }

    pub(super) fn header(&self) -> &Header {
        &self.header
    }

    pub(super) fn path(&self) -> Option<&Path> {
        match &self.kept {
            Kept::Memory => None,
            Kept::File { log, .. } => Some(log.path()),
            Kept::Unborn { path, .. } | Kept::ReadOnly { path } => Some(path),
        }
    }

    pub(super) fn is_read_only(&self) -> bool {
        matches!(self.kept, Kept::ReadOnly { .. })
    }

    pub(super) fn leaf(&self) -> Option<EntryId> {
        self.leaf
    }

    pub(super) fn move_to(&mut self, entry: Option<EntryId>) -> Result<(), SessionError> {
        if let (Err(_), Some(id)) = (self.tree.branch(entry), entry) {
            self.load(id)?;
        }
        self.leaf = entry;
        Ok(())
    }

    /// Reads a branch that is in the file only.
    fn load(&mut self, leaf: EntryId) -> Result<(), SessionError> {
        let Kept::File { log, .. } = &self.kept else { return Err(SessionError::NoEntry(leaf)) };
        let io = |error| SessionError::io("read", log.path(), error);
        let entries = match resume::branch(log.file().as_ref(), log.end(), Some(leaf)).map_err(io)? {
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

    pub(super) fn entry(&self, id: EntryId) -> Option<Arc<Entry>> {
        self.tree.get(id).map(Arc::clone)
    }

    pub(super) fn branch(&self) -> Vec<Arc<Entry>> {
        self.tree.branch(self.leaf).unwrap_or_default()
    }

    pub(super) fn take_repairs(&mut self) -> Vec<Repair> {
        std::mem::take(&mut self.repairs)
    }
}

/// The file that a path means: a link to it is not replaced.
fn behind_link(path: &Path) -> PathBuf {
    let link = std::fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    let meant = link.then(|| std::fs::canonicalize(path).ok()).flatten();
    meant.unwrap_or_else(|| path.to_owned())
}

/// What the session goes on with, read from the end of the file; all of it if something is not as it should be. Says
/// whether every line is known then.
fn quickly(log: &Log) -> io::Result<(Recovered, bool)> {
    let file = log.file().as_ref();
    let header = resume::header(file, log.end())?.filter(|header| header.newer().is_none());
    if let Some(header) = header
        && is_up(Defence::SessionTail)
        && let Some(entries) = resume::branch(file, log.end(), None)?
    {
        return Ok((Recovered { header: Some(header), entries, repairs: Vec::new(), whole: 0 }, false));
    }
    let recovered = recover(&log.read()?);
    let known = recovered.repairs.is_empty();
    Ok((recovered, known))
}

/// The header of a file that has lost its own: what the file's name still says.
fn lost_header(path: &Path) -> Header {
    let id = path.file_stem().and_then(|stem| stem.to_str()).and_then(SessionId::parse);
    let lost = header(Path::new(""), None);
    Header { id: id.unwrap_or(lost.id), ..lost }
}

/// A new header, the lines of the old file as they stand, and the entries in memory that are not among them.
fn everything(header: &Header, old: &[u8], tree: &Tree) -> Result<Vec<u8>, SessionError> {
    let Recovered { header: old_header, entries, whole, .. } = recover(old);
    let mut lines = line::of_header(header)?;
    let from = match old_header {
        Some(_) => memchr::memchr(b'\n', old).map_or(0, |at| at + 1),
        None => 0,
    };
    lines.extend_from_slice(old.get(from..whole).unwrap_or_default());
    let there: std::collections::HashSet<EntryId> = entries.iter().map(|entry| entry.id).collect();
    for entry in tree.parents_first().filter(|entry| !there.contains(&entry.id)) {
        lines.extend(line::of_entry(entry)?);
    }
    Ok(lines)
}
