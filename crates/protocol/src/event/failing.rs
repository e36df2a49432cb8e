//! What fails, and why something is tried again.

use serde::{Deserialize, Serialize};

use crate::named_enum::named_enum;

named_enum! {
    /// Why a request is sent again.
    pub enum RetryReason {
        /// Too many requests.
        RateLimited = "rate_limited",
        /// The provider is overloaded, or failed.
        Unavailable = "unavailable",
        /// The connection could not be made, or broke.
        Connection = "connection",
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
