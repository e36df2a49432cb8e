//! Kinds of failure, and reasons for a retry.

use serde::{Deserialize, Serialize};

use crate::named_enum::named_enum;

named_enum! {
    /// The reason of a retry.
    pub enum RetryReason {
        /// Too many requests.
        RateLimited = "rate_limited",
        /// The provider is overloaded, or failed.
        Unavailable = "unavailable",
        /// The connection failed or broke.
        Connection = "connection",
    }
}

/// The part of a run that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ErrorStage {
    /// The model.
    Model,
    /// Saving the session.
    Session,
}
