//! The log: the newest events, and for each watcher how far it has come. Pure.
//!
//! An event is kept until everybody has come past it, and what all have read is let go. When there is too much, the
//! oldest events go first. Each of those who have not read them keeps what it wants of them by itself, as much as the
//! limits promise, and loses its own oldest events beyond that: whoever is behind is judged by what waits for it.

mod place;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use haft_protocol::ext::Limits;

use crate::extension::fanout::filter::{Filter, kind};
use crate::extension::fanout::member::{Member, Word};
use crate::extension::fanout::segment::{Piece, Segment, Tail};
use crate::session::offers::Topic;
use place::{Place, Presence};

/// Bytes that are kept for all together, however many watchers are behind: what four full pipes hold.
const LOG: usize = 256 * 1024;

/// Bytes that a writer takes at once: a pipe full.
const BATCH: usize = 64 * 1024;

/// Names a watcher's place.
pub(super) type CursorId = u64;

/// As many events, and bytes, may wait for anybody.
#[derive(Debug, Clone, Copy)]
struct Promise {
    events: usize,
    bytes: usize,
}

/// What a writer has to write next.
#[derive(Debug, Default)]
pub(super) struct Read {
    /// Events that it lost before these.
    pub(super) lost: u64,
    pub(super) parts: VecDeque<Bytes>,
    /// In all parts.
    bytes: usize,
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
    /// Events that somebody began to tell and has not finished with.
    under_way: usize,
    idle: usize,
    /// Something came that the idle ones were not woken for.
    fresh: bool,
    /// The thread was woken and has not gone to sleep again.
    awake: bool,
    promise: Promise,
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
            under_way: 0,
            idle: 0,
            fresh: false,
            awake: false,
            promise: Promise { events: limits.queue_frames, bytes: limits.queue_bytes },
        }
    }

    /// An event is on its way: from here to its [`turn`](Self::turn), nobody's place changes.
    pub(super) fn begin(&mut self) {
        self.under_way += 1;
    }

    pub(super) fn is_wanted(&self, topic: Topic<'_>) -> bool {
        let kind = kind(topic.name);
        self.places.values().any(|place| place.watches() && place.filter.wants(kind, topic.tool))
    }

    /// Adds an event; none is one that cannot be sent. Who wanted that misses it, and is told so where it would have been.
    pub(super) fn append(&mut self, topic: Topic<'_>, line: Option<&str>) {
        match line {
            Some(line) => {
                if self.tail.is_full_for(line.len()) {
                    self.seal();
                }
                self.tail.push(topic, line);
            }
            None => {
                self.seal();
                self.hold(Segment::missing(topic, self.watchers()));
                let wants =
                    |place: &&Place| place.watches() && place.filter.wants(kind(topic.name), topic.tool);
                self.places.values().filter(wants).for_each(|place| place.member.say(Word::Lost(1)));
            }
        }
        self.fresh = true;
    }

    /// An event is over: whoever joins or leaves does so here, unless another one is still on its way. Says whether the
    /// thread has to be woken.
    pub(super) fn turn(&mut self) -> bool {
        self.under_way = self.under_way.saturating_sub(1);
        if self.under_way == 0 && std::mem::take(&mut self.turning) {
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
        self.places.insert(id, Place::new(filter, member));
        self.turning = true;
        id
    }

    pub(super) fn refilter(&mut self, id: CursorId, filter: Filter) {
        if let Some(place) = self.places.get_mut(&id) {
            place.filter = filter;
        }
    }

    pub(super) fn leave(&mut self, id: CursorId) {
        if let Some(place) = self.places.get_mut(&id).filter(|place| place.presence == Presence::Watching) {
            place.presence = Presence::Leaving;
            self.turning = true;
        }
    }

    /// Forgets a place. A second time is no harm.
    pub(super) fn remove(&mut self, id: CursorId) {
        let Some(place) = self.places.remove(&id) else { return };
        self.idle -= usize::from(place.idle);
        let unread = match place.presence {
            Presence::Joining => place.next..place.next,
            Presence::Watching | Presence::Leaving => place.next..self.end(),
            Presence::Until(end) => place.next..end,
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
        let limit = match place.presence {
            Presence::Joining => return Read::default(),
            Presence::Watching | Presence::Leaving => up_to.unwrap_or(u64::MAX),
            Presence::Until(end) => up_to.map_or(end, |up_to| up_to.min(end)),
        };
        if place.next == self.end() && limit > place.next {
            self.seal();
        }
        let Some(place) = self.places.get_mut(&id) else { return Read::default() };
        let mut read = place.begin(limit);
        while place.next < limit {
            let segment = at(self.first, place.next).and_then(|at| self.segments.get_mut(at));
            let taken = segment.and_then(|segment| Some((place.take(segment, &read)?, segment)));
            let Some((piece, segment)) = taken else { break };
            read.add(piece);
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

    /// How many get what is emitted now.
    fn watchers(&self) -> usize {
        self.places.values().filter(|place| place.watches()).count()
    }

    fn seal(&mut self) {
        if !self.tail.is_empty() {
            let segment = self.tail.seal(self.watchers());
            self.hold(segment);
        }
    }

    fn hold(&mut self, segment: Segment) {
        self.bytes += segment.len();
        self.segments.push_back(segment);
        self.release();
        while self.bytes > LOG && self.segments.len() > 1 {
            self.shed_oldest();
        }
    }

    fn shed_oldest(&mut self) {
        let Some(segment) = self.segments.pop_front() else { return };
        self.bytes -= segment.len();
        for place in self.places.values_mut().filter(|place| place.is_at(self.first)) {
            place.keep(&segment, self.promise);
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

impl Read {
    pub(super) fn is_empty(&self) -> bool {
        self.lost == 0 && self.parts.is_empty()
    }

    /// A read is a pipe full, or one segment of any length.
    fn may_have_room_for(&self, bytes: usize) -> bool {
        self.bytes == 0 || self.bytes + bytes <= BATCH
    }

    /// What is missing is told before everything else of a read, so after anything it waits for the next.
    fn has_room_for(&self, piece: &Piece) -> bool {
        let tells = piece.missing && piece.events > 0;
        if tells { self.parts.is_empty() } else { self.may_have_room_for(piece.bytes.len()) }
    }

    fn add(&mut self, piece: Piece) {
        if piece.missing {
            self.lost += piece.events as u64;
        } else if !piece.bytes.is_empty() {
            self.bytes += piece.bytes.len();
            self.parts.push_back(piece.bytes);
        }
    }
}

/// Where the segment of this number lies.
fn at(first: u64, number: u64) -> Option<usize> {
    usize::try_from(number.checked_sub(first)?).ok()
}

#[cfg(test)]
mod tests;
