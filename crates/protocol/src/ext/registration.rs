//! `register_command`, `register_tool`, `subscribe`: what an extension has to offer. May come at any time.

use serde::{Deserialize, Serialize};

use super::subscription::Subscription;
use crate::json::RawJson;
use crate::read::null_is_default;

/// A command for the user: `/name`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RegisterCommand {
    /// Without the slash. `[A-Za-z0-9_-]`, at most 64 characters.
    #[serde(deserialize_with = "crate::ids::printable")]
    pub name: String,
    /// One line for `/help` and completion.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// True if the extension completes what follows it: then it is asked `command_completions`. Since haft.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "std::ops::Not::not")]
    pub completes: bool,
}

/// A tool for the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RegisterTool {
    /// `[A-Za-z][A-Za-z0-9_-]*`, at most 64 characters. A built-in tool of the same name wins.
    #[serde(deserialize_with = "crate::ids::printable")]
    pub name: String,
    /// The description for the model; at most 4 KiB.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// JSON Schema of the arguments: an object schema, at most 64 KiB. Absent means "no arguments".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<RawJson>,
    /// Advice for the system prompt; each line should name the tool.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub guidelines: Vec<String>,
}

/// Something was not registered, because the user did not grant it. All else of the extension works. Sent only to
/// extensions that announce the capability `register_rejected`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RegisterRejected {
    /// The kind of the registration: `tool`, `event` or `intercept`.
    pub what: String,
    /// Its name: the tool's, or that of the event.
    pub name: String,
    /// The permission that would allow it, by its place below `permissions` in the manifest: `tools.register`, `events` or
    /// `intercept`.
    pub permission: String,
    /// Why, for people.
    pub reason: String,
}

/// Which events to watch and which to intercept. Adds to what was subscribed before.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Subscribe {
    /// `session_start`, `turn_start`, `turn_end`, `tool_call`, `assistant_message`,
    /// `compaction_start`, `compaction_end`; others are kept for later hosts.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Subscription>,
    /// `tool_call`, `turn_start`, `assistant_message`, `before_agent_start`, `before_compact`; others are reported and ignored.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub intercept: Vec<Subscription>,
}
