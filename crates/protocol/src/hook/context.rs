//! Where a call comes from: `meta` and `context` of every call.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::json::RawJson;

/// Which turn a call belongs to. All fields are always there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct TurnMeta {
    /// Which agent: `main`.
    #[serde(rename = "AgentID")]
    pub agent_id: String,
    /// Which turn; the same in every call and event of it.
    #[serde(rename = "TurnID")]
    pub turn_id: String,
    /// The turn that this one is a part of; empty for a turn of the user's.
    #[serde(rename = "ParentTurnID")]
    pub parent_turn_id: String,
    /// Which session.
    pub session_key: String,
    /// The call of the model within the turn, from 1; 0 before the first.
    pub iteration: u32,
    /// Where in the turn: see [`Kind::trace_path`](super::Kind::trace_path) and `TRACE_PATH` of each question.
    pub trace_path: String,
    /// The part that acts: `runTurn`.
    pub source: String,
}

/// The context of a turn. Absent parts are unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
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

/// Where a message came from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
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
    /// The author.
    pub sender_id: String,
    /// The message.
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
    /// The handles that replies need, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub reply_handles: BTreeMap<String, String>,
    /// Other data of the channel.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub raw: BTreeMap<String, String>,
}

/// The route of a message to its agent. PicoClaw's; haft has one agent and does not send it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct AgentRoute {
    /// Which agent.
    #[serde(rename = "AgentID")]
    pub agent_id: String,
    /// The channel.
    pub channel: String,
    /// The account on the channel.
    #[serde(rename = "AccountID")]
    pub account_id: String,
    /// The policy that keeps sessions apart.
    pub session_policy: Option<RawJson>,
    /// The rule that matched.
    pub matched_by: String,
}

/// The scope of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct SessionScope {
    /// The version of this form: 1.
    pub version: u32,
    /// Which agent.
    pub agent_id: String,
    /// The channel.
    pub channel: String,
    /// The account on the channel.
    pub account: String,
    /// The dimensions that keep sessions apart, in order.
    pub dimensions: Vec<String>,
    /// The value of each dimension.
    pub values: BTreeMap<String, String>,
}
