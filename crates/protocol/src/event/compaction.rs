//! Compaction: its reasons.

use serde::{Deserialize, Serialize};

/// The reason of a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CompactReason {
    /// The user asked for it.
    Manual,
    /// The model's window is nearly full.
    Threshold,
    /// The provider refused a request as too long.
    Overflow,
}
