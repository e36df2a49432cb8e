//! Reads a session file, however damaged: bytes to entries, without any IO.
//!
//! Three things go wrong with a file. Its end is torn, because the machine or the program stopped in the middle of a
//! line. A line in the middle is damaged. An entry follows one that is not there any more. None of them costs another
//! entry: the torn end is left out, the damaged line is passed over, and what followed it follows the entry before it.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;

use memchr::memmem;

use super::entry::{FORMAT_VERSION, SessionEntry, SessionHeader};
use super::id::{EntryId, SessionId};
use super::line;

/// The content of a session file.
#[derive(Debug, Clone, PartialEq)]
pub struct RecoveredSession {
    /// The first line; none if that is damaged or missing.
    pub header: Option<SessionHeader>,
    /// The entries in the order of their lines. Each parent stands before its children.
    pub entries: Vec<SessionEntry>,
    /// The repairs.
    pub repairs: Vec<SessionRepair>,
    /// The bytes up to the last newline; what is behind them is torn.
    pub whole: usize,
}

/// Something that was wrong with a session's file, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionRepair {
    /// The end of the file was no whole line: it was cut off.
    TornTail {
        /// The number of bytes.
        bytes: u64,
        /// Where it was saved; none where the file was only read.
        saved: Option<PathBuf>,
    },
    /// The file does not begin with a header that can be read.
    NoHeader {
        /// The mistake.
        reason: String,
    },
    /// A line was passed over. It stays in the file.
    BadLine {
        /// Counted from 1.
        line: u64,
        /// The mistake.
        reason: String,
    },
    /// An entry whose parent is gone follows another one.
    Reattached {
        /// The entry.
        entry: EntryId,
        /// The entry that it follows now.
        to: Option<EntryId>,
    },
    /// The file is of a newer version of haft and can only be read.
    Newer {
        /// Its version.
        version: u32,
    },
    /// The session goes on in another file, which holds everything.
    Moved {
        /// The file that it was in.
        from: PathBuf,
        /// The file that it is in now.
        to: PathBuf,
        /// The session's name from now on.
        session: SessionId,
        /// Why.
        reason: String,
    },
}

impl fmt::Display for SessionRepair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TornTail { bytes, saved: Some(saved) } => {
                write!(f, "the last line was incomplete; its {bytes} bytes were moved to {}", saved.display())
            }
            Self::TornTail { bytes, saved: None } => {
                write!(f, "the last line is incomplete; its {bytes} bytes were ignored")
            }
            Self::NoHeader { reason } => write!(f, "cannot read the session header: {reason}"),
            Self::BadLine { line, reason } => write!(f, "line {line} was skipped: {reason}"),
            Self::Reattached { entry, to: Some(to) } => {
                write!(
                    f,
                    "entry {} lost its parent entry and now follows {}",
                    short_id(*entry),
                    short_id(*to)
                )
            }
            Self::Reattached { entry, to: None } => {
                write!(f, "entry {} lost its parent entry and now starts the session", short_id(*entry))
            }
            Self::Newer { version } => {
                write!(
                    f,
                    "the session is read-only: a newer version of haft wrote it (format {version}; this version supports {FORMAT_VERSION}); upgrade haft"
                )
            }
            Self::Moved { from, to, reason, .. } => {
                write!(
                    f,
                    "cannot write {} ({reason}); the session continues in {}",
                    from.display(),
                    to.display()
                )
            }
        }
    }
}

/// Enough of an id for people.
fn short_id(id: EntryId) -> String {
    id.to_string().chars().take(8).collect()
}

/// Reads a whole file.
pub fn recover(bytes: &[u8]) -> RecoveredSession {
    let whole = memchr::memrchr(b'\n', bytes).map_or(0, |at| at + 1);
    let (lines, torn) = bytes.split_at(whole);
    let mut tree = RecoveryTree::default();
    let mut header = None;
    let lines = lines.split(|byte| *byte == b'\n').take(memchr::memchr_iter(b'\n', lines).count());
    for (at, line) in lines.enumerate() {
        let number = at as u64 + 1;
        if number > 1 {
            tree.add(number, line);
            continue;
        }
        match line::read_header(line) {
            Ok(read) => {
                let newer = read.format_version > FORMAT_VERSION;
                tree.repairs.extend(newer.then_some(SessionRepair::Newer { version: read.format_version }));
                header = Some(read);
            }
            Err(reason) => {
                tree.repairs.push(SessionRepair::NoHeader { reason });
                // It may be an entry all the same.
                if line::read(line).is_ok() {
                    tree.add(number, line);
                }
            }
        }
    }
    if !torn.is_empty() {
        tree.repairs.push(SessionRepair::TornTail { bytes: torn.len() as u64, saved: None });
    }
    RecoveredSession { header, entries: tree.entries, repairs: tree.repairs, whole }
}

/// Entries as they are put together.
#[derive(Default)]
struct RecoveryTree<'a> {
    entries: Vec<SessionEntry>,
    known: HashMap<EntryId, usize>,
    /// Damaged lines, and how many entries came before each.
    damaged: Vec<(&'a [u8], usize)>,
    repairs: Vec<SessionRepair>,
}

impl<'a> RecoveryTree<'a> {
    fn add(&mut self, number: u64, line: &'a [u8]) {
        let (mut entry, unread) = match line::read(line) {
            Ok(reading) => (reading.entry, reading.unread),
            Err(reason) => {
                self.damaged.push((line, self.entries.len()));
                return self.repairs.push(SessionRepair::BadLine { line: number, reason });
            }
        };
        if self.known.contains_key(&entry.id) {
            let reason = format!("duplicate entry id {}", entry.id);
            return self.repairs.push(SessionRepair::BadLine { line: number, reason });
        }
        self.repairs.extend(unread.map(|reason| SessionRepair::BadLine { line: number, reason }));
        if let Some(parent) = entry.parent.filter(|parent| !self.known.contains_key(parent)) {
            entry.parent = self.replacement_parent(parent);
            self.repairs.push(SessionRepair::Reattached { entry: entry.id, to: entry.parent });
        }
        self.known.insert(entry.id, self.entries.len());
        self.entries.push(entry);
    }

    /// The entry before the line that a lost parent stood in: the damaged line that still holds its id, otherwise the
    /// last damaged one, otherwise where the orphan itself is.
    fn replacement_parent(&self, parent: EntryId) -> Option<EntryId> {
        let id = format!("\"id\":\"{parent}\"");
        let holds = |line: &[u8]| memmem::find(line, id.as_bytes()).is_some();
        let lost = self.damaged.iter().find(|(line, _)| holds(line)).or(self.damaged.last());
        let before = lost.map_or(self.entries.len(), |(_, before)| *before);
        before.checked_sub(1).and_then(|at| self.entries.get(at)).map(|entry| entry.id)
    }
}
