//! `prompt`, `steer`, `follow_up`, `interrupt`, `take_queued`, `abort`: what is said to the agent.

use serde::{Deserialize, Serialize};

use crate::content::Image;
use crate::read::null_is_default;

/// A message for the model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PromptCommand {
    /// The text; may be empty beside images. One that begins with `/` and the name of a command or a template is run as
    /// that, if it is not `plain`.
    pub message: String,
    /// Images for the model.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// The model is told the text as it stands, whatever it begins with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plain: Option<bool>,
}

/// Something for the agent at work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SteerCommand {
    /// The text.
    pub message: String,
    /// Images for the model.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
}

/// Queues a prompt for the end of the work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FollowUp {
    /// The text.
    pub message: String,
    /// Images for the model.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
}

/// Comes to an end in good order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct InterruptCommand {
    /// The text for the last request to the model; without it, a text of haft.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub hint: String,
}

/// Takes back what waits for the agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TakeQueued {}

/// Stops at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AbortCommand {
    /// True if waiting prompts are cancelled, too: each is replied to with `aborted` and never begins. Since haft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued: Option<bool>,
}
