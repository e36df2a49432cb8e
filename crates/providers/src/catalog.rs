//! The catalog of known models.

use haft_core::model::{ModelFacts, ThinkingLevel, TokenPrices};
use rig_core::catalog::{Catalog, ModelSpec, ReasoningSupport};
use rig_core::completion::Effort;
use rig_core::providers::registry::ProviderId;

use crate::presets::{PRESETS, find_preset};

/// A model of the catalog.
#[derive(Debug, Clone, PartialEq)]
pub struct KnownModel {
    /// The provider, as a value of `--provider`.
    pub provider: &'static str,
    /// The model, as a value of `--model`.
    pub model: String,
    /// The facts of the model.
    pub facts: ModelFacts,
    /// True if its provider plans to remove it.
    pub deprecated: bool,
}

/// Returns every known model that can call tools, by provider in the order of [`PRESETS`]. Local and compatible servers
/// list their own models and have none here; `openai-chat` has the models of `openai`.
pub fn model_catalog() -> Vec<KnownModel> {
    let own = PRESETS.iter().filter_map(|preset| {
        let vendor = preset.catalog?;
        let first = PRESETS.iter().find(|other| other.catalog == Some(vendor))?;
        (first.name == preset.name).then_some((preset, vendor))
    });
    own.flat_map(|(preset, vendor)| {
        let all = Catalog::builtin().iter();
        let models = all.filter(move |spec| spec.provider.vendor() == vendor && spec.tools);
        models.map(move |spec| known_model(preset.name, spec))
    })
    .collect()
}

/// Finds a provider's model. A dated snapshot is also found by its undated name.
pub fn find_model(provider: &str, model: &str) -> Option<KnownModel> {
    let preset = find_preset(provider)?;
    find_spec(provider, model).map(|spec| known_model(preset.name, spec))
}

/// Loads the catalog in advance, for programs with a free thread during startup. Loading takes milliseconds once per
/// process, and every request needs the catalog.
pub fn preload_catalog() {
    Catalog::builtin();
}

pub(crate) fn find_spec(provider: &str, model: &str) -> Option<&'static ModelSpec> {
    let vendor = ProviderId::catalog(find_preset(provider)?.catalog?)?;
    Catalog::builtin().find(vendor, model)
}

/// Returns the facts in the catalog; unknown facts for a model that is not in it.
pub(crate) fn model_facts(provider: &str, model: &str) -> ModelFacts {
    find_spec(provider, model).map(facts_from_spec).unwrap_or_default()
}

fn known_model(provider: &'static str, spec: &ModelSpec) -> KnownModel {
    KnownModel { provider, model: spec.id.clone(), facts: facts_from_spec(spec), deprecated: spec.deprecated }
}

fn facts_from_spec(spec: &ModelSpec) -> ModelFacts {
    ModelFacts {
        name: Some(spec.display_name.clone()),
        window: spec.context_window.map(u64::from),
        max_output: spec.max_output_tokens.map(u64::from),
        thinking: thinking_levels(&spec.reasoning),
        images: Some(spec.input.image),
        prices: spec.pricing.as_ref().map(|pricing| TokenPrices {
            input: pricing.input,
            output: pricing.output,
            cache_read: pricing.cache_read,
            cache_write: pricing.cache_write,
        }),
    }
}

/// Returns the thinking levels of a model; [`None`] if the model thinks but its levels are unknown.
fn thinking_levels(reasoning: &ReasoningSupport) -> Option<Vec<ThinkingLevel>> {
    if !reasoning.supported {
        return Some(vec![ThinkingLevel::Off]);
    }
    // A token budget can express any level.
    let counted = reasoning.levels.is_empty() && reasoning.budget.is_some();
    let takes = |level: &ThinkingLevel| match *level {
        ThinkingLevel::Default => false,
        ThinkingLevel::Off => reasoning.can_disable,
        ThinkingLevel::Minimal
        | ThinkingLevel::Low
        | ThinkingLevel::Medium
        | ThinkingLevel::High
        | ThinkingLevel::XHigh => counted || to_effort(&reasoning.levels, *level).is_some(),
    };
    let levels: Vec<ThinkingLevel> = ThinkingLevel::ALL.iter().copied().filter(takes).collect();
    (levels.iter().any(|level| *level > ThinkingLevel::Off)).then_some(levels)
}

/// Converts a level to the wire library's type, if the model supports it. The highest level is `max` for models without
/// `xhigh`.
pub(crate) fn to_effort(taken: &[Effort], level: ThinkingLevel) -> Option<Effort> {
    let effort = match level {
        ThinkingLevel::Default | ThinkingLevel::Off => return None,
        ThinkingLevel::Minimal => Effort::Minimal,
        ThinkingLevel::Low => Effort::Low,
        ThinkingLevel::Medium => Effort::Medium,
        ThinkingLevel::High => Effort::High,
        ThinkingLevel::XHigh if taken.contains(&Effort::XHigh) => Effort::XHigh,
        ThinkingLevel::XHigh => Effort::Max,
    };
    taken.contains(&effort).then_some(effort)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_models_that_call_tools() {
        let models = model_catalog();
        for provider in ["anthropic", "openai", "openrouter", "deepseek", "groq", "mistral"] {
            assert!(models.iter().any(|model| model.provider == provider), "none of {provider}");
        }
        assert!(models.iter().all(|model| !model.model.contains("whisper")));
        let haiku = models.iter().find(|model| model.model == "claude-haiku-4-5").unwrap();
        assert_eq!((haiku.facts.window, haiku.facts.images), (Some(200_000), Some(true)));
        let prices = haiku.facts.prices.unwrap();
        assert_eq!((prices.input, prices.output, prices.cache_read), (1.0, 5.0, Some(0.1)));
    }

    #[test]
    fn finds_dated_snapshots_and_the_chat_preset() {
        assert_eq!(find_model("anthropic", "claude-sonnet-4-6-20990101").unwrap().model, "claude-sonnet-4-6");
        assert_eq!(find_model("openai-chat", "gpt-4.1").unwrap().facts.window, Some(1_047_576));
        assert_eq!(find_model("ollama", "gpt-4.1"), None);
        assert_eq!(find_model("nobody", "gpt-4.1"), None);
    }

    #[track_caller]
    fn check(provider: &str, model: &str, expect: &str) {
        let levels = model_facts(provider, model).thinking.expect("known levels");
        let names: Vec<&str> = levels.into_iter().map(ThinkingLevel::name).collect();
        assert_eq!(names.join(" "), expect, "{model}");
    }

    #[test]
    fn knows_how_models_think() {
        check("openai", "gpt-4.1", "off");
        check("anthropic", "claude-haiku-4-5", "off minimal low medium high xhigh");
        check("anthropic", "claude-sonnet-4-6", "off low medium high xhigh");
        check("openai", "gpt-5", "minimal low medium high");
    }
}
