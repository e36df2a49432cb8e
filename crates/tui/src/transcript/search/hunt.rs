//! Where a match is looked for, and how much of that is done at once.

use std::ops::Range;

use super::super::document::Position;
use super::super::item::Item;

/// The bytes that are looked at between two frames. A text of ASCII is read at some GB in a second, so that this takes a
/// quarter of the time of a frame.
const BYTES: usize = 8 << 20;

/// What it costs to pass an item of which is known that it does not match.
pub(super) const PASSED: usize = 16;

/// What it costs to come to an item that is read, beside each byte of it: most are short.
pub(super) const READ: usize = 256;

/// What it costs to lay an item out and to look at its rows.
const LAID_OUT: usize = 32 << 10;

/// What each byte of that costs.
const LAID_OUT_BYTE: usize = 16;

/// The items among which a match is looked for.
#[derive(Debug)]
pub(super) struct Hunt {
    pub(super) older: bool,
    /// The items that have not been looked at.
    left: Range<usize>,
    /// What is behind this place does not count.
    pub(super) upto: Option<Position>,
    /// Where it goes on downwards when nothing is above.
    then_from: Option<usize>,
    looked_at: usize,
    all: usize,
}

impl Hunt {
    /// Upwards from the item before one.
    pub(super) fn above(end: usize) -> Self {
        Self { older: true, ..Self::below(0, end) }
    }

    pub(super) fn below(from: usize, items: usize) -> Self {
        let left = from..items;
        let all = left.len();
        Self { older: false, left, upto: None, then_from: None, looked_at: 0, all }
    }

    /// Upwards from a place, and then downwards from there.
    pub(super) fn around(at: Position, items: usize) -> Self {
        Self { upto: Some(at), then_from: Some(at.item), all: items + 1, ..Self::above(at.item + 1) }
    }

    /// Takes the item that is looked at next.
    pub(super) fn next(&mut self, items: usize) -> Option<usize> {
        if self.left.is_empty()
            && let Some(from) = self.then_from.take()
        {
            (self.older, self.left, self.upto) = (false, from..items, None);
        }
        self.looked_at += 1;
        if self.older { self.left.next_back() } else { self.left.next() }
    }

    /// How much of it is done, in hundredths.
    pub(super) fn done(&self) -> u8 {
        let done = self.looked_at.saturating_mul(100) / self.all.max(1);
        u8::try_from(done.min(99)).unwrap_or(99)
    }
}

/// What may be done of a search until something else has its turn, in bytes that are only read.
#[derive(Debug)]
pub(super) struct Budget {
    left: usize,
    pub(super) scanned: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { left: BYTES, scanned: 0 }
    }
}

impl Budget {
    pub(super) fn is_spent(&self) -> bool {
        self.left == 0
    }

    /// Something else than reading was done that takes as long as reading so many bytes.
    pub(super) fn take(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(bytes);
    }

    /// So many bytes were read, each of which costs so much.
    pub(super) fn scan(&mut self, bytes: usize, cost: usize) {
        self.scanned = self.scanned.saturating_add(bytes);
        self.take(bytes.saturating_mul(cost));
    }

    /// An item is laid out.
    pub(super) fn lay_out(&mut self, item: &Item) {
        self.take(LAID_OUT);
        item.parts(&mut |part| self.take(part.len().saturating_mul(LAID_OUT_BYTE)));
    }
}
