//! Parts of an agent's state, for RPC clients and for mirrors of extensions.

use serde::{Deserialize, Serialize};

use crate::ids::ExtensionName;
use crate::json::RawJson;

/// The use of the context window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContextData {
    /// The tokens of the conversation and everything that is sent with it.
    pub tokens: u64,
    /// The estimated part of `tokens`.
    pub estimated: u64,
    /// The size of the context window in tokens, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
}

/// Queued messages, oldest first, as text. A word replaces each image.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QueueData {
    /// Messages for the next step of the current turn.
    pub steering: Vec<String>,
    /// Messages for the moment at which the agent would stop.
    pub follow_up: Vec<String>,
    /// Messages for the next prompt.
    pub next_turn: Vec<String>,
}

/// A tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolInfo {
    /// The tool's name.
    pub name: String,
    /// The description for the model.
    pub description: String,
    /// JSON Schema of the arguments.
    #[serde(deserialize_with = "crate::json::object")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::json::object_schema"))]
    pub schema: RawJson,
    /// True if haft offers the tool to the model.
    pub active: bool,
    /// The extension that owns the tool; absent for haft's own tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extension: Option<ExtensionName>,
    /// The name of the tool for people; absent if the tool has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}
