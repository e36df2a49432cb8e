//! What is said about a key that answers nothing.

use std::time::Instant;

/// Why a key answers nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hint {
    /// It was typed when the question did not stand there for long enough, or too soon after another one.
    Early,
    Unknown,
}

impl Hint {
    /// As it is said before what the keys are.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Early => "too early, once more: ",
            Self::Unknown => "not that key: ",
        }
    }
}

/// The same, for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hinted {
    pub(super) hint: Hint,
    pub(super) until: Instant,
}
