//! The origin of a call: `meta` and `context` of every call.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use haft_protocol::RawJson;

/// The turn of a call. All fields are always present.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "PascalCase", default)]
pub struct TurnMeta {
    /// The id of the agent: `main`.
    #[serde(rename = "AgentID")]
    pub agent_id: String,
    /// The id of the turn, the same in all its calls and events.
    #[serde(rename = "TurnID")]
    pub turn_id: String,
    /// The parent turn; empty for a turn of the user.
    #[serde(rename = "ParentTurnID")]
    pub parent_turn_id: String,
    /// The id of the session.
    pub session_key: String,
    /// The number of the request to the model in the turn, from 1; 0 before the first.
    pub iteration: u32,
    /// The place in the turn, for example `turn.tool.before`.
    pub trace_path: String,
    /// The acting part: `runTurn`.
    pub source: String,
}

/// The context of a turn. Absent parts are unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TurnContext {
    /// The message that the turn answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inbound: Option<InboundMessage>,
    /// The route of the message to its agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub route: Option<AgentRoute>,
    /// The scope of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<SessionScope>,
}

/// The origin of a message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct InboundMessage {
    /// The channel: `cli`.
    pub channel: String,
    /// The account on the channel.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub account: String,
    /// The conversation on the channel: `direct`.
    pub chat_id: String,
    /// `direct`, `group` or `channel`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub chat_type: String,
    /// The thread of the conversation.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub topic_id: String,
    /// The server or workspace.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub space_id: String,
    /// The kind of that space.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub space_type: String,
    /// The sender's id.
    pub sender_id: String,
    /// The id of the message.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message_id: String,
    /// True if the agent was mentioned.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub mentioned: bool,
    /// The message that it replies to.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reply_to_message_id: String,
    /// The author of that message.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reply_to_sender_id: String,
    /// The handles for replies, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub reply_handles: BTreeMap<String, String>,
    /// Other data of the channel.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub raw: BTreeMap<String, String>,
}

/// The route of a message to its agent. PicoClaw's; haft has one agent and does not send it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "PascalCase", default)]
pub struct AgentRoute {
    /// The id of the agent.
    #[serde(rename = "AgentID")]
    pub agent_id: String,
    /// The channel.
    pub channel: String,
    /// The account on the channel.
    #[serde(rename = "AccountID")]
    pub account_id: String,
    /// The policy that separates sessions.
    pub session_policy: Option<RawJson>,
    /// The rule that matched.
    pub matched_by: String,
}

/// The scope of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SessionScope {
    /// The version of this format: 1.
    pub version: u32,
    /// The id of the agent.
    pub agent_id: String,
    /// The channel.
    pub channel: String,
    /// The account on the channel.
    pub account: String,
    /// The dimensions that separate sessions, in order.
    pub dimensions: Vec<String>,
    /// The value of each dimension.
    pub values: BTreeMap<String, String>,
}
