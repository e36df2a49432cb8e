//! A session behind its lock: entries, leaf, and where they are kept.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_protocol::defence::{Defence, is_up};
use haft_protocol::message::Time;

use super::SessionError;
use super::disk::Disk;
use super::entry::{Entry, EntryBody, Header, Origin};
use super::id::{EntryId, SessionId};
use super::log::{AppendError, Log, LogFile, behind_link};
use super::moving::Source;
use super::moving::{Moved, Moving};
use super::recover::{Recovered, Repair, recover};
use super::tree::Tree;
use super::{context, header, resume};

pub(super) struct State {
    pub(super) header: Header,
    tree: Tree,
    pub(super) leaf: Option<EntryId>,
    kept: Kept,
    pub(super) repairs: Vec<Repair>,
    /// The number of entries that were appended.
    given: u64,
    /// The number of them that are on the disk.
    safe: u64,
    /// Nobody holds the session any more, and its file is free for others.
    closed: bool,
    /// The name that it was last given, once that is known; an empty one if it has none.
    pub(super) name: Option<String>,
}

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
        /// Why the file is not written any more.
        broken: Option<Broken>,
        /// Everything that is in the file is in memory, too.
        known: bool,
    },
    ReadOnly {
        path: PathBuf,
    },
}

/// All of a session, to be read without its lock.
pub(super) struct Whole {
    pub(super) header: Header,
    pub(super) leaf: Option<EntryId>,
    pub(super) entries: Vec<Arc<Entry>>,
    pub(super) home: Home,
}

/// The place of the entries that are not in memory.
pub(super) enum Home {
    Memory,
    /// None yet: the file is still to be made.
    Unborn {
        disk: Arc<dyn Disk>,
        path: PathBuf,
    },
    File {
        disk: Arc<dyn Disk>,
        source: Source,
    },
    ReadOnly {
        path: PathBuf,
    },
}

/// A file that is not written any more. The next one will hold everything.
struct Broken {
    reason: String,
    /// There are entries in memory that are in no file yet.
    owed: bool,
    /// The leaf when it was given up: the last entry that it has, too.
    leaf: Option<EntryId>,
}

/// The work that brings everything that was appended to the disk.
pub(super) enum Work {
    Nothing,
    Sync { file: Arc<LogFile>, given: u64 },
    Move(Box<Moving>),
}

/// Where an entry went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    Handed,
    /// It is in memory, until there is another file.
    Owed,
}

impl State {
    /// One with entries that are in memory only, each behind the one that it follows.
    pub(super) fn with(mut self, entries: Vec<Arc<Entry>>) -> Self {
        self.leaf = entries.last().map(|entry| entry.id);
        self.tree = entries.into_iter().collect();
        self
    }

    fn new(header: Header, kept: Kept) -> Self {
        let (tree, repairs) = (Tree::default(), Vec::new());
        Self { header, tree, leaf: None, kept, repairs, given: 0, safe: 0, closed: false, name: None }
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
        let header = resume::header(log.disk_file().as_ref(), log.end).map_err(|error| io("read", error))?;
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
        let tree = entries.into_iter().map(Arc::new).collect();
        Self { tree, leaf, repairs, ..Self::new(header, kept) }
    }

    /// Adds an entry; says its name and where it went.
    pub(super) fn append(
        &mut self,
        mut body: EntryBody,
        time: Time,
    ) -> Result<(EntryId, Written), SessionError> {
        if let EntryBody::Compaction(compaction) = &mut body {
            compaction.settings = context(&self.branch()).settings;
        }
        let entry = Entry { id: EntryId::new(), parent: self.leaf, time, body };
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

    fn write(&mut self, entry: &Entry) -> Result<Written, SessionError> {
        match &mut self.kept {
            Kept::Memory => Ok(Written::Handed),
            Kept::ReadOnly { path } => Err(match self.header.newer() {
                Some(version) => SessionError::Newer { path: path.clone(), version },
                None => SessionError::ReadOnly { path: path.clone() },
            }),
            Kept::Unborn { .. } if !entry.body.is_content() => Ok(Written::Handed),
            Kept::Unborn { disk, path } => {
                let mut lines = self.header.to_line()?;
                for entry in self.tree.all().iter().map(Arc::as_ref).chain([entry]) {
                    lines.extend(entry.to_line()?);
                }
                // Made here, by who appends: there is no other place yet where the entry would outlive the program. Its
                // name and those of the directories that are made for it are synced with the first entry that somebody
                // waits for.
                let log = Log::create(Arc::clone(disk), path, &lines)
                    .map_err(|error| SessionError::io("make", path, error))?;
                self.kept = Kept::File { disk: Arc::clone(disk), log, broken: None, known: true };
                Ok(Written::Handed)
            }
            Kept::File { .. } => self.write_line(entry.to_line()?),
        }
    }

    /// Writes a line here and now, however long it is: that an entry is handed to the system when `append` returns, and
    /// behind the one before it, is what lets its caller go on without waiting.
    fn write_line(&mut self, mut line: Vec<u8>) -> Result<Written, SessionError> {
        let Kept::File { log, broken, .. } = &mut self.kept else { return Ok(Written::Handed) };
        if let Some(broken) = broken {
            broken.owed = true;
            return Ok(Written::Owed);
        }
        if log.end == 0 {
            // What was torn off was all there was.
            line.splice(..0, self.header.to_line()?);
        }
        match log.append(&line) {
            Ok(()) => Ok(Written::Handed),
            Err(AppendError::Io(error)) => Err(SessionError::io("write", &log.path, error)),
            Err(AppendError::Lost(reason)) => {
                *broken = Some(Broken { reason: reason.to_owned(), owed: true, leaf: self.leaf });
                Ok(Written::Owed)
            }
        }
    }

    /// Returns the work that brings everything that was appended to the disk. A file whose sync failed is never synced
    /// again: the session goes on in a new one, and when that fails it is tried again the next time.
    pub(super) fn work(&self) -> Result<Work, SessionError> {
        let Kept::File { disk, log, broken, known } = &self.kept else { return Ok(Work::Nothing) };
        let Some(Broken { reason, owed, leaf }) = broken else {
            return Ok(Work::Sync { file: Arc::clone(&log.file), given: self.given });
        };
        if self.closed && !owed {
            return Err(SessionError::Unknown);
        }
        let forked_from = Some(Origin { session: self.header.id, entry: *leaf });
        Ok(Work::Move(Box::new(Moving {
            disk: Arc::clone(disk),
            source: source(log, *known),
            entries: self.tree.all().to_vec(),
            header: header(Path::new(&self.header.cwd), forked_from),
            reason: reason.clone(),
        })))
    }

    /// All of it, to be read without the lock.
    pub(super) fn whole(&self) -> Whole {
        let home = match &self.kept {
            Kept::Memory => Home::Memory,
            Kept::Unborn { disk, path } => Home::Unborn { disk: Arc::clone(disk), path: path.clone() },
            Kept::File { disk, log, known, .. } => {
                Home::File { disk: Arc::clone(disk), source: source(log, *known) }
            }
            Kept::ReadOnly { path } => Home::ReadOnly { path: path.clone() },
        };
        Whole { header: self.header.clone(), leaf: self.leaf, entries: self.tree.all().to_vec(), home }
    }

    /// A sync of `file` has ended. Says whether everything that was `given` before it is on the disk: it is not when the
    /// sync failed, or when the file turned out meanwhile not to be the session's any more.
    pub(super) fn synced(&mut self, file: &Arc<LogFile>, given: u64, outcome: io::Result<()>) -> bool {
        let Kept::File { log, broken, .. } = &mut self.kept else { return true };
        if let (Err(error), None) = (&outcome, &broken)
            && Arc::ptr_eq(&log.file, file)
        {
            *broken = Some(Broken { reason: error.to_string(), owed: false, leaf: self.leaf });
        }
        let sound = broken.is_none();
        if sound {
            self.safe = self.safe.max(given);
        }
        sound
    }

    pub(super) fn moved(&mut self, mut moved: Moved) -> Result<(), SessionError> {
        // Nearly always there is nothing to add: whoever appends while a session moves waits for that.
        if let Err(error) = moved.add(self.tree.all()) {
            moved.discard();
            return Err(error);
        }
        let Moved { log, header, repair, .. } = moved;
        if let Kept::File { log: old, broken, .. } = &mut self.kept {
            (*old, *broken) = (log, None);
        }
        self.header = header;
        self.repairs.push(repair);
        Ok(())
    }

    pub(super) fn is_safe(&self) -> bool {
        match &self.kept {
            Kept::File { broken, .. } => broken.is_none() && self.safe == self.given,
            Kept::Memory | Kept::Unborn { .. } | Kept::ReadOnly { .. } => true,
        }
    }

    /// Lets others have the file. What is left to do is to sync it.
    pub(super) fn close(&mut self) {
        self.closed = true;
        if let Kept::File { log, .. } = &self.kept {
            log.disk_file().unlock();
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

    pub(super) fn path(&self) -> Option<&Path> {
        match &self.kept {
            Kept::Memory => None,
            Kept::File { log, .. } => Some(&log.path),
            Kept::Unborn { path, .. } | Kept::ReadOnly { path } => Some(path),
        }
    }

    pub(super) fn is_read_only(&self) -> bool {
        matches!(self.kept, Kept::ReadOnly { .. })
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
        if matches!(self.kept, Kept::Memory) {
            self.tree = Tree::default();
        }
    }

    /// Reads a branch that is in the file only.
    fn load(&mut self, leaf: EntryId) -> Result<(), SessionError> {
        let Kept::File { log, .. } = &self.kept else { return Err(SessionError::NoEntry(leaf)) };
        let io = |error| SessionError::io("read", &log.path, error);
        let entries = match resume::branch(log.disk_file().as_ref(), log.end, Some(leaf)).map_err(io)? {
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
}

fn source(log: &Log, known: bool) -> Source {
    Source { file: Arc::clone(log.disk_file()), end: log.end, path: log.path.clone(), known }
}

/// Reads the branch from the end of the file; all of it if something is not as it should be. Says whether every line is
/// known then.
fn quickly(log: &Log) -> io::Result<(Recovered, bool)> {
    let file = log.disk_file().as_ref();
    let header = resume::header(file, log.end)?.filter(|header| header.newer().is_none());
    if let Some(header) = header
        && is_up(Defence::SessionTail)
        && let Some(entries) = resume::branch(file, log.end, None)?
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
