//! The range and the budget of a search step.

use std::ops::Range;

use super::super::document::RowPosition;
use super::super::item::TranscriptItem;

/// The bytes searched between two frames. ASCII text is read at some GB per second, so this takes a quarter of a
/// frame.
const BYTES: usize = 8 << 20;

/// The cost of skipping an item that is known not to match.
pub(super) const PASSED: usize = 16;

/// The cost of opening an item, in addition to each byte: most items are short.
pub(super) const READ: usize = 256;

/// The cost of laying out an item and searching its rows.
const LAID_OUT: usize = 32 << 10;

const LAID_OUT_BYTE: usize = 16;

/// The items that have not been searched yet.
#[derive(Debug, Default)]
pub(super) struct ScanRange {
    /// The upward part, searched first from its last item.
    up: Range<usize>,
    /// The downward part.
    down: Range<usize>,
    /// The end of the upward part.
    upto: Option<RowPosition>,
    all: usize,
}

impl ScanRange {
    /// Makes a range that goes up from the item before `end`.
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

    /// True if it goes up.
    pub(super) fn is_older(&self) -> bool {
        !self.up.is_empty()
    }

    pub(super) fn next(&mut self) -> Option<(usize, Option<RowPosition>)> {
        let above = self.up.next_back().map(|item| (item, self.upto.filter(|upto| upto.item == item)));
        above.or_else(|| Some((self.down.next()?, None)))
    }

    /// Returns the progress in percent.
    pub(super) fn percent_done(&self) -> u8 {
        let left = self.up.len() + self.down.len();
        let done = self.all.saturating_sub(left).saturating_mul(100) / self.all.max(1);
        u8::try_from(done.min(99)).unwrap_or(99)
    }
}

/// The remaining work of a search step, in bytes of plain reading.
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

    /// Spends the cost of other work, as a number of bytes.
    pub(super) fn spend(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(bytes);
    }

    /// Spends the cost of reading bytes.
    pub(super) fn spend_reading(&mut self, bytes: usize, cost: usize) {
        self.scanned = self.scanned.saturating_add(bytes);
        self.spend(bytes.saturating_mul(cost));
    }

    pub(super) fn spend_layout(&mut self, item: &TranscriptItem) {
        self.spend(LAID_OUT);
        item.visit_texts(&mut |part| self.spend(part.len().saturating_mul(LAID_OUT_BYTE)));
    }
}
