//! `register_command`, `register_tool`, `subscribe`: registrations of an extension, at any time.

use serde::{Deserialize, Serialize};

use super::subscription::Subscription;
use crate::json::RawJson;
use crate::read::null_is_default;

/// Registers a command for the user: `/name`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RegisterCommand {
    /// The name without the slash: `[A-Za-z0-9_-]`, at most 64 characters.
    #[serde(deserialize_with = "crate::ids::printable")]
    pub name: String,
    /// One line for `/help` and completion.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// True if the extension answers `command_completions` for this command. Since haft.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "std::ops::Not::not")]
    pub completes: bool,
}

/// Registers a tool for the model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RegisterTool {
    /// The name: `[A-Za-z][A-Za-z0-9_-]*`, at most 64 characters. A built-in tool of the same name
    /// wins, except with `replaces`.
    #[serde(deserialize_with = "crate::ids::printable")]
    pub name: String,
    /// The description for the model; at most 4 KiB.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// JSON Schema of the arguments: an object schema, at most 64 KiB. Absent means "no arguments".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<RawJson>,
    /// Lines for the system prompt; each should name the tool.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub guidelines: Vec<String>,
    /// A name for people, at most 64 characters. Clients show it in place of `name` from the start
    /// of a call on. This and all further fields need the capability `tools_2`; without it, the
    /// host treats them as unknown.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub label: String,
    /// One line for the list of tools in the system prompt. Absent means the first line of
    /// `description`.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub snippet: String,
    /// True if a call runs alone: earlier calls of the same message finish first, and later calls
    /// wait.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "std::ops::Not::not")]
    pub exclusive: bool,
    /// The time limit of a call in milliseconds, in place of `tool_call_ms`. 0 means no limit: the
    /// call then ends with its result, or when the user cancels it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// True if the tool replaces the built-in tool of the same name. The user must have granted
    /// the name in `permissions.tools.replace` of the manifest.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "std::ops::Not::not")]
    pub replaces: bool,
}

impl RegisterTool {
    /// The fields that need the capability `tools_2`.
    pub const TOOLS_2_FIELDS: &[&str] = &["label", "snippet", "exclusive", "timeout_ms", "replaces"];

    /// Returns the registration without the fields that need the capability `tools_2`.
    #[must_use]
    pub fn without_tools_2(self) -> Self {
        let Self { name, description, schema, guidelines, .. } = self;
        Self { name, description, schema, guidelines, ..Self::default() }
    }
}

/// A registration was rejected, because the user did not grant it. Other registrations are not
/// affected. Sent only to extensions with the capability `register_rejected`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RegisterRejected {
    /// The kind of the registration: `tool`, `event` or `intercept`.
    pub what: String,
    /// The name of the tool, event or hook.
    pub name: String,
    /// The permission that would allow it, as a key of `permissions` in the manifest:
    /// `tools.register`, `events` or `intercept`.
    pub permission: String,
    /// The reason, for people.
    pub reason: String,
}

/// Subscribes to events and hooks, in addition to earlier subscriptions or in their place.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Subscribe {
    /// True removes all earlier subscriptions first. Needs the capability `events_2`; ignored
    /// without it.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "std::ops::Not::not")]
    pub replace: bool,
    /// The events: `session_start`, `turn_start`, `turn_end`, `tool_call`, `assistant_message`,
    /// `compaction_start`, `compaction_end`; with the capability `events_2`, also the events of
    /// `--json`. The host accepts other names and never sends them.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Subscription>,
    /// The hooks: `tool_call`, `turn_start`, `assistant_message`, `before_agent_start`,
    /// `before_compact`, `tool_result`, `input`, `before_settle`, `context`, `message_end`, `before_provider_request`, `user_bash`,
    /// `before_switch`, `before_fork`, `before_tree`, `resources`, `approve`, `project_trust`; with the
    /// role `wait`, `session_start`, `session_shutdown`, `agent_start`, `agent_end`, `turn_end`,
    /// `message_start` and `tool_end`. The host reports and ignores other names.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub intercept: Vec<Subscription>,
}
