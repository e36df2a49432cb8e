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
    /// The places of entries that follow another one than the one before, and of those that they follow; by the first.
    others: Vec<(usize, usize)>,
    length: u64,
}

/// One entry. As small as it can be: most of what a long index costs beside the scan is memory that is new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    id: [u64; 2],
    /// Where the line begins, in the lower 55 bits; whether the entry follows the one before; what is its type.
    place: u64,
}

/// The bits of a place that are the offset.
const OFFSET: u64 = (1 << 55) - 1;

/// Set when the entry follows the one before.
const FOLLOWS: u64 = 1 << 55;

/// How far up the type is.
const KIND: u32 = 56;

/// The type of an entry that this build does not know.
const UNKNOWN: u8 = u8::MAX;

/// What a header has in place of a type. It gets no row.
const NO_ENTRY: u8 = UNKNOWN - 1;

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

    /// The entry that the one at this place follows: its place among the [rows](Self::rows).
    pub fn parent(&self, at: usize) -> Option<usize> {
        if self.rows.get(at)?.place & FOLLOWS != 0 {
            return at.checked_sub(1);
        }
        let other = self.others.binary_search_by_key(&at, |(child, _)| *child).ok()?;
        self.others.get(other).map(|(_, parent)| *parent)
    }

    /// Where the line behind a row ends, and the next one begins.
    pub(super) fn end(&self, at: usize) -> u64 {
        self.rows.get(at + 1).map_or(self.length, Row::offset)
    }
}

impl Row {
    fn new(id: EntryId, offset: u64, kind: u8, follows: bool) -> Self {
        let follows = if follows { FOLLOWS } else { 0 };
        Self { id: id.halves(), place: offset & OFFSET | follows | u64::from(kind) << KIND }
    }

    /// The entry.
    pub fn id(&self) -> EntryId {
        EntryId::from_halves(self.id)
    }

    /// Where its line begins.
    pub fn offset(&self) -> u64 {
        self.place & OFFSET
    }

    /// The entry's `type`; none for one that this build does not know.
    pub fn kind(&self) -> Option<&'static str> {
        EntryBody::KINDS.get((self.place >> KIND) as usize).copied()
    }
}

#[derive(Default)]
struct Scan {
    rows: Vec<Row>,
    /// The digits of the last id: what most entries follow.
    last: Option<[u8; DIGITS]>,
    /// How lines began up to their id, and the type that says. There are few types.
    heads: Vec<(Vec<u8>, u8)>,
    /// Rows whose parent is another one.
    others: Vec<(usize, EntryId)>,
}

/// More types than these are read anew each time.
const MOST_HEADS: usize = 16;

/// What is between an id and a parent that is an id, and behind that.
const BETWEEN: &[u8; 12] = br#"","parent":""#;
const BEHIND: &[u8; 2] = br#"","#;

/// What a line says that begins as it should.
#[derive(Clone, Copy)]
struct Begun<'a> {
    kind: u8,
    digits: &'a [u8; DIGITS],
    id: EntryId,
    parent: Parent,
    /// How long the part is that was read.
    length: usize,
}

#[derive(Clone, Copy)]
enum Parent {
    None,
    /// The entry before.
    Last,
    /// To be looked up.
    Other(EntryId),
}

impl Scan {
    /// Takes the whole lines of `bytes`, which stand at `at` of the file, and says how much that was. Up to `known` there
    /// is no newline.
    fn lines(&mut self, bytes: &[u8], known: usize, at: u64) -> usize {
        let (mut begin, mut known) = (0, known);
        loop {
            let rest = bytes.get(begin..).unwrap_or_default();
            let begun = self.usual(rest).or_else(|| self.begun(rest));
            // No newline is in what was read: it need not be searched there.
            let from = known.max(begin + begun.map_or(0, |begun| begun.length));
            let Some(end) = memchr::memchr(b'\n', bytes.get(from..).unwrap_or_default()) else {
                return begin;
            };
            match begun {
                Some(begun) => self.push(begun, at + begin as u64),
                None => self.odd(bytes.get(begin..from + end).unwrap_or_default(), at + begin as u64),
            }
            begin = from + end + 1;
            known = begin;
        }
    }

    /// A line of a type that was met before, whose entry follows the one before: nearly all are.
    fn usual<'a>(&self, line: &'a [u8]) -> Option<Begun<'a>> {
        const LENGTH: usize = DIGITS + BETWEEN.len() + DIGITS + BEHIND.len();
        let last = self.last.as_ref()?;
        let mut heads = self.heads.iter();
        let (kind, head, rest) =
            heads.find_map(|(head, kind)| Some((*kind, head.len(), line.strip_prefix(head.as_slice())?)))?;
        let (digits, rest) = rest.first_chunk::<LENGTH>()?.split_first_chunk()?;
        let (parent, behind) = rest.strip_prefix(BETWEEN)?.split_first_chunk::<DIGITS>()?;
        if parent != last || behind != BEHIND {
            return None;
        }
        let id = EntryId::from_digits(digits)?;
        Some(Begun { kind, digits, id, parent: Parent::Last, length: head + LENGTH })
    }

    /// Any line that begins as it should.
    fn begun<'a>(&mut self, line: &'a [u8]) -> Option<Begun<'a>> {
        let prefix = Prefix::read(line)?;
        let parent = match prefix.parent {
            None => Parent::None,
            Some(parent) if self.last.as_ref() == Some(parent) => Parent::Last,
            Some(parent) => Parent::Other(EntryId::from_digits(parent)?),
        };
        let id = EntryId::from_digits(prefix.id)?;
        let kind = if prefix.kind == HEADER.as_bytes() { NO_ENTRY } else { kind(prefix.kind) };
        let head = line.get(..prefix.head()).unwrap_or_default();
        let is_new = kind != NO_ENTRY && self.heads.iter().all(|(known, _)| known != head);
        if is_new && self.heads.len() < MOST_HEADS {
            self.heads.push((head.to_vec(), kind));
        }
        let length = line.len() - prefix.rest.len();
        Some(Begun { kind, digits: prefix.id, id, parent, length })
    }

    fn push(&mut self, begun: Begun<'_>, offset: u64) {
        if begun.kind == NO_ENTRY {
            return;
        }
        if let Parent::Other(parent) = begun.parent {
            self.others.push((self.rows.len(), parent));
        }
        self.last = Some(*begun.digits);
        self.rows.push(Row::new(begun.id, offset, begun.kind, matches!(begun.parent, Parent::Last)));
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
        self.rows.push(Row::new(head.id, offset, kind(head.kind.as_bytes()), false));
    }

    /// Looks up the parents that were not the entry before. One that is lost, or stands behind its child, is none.
    fn finish(self, length: u64) -> Index {
        let mut places: HashMap<EntryId, Option<usize>> =
            self.others.iter().map(|(_, id)| (*id, None)).collect();
        if !places.is_empty() {
            for (at, row) in self.rows.iter().enumerate() {
                if let Some(place @ None) = places.get_mut(&row.id()) {
                    *place = Some(at);
                }
            }
        }
        let others = self.others.into_iter().filter_map(|(child, parent)| {
            let place = places.get(&parent).copied().flatten().filter(|place| *place < child)?;
            Some((child, place))
        });
        Index { others: others.collect(), rows: self.rows, length }
    }
}

fn kind(kind: &[u8]) -> u8 {
    let at = EntryBody::KINDS.iter().position(|known| known.as_bytes() == kind);
    at.and_then(|at| u8::try_from(at).ok()).unwrap_or(UNKNOWN)
}
