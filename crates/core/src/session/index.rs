//! Where each entry of a file stands, and what it follows: one pass that looks at the beginning of every line only.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::entry::EntryBody;
use super::id::{DIGITS, EntryId};
use super::line::{HEADER, Head, Prefix};

/// How much is read at a time.
const CHUNK: usize = 256 * 1024;

/// The entries of a file by place. A line that is damaged has no row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Index {
    rows: Vec<Row>,
    length: u64,
}

/// One entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The entry.
    pub id: EntryId,
    /// Where its line begins.
    pub offset: u64,
    parent: u32,
    kind: u8,
}

/// What a root has in place of a parent.
const NO_PARENT: u32 = u32::MAX;

/// The type of an entry that this build does not know.
const UNKNOWN: u8 = u8::MAX;

impl Index {
    /// Reads a file. Blocks the thread.
    ///
    /// # Errors
    /// What the system says.
    pub fn of(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let mut scan = Scan::default();
        let (mut buffer, mut held, mut at) = (vec![0; CHUNK], 0, 0_u64);
        loop {
            let room = buffer.get_mut(held..).unwrap_or_default();
            let read = match file.read(room) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let filled = held + read;
            let used = scan.lines(buffer.get(..filled).unwrap_or_default(), held, at);
            buffer.copy_within(used..filled, 0);
            (held, at) = (filled - used, at + used as u64);
            if held == buffer.len() {
                buffer.resize(buffer.len() * 2, 0);
            }
        }
        Ok(scan.finish(at))
    }

    /// The entries, in the order of the file.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The entry that one follows: its place among the [rows](Self::rows).
    pub fn parent(&self, row: &Row) -> Option<usize> {
        (row.parent != NO_PARENT).then_some(row.parent as usize)
    }

    /// Where the line behind a row ends, and the next one begins.
    pub(super) fn end(&self, at: usize) -> u64 {
        self.rows.get(at + 1).map_or(self.length, |next| next.offset)
    }
}

impl Row {
    /// The entry's `type`; none for one that this build does not know.
    pub fn kind(&self) -> Option<&'static str> {
        EntryBody::KINDS.get(usize::from(self.kind)).copied()
    }
}

#[derive(Default)]
struct Scan {
    rows: Vec<Row>,
    /// The digits of the last id: what most entries follow.
    last: Option<[u8; DIGITS]>,
    /// Rows whose parent is another one.
    others: Vec<(usize, EntryId)>,
}

impl Scan {
    /// Takes the whole lines of `bytes`, which stand at `at` of the file, and says how much that was. Up to `known` there
    /// is no newline.
    fn lines(&mut self, bytes: &[u8], known: usize, at: u64) -> usize {
        let (mut begin, mut known) = (0, known);
        loop {
            let rest = bytes.get(begin..).unwrap_or_default();
            // No newline is in a prefix: it need not be searched there.
            let row = Prefix::read(rest).and_then(|prefix| self.row(prefix, at + begin as u64));
            let read = row.map_or(0, |(_, prefix, _)| rest.len() - prefix.rest.len());
            let from = known.max(begin + read);
            let Some(end) = memchr::memchr(b'\n', bytes.get(from..).unwrap_or_default()) else {
                return begin;
            };
            match row {
                Some((row, prefix, other)) => self.push(row, prefix, other),
                None => self.odd(bytes.get(begin..from + end).unwrap_or_default(), at + begin as u64),
            }
            begin = from + end + 1;
            known = begin;
        }
    }

    /// What a line says that begins as it should, and its parent if that is looked up later.
    fn row<'a>(&self, prefix: Prefix<'a>, offset: u64) -> Option<(Row, Prefix<'a>, Option<EntryId>)> {
        let (parent, other) = match prefix.parent {
            None => (NO_PARENT, None),
            Some(parent) if self.last.as_ref() == Some(parent) => (self.rows.len() as u32 - 1, None),
            Some(parent) => (NO_PARENT, Some(EntryId::from_digits(parent)?)),
        };
        let id = EntryId::from_digits(prefix.id)?;
        Some((Row { id, offset, parent, kind: kind(prefix.kind) }, prefix, other))
    }

    fn push(&mut self, row: Row, prefix: Prefix<'_>, other: Option<EntryId>) {
        if prefix.kind == HEADER.as_bytes() {
            return;
        }
        self.others.extend(other.map(|parent| (self.rows.len(), parent)));
        self.last = Some(*prefix.id);
        self.rows.push(row);
    }

    /// A line of somebody else, or a damaged one.
    #[cold]
    fn odd(&mut self, line: &[u8], offset: u64) {
        let Some(head) = std::str::from_utf8(line).ok().and_then(|line| Head::read(line).ok()) else {
            return;
        };
        if head.kind == HEADER {
            return;
        }
        self.others.extend(head.parent.map(|parent| (self.rows.len(), parent)));
        // Whoever follows it is looked up.
        self.last = None;
        let kind = kind(head.kind.as_bytes());
        self.rows.push(Row { id: head.id, offset, parent: NO_PARENT, kind });
    }

    /// Looks up the parents that were not the entry before. One that is lost, or stands behind its child, is none.
    fn finish(mut self, length: u64) -> Index {
        let mut places: HashMap<EntryId, Option<usize>> =
            self.others.iter().map(|(_, id)| (*id, None)).collect();
        if !places.is_empty() {
            for (at, row) in self.rows.iter().enumerate() {
                if let Some(place @ None) = places.get_mut(&row.id) {
                    *place = Some(at);
                }
            }
        }
        for (child, parent) in self.others {
            let place = places.get(&parent).copied().flatten().filter(|place| *place < child);
            if let (Some(row), Some(Ok(place))) = (self.rows.get_mut(child), place.map(u32::try_from)) {
                row.parent = place;
            }
        }
        Index { rows: self.rows, length }
    }
}

fn kind(kind: &[u8]) -> u8 {
    let at = EntryBody::KINDS.iter().position(|known| known.as_bytes() == kind);
    at.and_then(|at| u8::try_from(at).ok()).unwrap_or(UNKNOWN)
}
