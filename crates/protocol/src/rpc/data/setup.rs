//! Replies to commands about model, thinking and tools.

use serde::{Deserialize, Serialize};

use crate::agent_state::ToolInfo;
use crate::thinking::ThinkingLevel;

/// The model for requests from the next step on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelData {
    /// The model's provider.
    pub provider: String,
    /// The model's id at the provider.
    pub model: String,
}

/// The available models.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelsData {
    /// The models, grouped by provider; the available ones first.
    pub models: Vec<ModelInfo>,
}

/// The known facts of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// The prices; absent if unknown. Since haft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<ModelPrices>,
    /// False if the provider's key or its server is missing; absent otherwise. Since haft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub available: Option<bool>,
}

impl ModelInfo {
    /// True unless the provider's key or its server is missing.
    pub fn is_available(&self) -> bool {
        self.available != Some(false)
    }
}

/// The prices of a model, in US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelPrices {
    /// Uncached input.
    pub input: f64,
    /// Output, including thinking.
    pub output: f64,
}

/// The thinking level from the next step on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThinkingData {
    /// The level in use: the nearest one that the model has.
    pub level: ThinkingLevel,
}

/// The tools.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolsData {
    /// The tools, in the order in which the model gets them.
    pub tools: Vec<ToolInfo>,
}

/// The tools for requests from the next step on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolsSet {
    /// The names of the offered tools, without unknown names.
    pub active: Vec<String>,
}
