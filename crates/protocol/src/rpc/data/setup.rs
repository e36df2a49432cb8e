//! Replies to commands about model, thinking and tools.

use serde::{Deserialize, Serialize};

use crate::ids::ExtensionName;
use crate::json::RawJson;
use crate::thinking::ThinkingLevel;

/// The model that is asked from the next step on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ModelData {
    /// Its provider.
    pub provider: String,
    /// The model, as its provider calls it.
    pub model: String,
}

/// The models that can be asked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ModelsData {
    /// The models, those of a provider together.
    pub models: Vec<ModelInfo>,
}

/// The known facts of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ModelInfo {
    /// The model, as its provider calls it.
    pub id: String,
    /// Its provider.
    pub provider: String,
    /// Tokens that it reads and writes in one request; 0 when not known.
    pub context_window: u64,
    /// Tokens that it writes in one answer at most; 0 when not known.
    pub max_output: u64,
    /// True if it thinks before it answers, as far as is known.
    pub reasoning: bool,
    /// Its name for people. Since haft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The levels that it can be told to think at; absent when not known. Since haft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<Vec<ThinkingLevel>>,
    /// True if it reads images; absent when not known. Since haft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub images: Option<bool>,
}

/// The thinking level from the next step on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ThinkingData {
    /// The level: the nearest to the wanted one that the model has.
    pub level: ThinkingLevel,
}

/// The tools there are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ToolsData {
    /// The tools, in the order that the model is shown them.
    pub tools: Vec<ToolInfo>,
}

/// A tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ToolInfo {
    /// Its name.
    pub name: String,
    /// The description for the model.
    pub description: String,
    /// JSON Schema of the arguments.
    pub schema: RawJson,
    /// True if the model is offered it.
    pub active: bool,
    /// The extension whose tool it is; absent for haft's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extension: Option<ExtensionName>,
}

/// The tools that are offered from the next step on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ToolsSet {
    /// Their names; a name without a tool is not among them.
    pub active: Vec<String>,
}
