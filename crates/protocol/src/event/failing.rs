//! What fails, and why something is tried again.

use serde::{Deserialize, Serialize};

/// Why a request is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RetryReason {
    /// Too many requests.
    RateLimited,
    /// The provider is overloaded, or failed.
    Unavailable,
    /// The connection could not be made, or broke.
    Connection,
}

impl RetryReason {
    /// Its name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RateLimited => "rate_limited",
            Self::Unavailable => "unavailable",
            Self::Connection => "connection",
        }
    }
}

/// What failed when a run did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorStage {
    /// The model.
    Model,
    /// Keeping the session.
    Session,
}
