//! How far one watcher has come, and what is kept for it alone.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{Promise, Read};
use crate::extension::fanout::filter::Filter;
use crate::extension::fanout::member::{Member, Word};
use crate::extension::fanout::segment::{Piece, Segment};

/// Whether it is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    /// At the end of the next event it begins.
    Joining,
    Watching,
    /// At the end of the next event it has seen the last one.
    Leaving,
    /// It reads to here and no further.
    Until(u64),
}

/// See the module.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) filter: Filter,
    pub(super) member: Arc<Member>,
    pub(super) presence: Presence,
    /// The segment that it reads next.
    pub(super) next: u64,
    /// It has read everything and waits.
    pub(super) idle: bool,
    kept: Kept,
    /// Events that were lost before all of these and that it has yet to be told of.
    lost: u64,
}

/// What it wants of segments that the log has let go of, oldest first.
#[derive(Debug, Default)]
struct Kept {
    pieces: VecDeque<Piece>,
    events: usize,
    bytes: usize,
}

impl Place {
    pub(super) fn new(filter: Filter, member: Arc<Member>) -> Self {
        let (presence, kept) = (Presence::Joining, Kept::default());
        Self { filter, member, presence, next: 0, idle: false, kept, lost: 0 }
    }

    /// Whether it gets what is emitted now.
    pub(super) fn watches(&self) -> bool {
        matches!(self.presence, Presence::Watching | Presence::Leaving)
    }

    /// Whether it has yet to read this segment, and no older one that the log holds.
    pub(super) fn is_at(&self, number: u64) -> bool {
        let reads = match self.presence {
            Presence::Joining => false,
            Presence::Watching | Presence::Leaving => true,
            Presence::Until(end) => number < end,
        };
        reads && self.next == number
    }

    /// An event is over, and the log ends here.
    pub(super) fn turn(&mut self, end: u64) {
        match self.presence {
            Presence::Joining => {
                (self.presence, self.next) = (Presence::Watching, end);
                self.member.say(Word::Joined);
            }
            Presence::Leaving => {
                self.presence = Presence::Until(end);
                self.member.say(Word::Left);
            }
            Presence::Watching | Presence::Until(_) => {}
        }
    }

    /// The log lets go of the segment that it would have read next. It loses its oldest events only where more than
    /// what it was promised waits for it.
    pub(super) fn keep(&mut self, segment: &Segment, promise: Promise) {
        let piece = segment.piece(self.next, &self.filter);
        self.next += 1;
        if piece.events == 0 || piece.missing && !self.member.knows_gaps {
            return;
        }
        self.kept.push(piece);
        while let Some(lost) = self.kept.surplus(promise) {
            if self.member.knows_gaps {
                self.lost += lost.events as u64;
            }
            // Of what was missing, it was told before.
            if !lost.missing {
                self.member.say(Word::Lost(lost.events as u64));
            }
        }
    }

    /// Begins a read: what was lost comes first, then what was kept, before a place in the log.
    pub(super) fn begin(&mut self, limit: u64) -> Read {
        let mut read = Read { lost: std::mem::take(&mut self.lost), ..Read::default() };
        while let Some(piece) = self.kept.next(|piece| piece.number < limit && read.has_room_for(piece)) {
            read.add(piece);
        }
        read
    }

    /// What it reads of a segment; nothing when that has to wait for the next read.
    pub(super) fn take(&self, segment: &Segment, read: &Read) -> Option<Piece> {
        if !self.kept.pieces.is_empty() || !read.may_have_room_for(segment.len()) {
            return None;
        }
        let mut piece = segment.piece(self.next, &self.filter);
        if piece.missing && !self.member.knows_gaps {
            piece.events = 0;
        }
        read.has_room_for(&piece).then_some(piece)
    }
}

impl Kept {
    fn push(&mut self, piece: Piece) {
        self.events += piece.events;
        self.bytes += piece.bytes.len();
        self.pieces.push_back(piece);
    }

    fn next(&mut self, wanted: impl FnMut(&Piece) -> bool) -> Option<Piece> {
        let mut wanted = wanted;
        let piece = self.pieces.pop_front_if(|piece| wanted(piece))?;
        self.events -= piece.events;
        self.bytes -= piece.bytes.len();
        Some(piece)
    }

    /// The oldest piece, if what was promised is there without it.
    fn surplus(&mut self, promise: Promise) -> Option<Piece> {
        let (events, bytes) = (self.events, self.bytes);
        self.next(|oldest| {
            events - oldest.events >= promise.events || bytes - oldest.bytes.len() >= promise.bytes
        })
    }
}
