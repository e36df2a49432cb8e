//! Replies to `get_state` and to messages for the agent.

use serde::{Deserialize, Serialize};

use crate::agent_state::{ContextData, QueueData};
use crate::message::TokenUsage;
use crate::thinking::ThinkingLevel;

/// The reply to a command that starts work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StartedData {
    /// Always `true`.
    pub started: bool,
}

/// The reply to a queued message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QueuedData {
    /// True if a prompt runs and gets the message; otherwise the message waits for the next prompt.
    pub running: bool,
    /// True if an extension handled the message, so that it is not queued.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub handled: bool,
}

/// The reply to `interrupt`: true if the agent was working.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InterruptData {
    /// True if a prompt was running.
    pub interrupted: bool,
}

/// The state of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StateData {
    /// The provider of the model.
    pub provider: String,
    /// The model's id at the provider.
    pub model: String,
    /// The absolute working directory.
    pub cwd: String,
    /// The number of messages in the conversation.
    pub message_count: u64,
    /// True if a prompt or a compaction runs.
    pub busy: bool,
    /// The usage since the session began.
    pub usage: TokenUsage,
    /// The id of the session. Since haft.
    pub session: String,
    /// The session file, which exists after the first message; absent if the session is not
    /// recorded. Since haft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The thinking level. Since haft.
    pub thinking: ThinkingLevel,
    /// The use of the context window. Since haft.
    pub context: ContextData,
    /// The number of waiting prompts. Since haft.
    pub prompts: u64,
    /// The queued messages. Since haft.
    pub queue: QueueData,
    /// The name of the session, if it has one. Since haft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}
