//! Where a match is looked for, and how much of that is done at once.

use std::ops::Range;

use super::super::document::RowPosition;
use super::super::item::TranscriptItem;

/// The bytes that are looked at between two frames. A text of ASCII is read at some GB in a second, so that this takes a
/// quarter of the time of a frame.
const BYTES: usize = 8 << 20;

/// The cost of passing an item that is known not to match.
pub(super) const PASSED: usize = 16;

/// The cost of coming to an item that is read, beside each byte of it: most are short.
pub(super) const READ: usize = 256;

/// The cost of laying an item out and looking at its rows.
const LAID_OUT: usize = 32 << 10;

const LAID_OUT_BYTE: usize = 16;

/// The items among which a match is looked for, and that have not been looked at.
#[derive(Debug, Default)]
pub(super) struct ScanRange {
    /// First upwards, from the last one on.
    up: Range<usize>,
    /// Then downwards.
    down: Range<usize>,
    /// The place that bounds the way up.
    upto: Option<RowPosition>,
    all: usize,
}

impl ScanRange {
    /// Upwards from the item before one.
    pub(super) fn upward_from(end: usize) -> Self {
        Self { up: 0..end, all: end, ..Self::default() }
    }

    pub(super) fn downward_from(from: usize, items: usize) -> Self {
        let down = from..items;
        Self { all: down.len(), down, ..Self::default() }
    }

    pub(super) fn around(at: RowPosition, items: usize) -> Self {
        let (up, down) = (0..at.item + 1, at.item..items);
        Self { all: up.len() + down.len(), up, down, upto: Some(at) }
    }

    /// True if it goes upwards.
    pub(super) fn is_older(&self) -> bool {
        !self.up.is_empty()
    }

    pub(super) fn next(&mut self) -> Option<(usize, Option<RowPosition>)> {
        let above = self.up.next_back().map(|item| (item, self.upto.filter(|upto| upto.item == item)));
        above.or_else(|| Some((self.down.next()?, None)))
    }

    /// Returns the part that is done, in hundredths.
    pub(super) fn percent_done(&self) -> u8 {
        let left = self.up.len() + self.down.len();
        let done = self.all.saturating_sub(left).saturating_mul(100) / self.all.max(1);
        u8::try_from(done.min(99)).unwrap_or(99)
    }
}

/// The work that a search may do until something else has its turn, in bytes that are only read.
#[derive(Debug)]
pub(super) struct SearchBudget {
    left: usize,
    pub(super) scanned: usize,
}

impl Default for SearchBudget {
    fn default() -> Self {
        Self { left: BYTES, scanned: 0 }
    }
}

impl SearchBudget {
    pub(super) fn is_spent(&self) -> bool {
        self.left == 0
    }

    /// Something else than reading was done that takes as long as reading so many bytes.
    pub(super) fn spend(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(bytes);
    }

    /// So many bytes were read, each of which costs so much.
    pub(super) fn spend_reading(&mut self, bytes: usize, cost: usize) {
        self.scanned = self.scanned.saturating_add(bytes);
        self.spend(bytes.saturating_mul(cost));
    }

    pub(super) fn spend_layout(&mut self, item: &TranscriptItem) {
        self.spend(LAID_OUT);
        item.visit_texts(&mut |part| self.spend(part.len().saturating_mul(LAID_OUT_BYTE)));
    }
}
