//! `prompt`, `steer`, `follow_up`, `interrupt`, `take_queued`, `abort`: messages to the agent.

use serde::{Deserialize, Serialize};

use crate::content::Image;
use crate::read::null_is_default;

/// Sends a message to the model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PromptCommand {
    /// The text; can be empty if there are images. If it begins with `/` and the name of a command
    /// or template, haft runs that command, unless `plain` is true.
    pub message: String,
    /// Images for the model.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// True if the model gets the text unchanged, whatever it begins with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plain: Option<bool>,
}

/// Sends a message to an agent that works.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SteerCommand {
    /// The text.
    pub message: String,
    /// Images for the model.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
}

/// Queues a prompt for the end of the work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FollowUp {
    /// The text.
    pub message: String,
    /// Images for the model.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
}

/// Interrupts the agent in good order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InterruptCommand {
    /// The text for the last request to the model; absent: haft's default text.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub hint: String,
}

/// Returns the queued messages and removes them from the queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TakeQueued {}

/// Waits until the session is idle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitIdle {}

/// Stops the current work at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AbortCommand {
    /// True if haft cancels waiting prompts, too: each fails with `aborted` and never starts. Since
    /// haft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued: Option<bool>,
}
