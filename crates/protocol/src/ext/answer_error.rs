//! The error for a response that does not fit its request.

/// A response that does not fit its request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct AnswerError {
    detail: String,
}

impl AnswerError {
    /// Creates an error with this detail.
    pub fn new(detail: impl Into<String>) -> Self {
        Self { detail: detail.into() }
    }

    pub(super) fn wrong_kind(expected: &str) -> Self {
        Self::new(format!("expected a {expected} frame"))
    }
}
