//! The log: the newest events, and for each watcher how far it has come. Pure.
//!
//! An event is kept until everybody has come past it, and what all have read is let go. When there is too much, the
//! oldest events go first, and those who have not read them lose them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use haft_protocol::ext::Limits;

use super::filter::{Filter, Topic};
use super::member::{Member, Word};
use super::segment::{Segment, Tail};

/// Bytes that are kept in all, however many watchers are behind: what four full pipes hold. More is kept only for one
/// that has fewer events before it than the limits promise.
const LOG: usize = 256 * 1024;

/// Bytes that a writer takes at once: a pipe full.
const BATCH: usize = 64 * 1024;

/// Names a watcher's place.
pub(super) type CursorId = u64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// At the end of the next event it begins.
    Joining,
    Watching,
    /// At the end of the next event it has seen the last one.
    Leaving,
    /// It reads to here and no further.
    Until(u64),
}

#[derive(Debug)]
struct Place {
    filter: Filter,
    member: Arc<Member>,
    stage: Stage,
    /// The segment that it reads next.
    next: u64,
    /// Events that were lost before that one and that it has yet to be told of.
    lost: u64,
    /// It has read everything and waits.
    idle: bool,
}

/// What a writer has to write next.
#[derive(Debug, Default)]
pub(super) struct Read {
    /// Events that it lost before these.
    pub(super) lost: u64,
    pub(super) parts: VecDeque<Bytes>,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Log {
    segments: VecDeque<Segment>,
    /// The number of the oldest one.
    first: u64,
    tail: Tail,
    /// In all segments.
    bytes: usize,
    places: BTreeMap<CursorId, Place>,
    next_id: CursorId,
    /// Somebody joins or leaves.
    turning: bool,
    idle: usize,
    /// Something came that the idle ones were not woken for.
    fresh: bool,
    /// The thread was woken and has not gone to sleep again.
    awake: bool,
    /// As many events, and bytes, may wait for anybody.
    promised: (usize, usize),
}

impl Log {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            segments: VecDeque::new(),
            first: 0,
            tail: Tail::default(),
            bytes: 0,
            places: BTreeMap::new(),
            next_id: 0,
            turning: false,
            idle: 0,
            fresh: false,
            awake: false,
            promised: (limits.queue_frames, limits.queue_bytes),
        }
    }

    /// Whether nobody watches, nor wants to.
    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    pub(super) fn is_wanted(&self, topic: Topic<'_>) -> bool {
        let kind = topic.kind();
        self.places.values().any(|place| place.watches() && place.filter.wants(kind, topic.tool))
    }

    /// Adds an event; none is one that cannot be sent.
    pub(super) fn append(&mut self, topic: Topic<'_>, line: Option<&str>) {
        let Some(line) = line else {
            let wants = |place: &&mut Place| place.watches() && place.filter.wants(topic.kind(), topic.tool);
            return self.places.values_mut().filter(wants).for_each(|place| place.lose(1));
        };
        if self.tail.is_full_for(line.len()) {
            self.seal();
        }
        self.tail.push(topic, line);
        self.fresh = true;
    }

    /// An event is over: whoever joins or leaves does so here. Says whether the thread has to be woken.
    pub(super) fn turn(&mut self) -> bool {
        if std::mem::take(&mut self.turning) {
            self.seal();
            let end = self.end();
            self.places.values_mut().for_each(|place| place.turn(end));
        }
        let wake = self.fresh && self.idle > 0 && !self.awake;
        self.awake |= wake;
        wake
    }

    /// Those who have nothing to do and may have now; none when nothing new has come.
    pub(super) fn idle(&mut self) -> Option<Vec<Arc<Member>>> {
        if !std::mem::take(&mut self.fresh) {
            self.awake = false;
            return None;
        }
        self.idle = 0;
        let woken = |place: &mut Place| std::mem::take(&mut place.idle).then(|| Arc::clone(&place.member));
        Some(self.places.values_mut().filter_map(woken).collect())
    }

    pub(super) fn join(&mut self, filter: Filter, member: Arc<Member>) -> CursorId {
        let id = self.next_id;
        self.next_id += 1;
        let stage = Stage::Joining;
        self.places.insert(id, Place { filter, member, stage, next: 0, lost: 0, idle: false });
        self.turning = true;
        id
    }

    pub(super) fn refilter(&mut self, id: CursorId, filter: Filter) {
        if let Some(place) = self.places.get_mut(&id) {
            place.filter = filter;
        }
    }

    pub(super) fn leave(&mut self, id: CursorId) {
        if let Some(place) = self.places.get_mut(&id).filter(|place| place.stage == Stage::Watching) {
            place.stage = Stage::Leaving;
            self.turning = true;
        }
    }

    /// Forgets a place. A second time is no harm.
    pub(super) fn remove(&mut self, id: CursorId) {
        let Some(place) = self.places.remove(&id) else { return };
        self.idle -= usize::from(place.idle);
        let unread = match place.stage {
            Stage::Joining => place.next..place.next,
            Stage::Watching | Stage::Leaving => place.next..self.end(),
            Stage::Until(end) => place.next..end,
        };
        for number in unread {
            if let Some(segment) = at(self.first, number).and_then(|at| self.segments.get_mut(at)) {
                segment.unread -= 1;
            }
        }
        self.release();
    }

    /// Where the log ends at this moment.
    pub(super) fn stamp(&mut self) -> u64 {
        self.seal();
        self.end()
    }

    /// What a watcher reads next, up to a place in the log if one is given. When there is nothing, it is idle.
    pub(super) fn read(&mut self, id: CursorId, up_to: Option<u64>) -> Read {
        let Some(place) = self.places.get(&id) else { return Read::default() };
        let limit = match place.stage {
            Stage::Joining => return Read::default(),
            Stage::Watching | Stage::Leaving => up_to.unwrap_or(u64::MAX),
            Stage::Until(end) => up_to.map_or(end, |up_to| up_to.min(end)),
        };
        if place.next == self.end() && limit > place.next {
            self.seal();
        }
        let Some(place) = self.places.get_mut(&id) else { return Read::default() };
        let mut read = Read { lost: std::mem::take(&mut place.lost), parts: VecDeque::new() };
        let mut bytes = 0;
        while place.next < limit {
            let found = at(self.first, place.next).and_then(|at| self.segments.get_mut(at));
            let Some(segment) = found.filter(|segment| bytes == 0 || bytes + segment.len() <= BATCH) else {
                break;
            };
            let part = segment.part(&place.filter);
            bytes += part.len();
            read.parts.extend(Some(part).filter(|part| !part.is_empty()));
            segment.unread -= 1;
            place.next += 1;
        }
        if read.is_empty() && !std::mem::replace(&mut place.idle, true) {
            self.idle += 1;
        }
        self.release();
        read
    }

    /// Behind the newest segment.
    fn end(&self) -> u64 {
        self.first + self.segments.len() as u64
    }

    fn seal(&mut self) {
        let unread = self.places.values().filter(|place| place.watches()).count();
        let Some(segment) = self.tail.seal(unread) else { return };
        self.bytes += segment.len();
        self.segments.push_back(segment);
        self.release();
        while self.bytes > LOG && self.segments.len() > 1 && !self.is_promised() {
            self.lose_oldest();
        }
    }

    /// Whether the oldest segment is still promised to somebody.
    fn is_promised(&self) -> bool {
        let (frames, bytes) = self.promised;
        let waiting = |place: &Place| -> usize {
            self.segments.iter().map(|segment| segment.count(&place.filter)).sum()
        };
        let mut behind = self.places.values().filter(|place| place.is_at(self.first));
        self.bytes <= bytes && behind.any(|place| waiting(place) <= frames)
    }

    fn lose_oldest(&mut self) {
        let Some(segment) = self.segments.pop_front() else { return };
        self.bytes -= segment.len();
        for place in self.places.values_mut().filter(|place| place.is_at(self.first)) {
            place.lose(segment.count(&place.filter) as u64);
            place.next += 1;
        }
        self.first += 1;
    }

    /// Lets go what all have read.
    fn release(&mut self) {
        while let Some(segment) = self.segments.pop_front_if(|segment| segment.unread == 0) {
            self.bytes -= segment.len();
            self.first += 1;
        }
    }
}

impl Place {
    /// Whether it gets what is emitted now.
    fn watches(&self) -> bool {
        matches!(self.stage, Stage::Watching | Stage::Leaving)
    }

    /// Whether it has yet to read this segment, and no older one.
    fn is_at(&self, number: u64) -> bool {
        let reads = match self.stage {
            Stage::Joining => false,
            Stage::Watching | Stage::Leaving => true,
            Stage::Until(end) => number < end,
        };
        reads && self.next == number
    }

    fn turn(&mut self, end: u64) {
        match self.stage {
            Stage::Joining => {
                (self.stage, self.next) = (Stage::Watching, end);
                self.member.say(Word::Joined);
            }
            Stage::Leaving => {
                self.stage = Stage::Until(end);
                self.member.say(Word::Left);
            }
            Stage::Watching | Stage::Until(_) => {}
        }
    }

    fn lose(&mut self, events: u64) {
        if events > 0 {
            if self.member.knows_gaps {
                self.lost += events;
            }
            self.member.say(Word::Lost(events));
        }
    }
}

impl Read {
    pub(super) fn is_empty(&self) -> bool {
        self.lost == 0 && self.parts.is_empty()
    }
}

/// Where the segment of this number lies.
fn at(first: u64, number: u64) -> Option<usize> {
    usize::try_from(number.checked_sub(first)?).ok()
}

#[cfg(test)]
mod tests;
