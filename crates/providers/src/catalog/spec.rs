//! `ModelSpec`: an entry of the catalog.

use haft_core::model::{ModelFacts, ThinkingLevel, TokenPrices};
use serde::Deserialize;

/// An entry of the catalog.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModelSpec {
    name: String,
    /// The tokens of a request and its answer together.
    window: Option<u64>,
    /// The tokens of the longest answer.
    output: Option<u64>,
    #[serde(default)]
    pub(crate) images: bool,
    /// True if the model can call tools.
    #[serde(default)]
    pub(crate) tools: bool,
    #[serde(default)]
    pub(crate) deprecated: bool,
    prices: Option<CatalogPrices>,
    /// `None` if the model cannot think.
    pub(crate) thinking: Option<ThinkingSupport>,
    /// Facts that haft adds.
    #[serde(default)]
    pub(crate) notes: ModelNotes,
}

/// Prices in US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct CatalogPrices {
    input: f64,
    output: f64,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
}

/// The thinking options of a model. Without levels and budget, they are not known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ThinkingSupport {
    /// The levels, by their names in the API.
    #[serde(default)]
    levels: Vec<String>,
    /// The smallest and the largest number of tokens.
    pub(crate) budget: Option<(u32, u32)>,
    /// True if thinking can be turned off.
    #[serde(default)]
    pub(crate) off: bool,
}

/// Facts that models.dev does not have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ModelNotes {
    /// When the model accepts a temperature.
    pub(crate) sampling: Option<SamplingRule>,
    /// The level of a request without one.
    pub(crate) default_effort: Option<String>,
    /// Anthropic: a level needs `thinking: {"type": "adaptive"}`.
    pub(crate) adaptive_thinking: bool,
    /// Anthropic: the `thinking.type` that turns thinking off, where it is not `disabled`.
    pub(crate) thinking_off: Option<String>,
    /// Anthropic: a thinking block is valid only with the tools and the system prompt that it was made with.
    pub(crate) binds_thinking: bool,
    /// Chat Completions: the field in which the model needs its earlier thinking.
    pub(crate) reasoning_field: Option<String>,
    /// OpenAI Chat Completions: the model accepts tools only without thinking.
    pub(crate) chat_tools_need_thinking_off: bool,
    /// OpenAI: the prompt cache has other options than for older models.
    pub(crate) prompt_cache_options: bool,
}

/// When a model accepts a temperature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SamplingRule {
    Any,
    ReasoningOff,
    Never,
}

impl ModelSpec {
    pub(super) fn parse(json: &str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }

    /// Returns the facts for the agent.
    pub(crate) fn to_facts(&self) -> ModelFacts {
        ModelFacts::default()
            .with_name(self.name.clone())
            .with_window(self.window)
            .with_max_output(self.output)
            .with_thinking(self.thinking_levels())
            .with_images(self.images)
            .with_prices(self.prices.map(|prices| {
                TokenPrices::new(prices.input, prices.output)
                    .with_cache_read(prices.cache_read)
                    .with_cache_write(prices.cache_write)
            }))
    }

    /// True if the model can think, and its thinking can be turned off.
    pub(crate) fn can_disable_thinking(&self) -> bool {
        self.thinking.as_ref().is_some_and(|thinking| thinking.off)
    }

    /// Returns the thinking levels; [`None`] if the model thinks but its levels are unknown.
    pub(crate) fn thinking_levels(&self) -> Option<Vec<ThinkingLevel>> {
        let Some(thinking) = &self.thinking else { return Some(vec![ThinkingLevel::Off]) };
        let levels = ThinkingLevel::ALL.iter().copied().filter(|level| thinking.supports_level(*level));
        let levels: Vec<ThinkingLevel> = levels.collect();
        levels.iter().any(|level| *level > ThinkingLevel::Off).then_some(levels)
    }
}

impl ThinkingSupport {
    /// True if the model takes a number of tokens instead of a level.
    pub(crate) fn counts_tokens(&self) -> bool {
        self.levels.is_empty() && self.budget.is_some()
    }

    /// Returns the level's name in the API, if the model has the level. The highest level is `max` for models without
    /// `xhigh`.
    pub(crate) fn effort_name(&self, level: ThinkingLevel) -> Option<&'static str> {
        let has = |name: &str| self.levels.iter().any(|level| level == name);
        let name = match level {
            ThinkingLevel::Default | ThinkingLevel::Off => return None,
            ThinkingLevel::XHigh if !has("xhigh") => "max",
            ThinkingLevel::Minimal
            | ThinkingLevel::Low
            | ThinkingLevel::Medium
            | ThinkingLevel::High
            | ThinkingLevel::XHigh => level.name(),
        };
        has(name).then_some(name)
    }

    fn supports_level(&self, level: ThinkingLevel) -> bool {
        match level {
            ThinkingLevel::Default => false,
            ThinkingLevel::Off => self.off,
            ThinkingLevel::Minimal
            | ThinkingLevel::Low
            | ThinkingLevel::Medium
            | ThinkingLevel::High
            | ThinkingLevel::XHigh => self.counts_tokens() || self.effort_name(level).is_some(),
        }
    }
}
