//! The error for a response that does not fit its request.

use std::fmt;

/// A response that does not fit its request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerError {
    detail: String,
}

impl fmt::Display for AnswerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

impl std::error::Error for AnswerError {}

impl AnswerError {
    /// Creates an error with this detail.
    pub fn new(detail: impl Into<String>) -> Self {
        Self { detail: detail.into() }
    }

    pub(super) fn wrong_kind(expected: &str) -> Self {
        Self::new(format!("expected a {expected} frame"))
    }
}
