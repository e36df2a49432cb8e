//! How much of a search is done at once.

/// The bytes that are looked at between two frames. A text of ASCII is read at some GB in a second, so that this takes a
/// quarter of the time of a frame.
const BYTES: usize = 8 << 20;

/// What may be done of a search until something else has its turn, in bytes that are only read.
#[derive(Debug)]
pub(super) struct Budget {
    left: usize,
    scanned: usize,
}

impl Budget {
    pub(super) fn new() -> Self {
        Self::of(BYTES)
    }

    pub(super) fn of(left: usize) -> Self {
        Self { left, scanned: 0 }
    }

    pub(super) fn left(&self) -> usize {
        self.left
    }

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

    /// How many bytes were read.
    pub(super) fn scanned(&self) -> usize {
        self.scanned
    }
}
