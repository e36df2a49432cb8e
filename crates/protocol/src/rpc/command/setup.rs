//! `set_model`, `get_models`, `set_thinking`, `get_tools`, `set_tools`: the model and the tools of
//! the agent.

use serde::{Deserialize, Serialize};

use crate::thinking::ThinkingLevel;

/// Selects another model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SetModel {
    /// The model's id at the current provider, or `PROVIDER/MODEL`.
    #[serde(deserialize_with = "crate::ids::printable")]
    pub model: String,
}

/// Lists the available models.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GetModels {
    /// True lists also the models of providers without a key or a server. Since haft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all: Option<bool>,
}

/// Sets the thinking level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SetThinking {
    /// The level. haft uses the nearest level that the model has.
    pub level: ThinkingLevel,
}

/// Lists the tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GetTools {}

/// Selects the tools.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SetTools {
    /// The names of the offered tools; absent or `null` for all. An unknown name takes effect when
    /// a tool with that name is registered.
    #[serde(default)]
    pub tools: Option<Vec<String>>,
}
