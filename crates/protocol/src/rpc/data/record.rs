//! Replies to `append_entry` and `send_message`.

use serde::{Deserialize, Serialize};

/// An entry of the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AppendedData {
    /// The id of the entry.
    pub entry: String,
}

/// The reply to a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SentData {
    /// The entry of the message; absent if the message waits in a queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// True if a prompt runs and gets the message, or the agent begins to work on it.
    pub running: bool,
}
