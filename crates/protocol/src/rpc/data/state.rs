//! Replies to `get_state` and to messages for the agent.

use serde::{Deserialize, Serialize};

use crate::message::TokenUsage;
use crate::thinking::ThinkingLevel;

/// Work has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct StartedData {
    /// Always `true`.
    pub started: bool,
}

/// A message waits for its place in the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct QueuedData {
    /// True if a prompt is worked on, which takes it; if not, it waits for the next one.
    pub running: bool,
}

/// The answer to an interrupt: true if there was something to interrupt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct InterruptData {
    /// True if a prompt was worked on.
    pub interrupted: bool,
}

/// The state of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct StateData {
    /// The provider of the model.
    pub provider: String,
    /// The model, as its provider calls it.
    pub model: String,
    /// The directory that is worked in, absolute.
    pub cwd: String,
    /// The number of messages the conversation has.
    pub message_count: u64,
    /// True if a prompt is worked on, or the conversation is being summed up.
    pub busy: bool,
    /// The usage since the session began.
    pub usage: TokenUsage,
    /// The session. Since haft.
    pub session: String,
    /// Its file, which is there as soon as something was said; absent when nothing is recorded. Since haft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The thinking level. Since haft.
    pub thinking: ThinkingLevel,
    /// The use of the model's window. Since haft.
    pub context: ContextData,
    /// The number of prompts that wait behind the one that is worked on. Since haft.
    pub prompts: u64,
    /// The messages that wait. Since haft.
    pub queue: QueueData,
    /// The session's name, if it has one. Since haft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// The use of the model's window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ContextData {
    /// Tokens of the conversation and all that is sent along with it.
    pub tokens: u64,
    /// The number of them that are estimated.
    pub estimated: u64,
    /// The number of tokens that the model can read and write in one request, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
}

/// Messages that wait, oldest first, as text. Images are told by a word.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct QueueData {
    /// For the end of the current tools.
    pub steering: Vec<String>,
    /// For the moment when the agent would stop.
    pub follow_up: Vec<String>,
    /// For the next prompt.
    pub next_turn: Vec<String>,
}
