//! Reads a session file despite damage: converts bytes to entries, without I/O.
//!
//! Three kinds of damage are handled. The last line is incomplete because the machine or the program stopped while
//! writing. A line in the middle is damaged. The parent of an entry is missing. No other entry is lost: the incomplete
//! line is ignored, the damaged line is skipped, and an entry without its parent follows the entry before it.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;

use memchr::memmem;

use super::entry::{FORMAT_VERSION, SessionEntry, SessionHeader};
use super::id::{EntryId, SessionId};
use super::line;
use crate::limits::{MAX_DAMAGED, MAX_REPAIRS};

/// The content of a session file.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RecoveredSession {
    /// The first line; `None` if it is damaged or missing.
    pub header: Option<SessionHeader>,
    /// The entries in the order of their lines. Each parent comes before its children.
    pub entries: Vec<SessionEntry>,
    /// The repairs.
    pub repairs: Vec<SessionRepair>,
    /// The number of bytes up to the last newline; the rest is an incomplete line.
    pub whole: usize,
}

/// A repair of a session's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionRepair {
    /// The last line was incomplete and was cut off.
    TornTail {
        /// The number of bytes.
        bytes: u64,
        /// The file with the cut-off bytes; `None` if the session was opened read-only.
        saved: Option<PathBuf>,
    },
    /// The file does not begin with a valid header.
    NoHeader {
        /// The error.
        reason: String,
    },
    /// A line was skipped. It stays in the file.
    BadLine {
        /// The line number, counted from 1.
        line: u64,
        /// The error.
        reason: String,
    },
    /// More lines were skipped, or more entries follow another one, than the repairs before list.
    Omitted {
        /// The number of these repairs.
        count: u64,
    },
    /// An entry whose parent is missing follows another one.
    Reattached {
        /// The entry.
        entry: EntryId,
        /// The new parent.
        to: Option<EntryId>,
    },
    /// The file has a newer format and is read-only.
    Newer {
        /// The format version.
        version: u32,
    },
    /// The last prompt has no answer, because the run ended before the answer was complete.
    Unanswered,
    /// The session continues in another file, which contains all entries.
    Moved {
        /// The previous file.
        from: PathBuf,
        /// The new file.
        to: PathBuf,
        /// The new id of the session.
        session: SessionId,
        /// The reason.
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
            Self::Omitted { count } => {
                write!(f, "{count} more lines were skipped or lost their parent entry")
            }
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
            Self::Unanswered => f.write_str("the last run ended before the model's answer was complete"),
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

/// Returns the part of an id that is shown to people.
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
                // The first line may be an entry.
                if line::read(line).is_ok() {
                    tree.add(number, line);
                }
            }
        }
    }
    let omitted = (tree.omitted > 0).then_some(SessionRepair::Omitted { count: tree.omitted });
    tree.repairs.extend(omitted);
    if !torn.is_empty() {
        tree.repairs.push(SessionRepair::TornTail { bytes: torn.len() as u64, saved: None });
    }
    RecoveredSession { header, entries: tree.entries, repairs: tree.repairs, whole }
}

/// The entries during recovery.
#[derive(Default)]
struct RecoveryTree<'a> {
    entries: Vec<SessionEntry>,
    known: HashMap<EntryId, usize>,
    /// The first damaged lines, and the last one, each with the number of entries before it.
    damaged: Vec<(&'a [u8], usize)>,
    repairs: Vec<SessionRepair>,
    /// The number of repairs that are not listed.
    omitted: u64,
}

impl<'a> RecoveryTree<'a> {
    fn add(&mut self, number: u64, line: &'a [u8]) {
        let (mut entry, unread) = match line::read(line) {
            Ok(reading) => (reading.entry, reading.unread),
            Err(reason) => {
                self.damaged.truncate(MAX_DAMAGED);
                self.damaged.push((line, self.entries.len()));
                return self.add_repair(SessionRepair::BadLine { line: number, reason });
            }
        };
        if self.known.contains_key(&entry.id) {
            let reason = format!("duplicate entry id {}", entry.id);
            return self.add_repair(SessionRepair::BadLine { line: number, reason });
        }
        if let Some(reason) = unread {
            self.add_repair(SessionRepair::BadLine { line: number, reason });
        }
        if let Some(parent) = entry.parent.filter(|parent| !self.known.contains_key(parent)) {
            entry.parent = self.replacement_parent(parent);
            self.add_repair(SessionRepair::Reattached { entry: entry.id, to: entry.parent });
        }
        self.known.insert(entry.id, self.entries.len());
        self.entries.push(entry);
    }

    /// Lists a repair, or counts it if there are many.
    fn add_repair(&mut self, repair: SessionRepair) {
        if self.repairs.len() < MAX_REPAIRS {
            self.repairs.push(repair);
        } else {
            self.omitted += 1;
        }
    }

    /// Returns the replacement for a lost parent: the entry before the damaged line that contains the parent's id, or
    /// else before the last damaged line, or else before the orphan.
    fn replacement_parent(&self, parent: EntryId) -> Option<EntryId> {
        let id = format!("\"id\":\"{parent}\"");
        let holds = |line: &[u8]| memmem::find(line, id.as_bytes()).is_some();
        let lost = self.damaged.iter().find(|(line, _)| holds(line)).or(self.damaged.last());
        let before = lost.map_or(self.entries.len(), |(_, before)| *before);
        before.checked_sub(1).and_then(|at| self.entries.get(at)).map(|entry| entry.id)
    }
}
