//! Events in a row, as they go out.

use bytes::{Bytes, BytesMut};

use crate::extension::fanout::filter::{Filter, Kinds, kind};
use crate::session::offers::Topic;

/// Memory is taken in pieces of this size, a quarter of a pipe: large enough that events share one, small enough that
/// little is held by the one watcher that is behind.
const CHUNK: usize = 16 * 1024;

/// One event in it.
#[derive(Debug)]
struct Mark {
    end: usize,
    kind: Kinds,
    tool: Option<Box<str>>,
}

/// What one that is missing counts for in a log's size, in bytes: about as much as telling of it takes.
const MISSING: usize = 64;

/// Events that nothing is added to any more.
#[derive(Debug)]
pub(super) struct Segment {
    /// None at all for an event that could not be sent.
    bytes: Bytes,
    marks: Vec<Mark>,
    kinds: Kinds,
    /// Watchers that have not come past it.
    pub(super) unread: usize,
}

/// What somebody wants of a segment.
#[derive(Debug)]
pub(super) struct Piece {
    /// The segment's place in the log.
    pub(super) number: u64,
    pub(super) bytes: Bytes,
    pub(super) events: usize,
    /// They could not be sent.
    pub(super) missing: bool,
}

impl Segment {
    /// In the place of an event that cannot be sent.
    pub(super) fn missing(topic: Topic<'_>, unread: usize) -> Self {
        let kind = kind(topic.name);
        let mark = Mark { end: 0, kind, tool: topic.tool.map(Box::from) };
        Self { bytes: Bytes::new(), marks: vec![mark], kinds: kind, unread }
    }

    pub(super) fn len(&self) -> usize {
        if self.is_missing() { MISSING } else { self.bytes.len() }
    }

    fn is_missing(&self) -> bool {
        self.bytes.is_empty()
    }

    /// What of it somebody wants.
    pub(super) fn piece(&self, number: u64, filter: &Filter) -> Piece {
        let (bytes, events) = (self.part(filter), self.count(filter));
        Piece { number, bytes, events, missing: self.is_missing() }
    }

    /// How many events of it somebody wants.
    fn count(&self, filter: &Filter) -> usize {
        if filter.wants_all(self.kinds) {
            return self.marks.len();
        }
        self.marks.iter().filter(|mark| mark.is_for(filter)).count()
    }

    /// What of it somebody wants. Whoever wants everything, as most do, shares it; others get a copy of their part.
    fn part(&self, filter: &Filter) -> Bytes {
        if filter.wants_all(self.kinds) {
            return self.bytes.clone();
        }
        let (mut part, mut start) = (BytesMut::new(), 0);
        for mark in &self.marks {
            if mark.is_for(filter) {
                part.extend_from_slice(self.bytes.get(start..mark.end).unwrap_or_default());
            }
            start = mark.end;
        }
        part.freeze()
    }
}

impl Mark {
    fn is_for(&self, filter: &Filter) -> bool {
        filter.wants(self.kind, self.tool.as_deref())
    }
}

/// Where events are added.
#[derive(Debug, Default)]
pub(super) struct Tail {
    bytes: BytesMut,
    marks: Vec<Mark>,
    kinds: Kinds,
}

impl Tail {
    /// Whether a line of this length begins another piece of memory.
    pub(super) fn is_full_for(&self, line: usize) -> bool {
        !self.bytes.is_empty() && self.bytes.capacity() - self.bytes.len() < line
    }

    pub(super) fn push(&mut self, topic: Topic<'_>, line: &str) {
        if self.bytes.capacity() - self.bytes.len() < line.len() {
            self.bytes = BytesMut::with_capacity(line.len().max(CHUNK));
        }
        self.bytes.extend_from_slice(line.as_bytes());
        let kind = kind(topic.name);
        self.kinds |= kind;
        self.marks.push(Mark { end: self.bytes.len(), kind, tool: topic.tool.map(Box::from) });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    /// Everything that was added since the last time; what memory is left stays for what comes.
    pub(super) fn seal(&mut self, unread: usize) -> Segment {
        let marks = std::mem::take(&mut self.marks);
        let kinds = std::mem::take(&mut self.kinds);
        Segment { bytes: self.bytes.split().freeze(), marks, kinds, unread }
    }
}
