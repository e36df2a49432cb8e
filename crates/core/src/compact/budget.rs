//! When the context is full, and how its room is shared out.

/// When the context is summed up, and how much of it is kept word for word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactSettings {
    /// Whether this happens without being asked for: when the reserve is reached, and when the provider says that a
    /// request is too long.
    pub auto: bool,
    /// Tokens of the model's window that are left for its answer. If nothing is said, 16,384 or 15 % of the window,
    /// whichever is less. Never more than half of the window.
    pub reserve: Option<u64>,
    /// Tokens at the end that are kept word for word. If nothing is said, 20,000, but no more than a third of what the
    /// system prompt and the tools leave of the window. Never more than half of that.
    pub keep: Option<u64>,
}

impl Default for CompactSettings {
    fn default() -> Self {
        Self { auto: true, reserve: None, keep: None }
    }
}

const RESERVE: u64 = 16_384;
const RESERVE_PERCENT: u64 = 15;
const KEEP: u64 = 20_000;

/// The most a summary may take, however large the window is.
const SUMMARY: u64 = 8_192;

/// What the question around the conversation takes.
const QUESTION: u64 = 1_000;

/// How the tokens of a window are shared out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Budget {
    /// From here on the context is full.
    pub(crate) full: u64,
    /// What is kept word for word.
    pub(crate) keep: u64,
    /// The most that a last step may take that alone is more than that.
    pub(crate) keep_at_most: u64,
    /// The most a summary may take.
    pub(crate) summary: u64,
    /// The most that the conversation may take in the request for a summary.
    pub(crate) conversation: u64,
}

impl CompactSettings {
    /// Shares out a window of which the system prompt and the tools take `fixed`.
    pub(crate) fn budget(&self, window: u64, fixed: u64) -> Budget {
        let usual = RESERVE.min(window.saturating_mul(RESERVE_PERCENT) / 100);
        let full = window - self.reserve.unwrap_or(usual).min(window / 2);
        let free = full.saturating_sub(fixed);
        let keep = self.keep.unwrap_or(KEEP.min(free / 3)).min(free / 2);
        let summary = SUMMARY.min(free / 6);
        let conversation = full.saturating_sub(2 * summary + QUESTION).max(full / 4);
        Budget { full, keep, keep_at_most: free / 2, summary, conversation }
    }
}
