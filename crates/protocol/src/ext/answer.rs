//! The error of an answer that does not fit its question.

/// A response that does not fit its question.
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
