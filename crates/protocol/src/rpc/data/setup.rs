//! Replies to commands about model, thinking and tools.

use serde::{Deserialize, Serialize};

use crate::ids::ExtensionName;
use crate::json::RawJson;
use crate::thinking::ThinkingLevel;

/// The model for requests from the next step on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ModelData {
    /// The model's provider.
    pub provider: String,
    /// The model's id at the provider.
    pub model: String,
}

/// The available models.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ModelsData {
    /// The models, grouped by provider.
    pub models: Vec<ModelInfo>,
}

/// The known facts of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ModelInfo {
    /// The model's id at the provider.
    pub id: String,
    /// The model's provider.
    pub provider: String,
    /// The context window in tokens; 0 if unknown.
    pub context_window: u64,
    /// The output limit in tokens; 0 if unknown.
    pub max_output: u64,
    /// True if the model is known to support reasoning.
    pub reasoning: bool,
    /// The display name. Since haft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The supported thinking levels; absent if unknown. Since haft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<Vec<ThinkingLevel>>,
    /// True if the model accepts images; absent if unknown. Since haft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub images: Option<bool>,
}

/// The thinking level from the next step on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ThinkingData {
    /// The level in use: the nearest one that the model has.
    pub level: ThinkingLevel,
}

/// The tools.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ToolsData {
    /// The tools, in the order in which the model gets them.
    pub tools: Vec<ToolInfo>,
}

/// A tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ToolInfo {
    /// The tool's name.
    pub name: String,
    /// The description for the model.
    pub description: String,
    /// JSON Schema of the arguments.
    pub schema: RawJson,
    /// True if haft offers the tool to the model.
    pub active: bool,
    /// The extension that owns the tool; absent for haft's own tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extension: Option<ExtensionName>,
    /// The name of the tool for people; absent if the tool has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// The tools for requests from the next step on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ToolsSet {
    /// The names of the offered tools, without unknown names.
    pub active: Vec<String>,
}
