//! `set_model`, `get_models`, `set_thinking`, `get_tools`, `set_tools`: what the agent works with.

use serde::{Deserialize, Serialize};

use crate::thinking::ThinkingLevel;

/// Another model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SetModel {
    /// The model's id at the provider of the moment, or `PROVIDER/MODEL`.
    #[serde(deserialize_with = "crate::ids::printable")]
    pub model: String,
}

/// The models that can be asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GetModels {}

/// Another level of thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SetThinking {
    /// The level. One that the model does not have becomes its nearest.
    pub level: ThinkingLevel,
}

/// The tools there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GetTools {}

/// Other tools.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SetTools {
    /// The names of those that are offered; absent or `null` for all there are. A name without a tool counts as soon as
    /// there is one.
    #[serde(default)]
    pub tools: Option<Vec<String>>,
}
