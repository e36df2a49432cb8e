//! What is known about models before anybody is asked.

use rig_core::catalog::{Catalog, ModelSpec};
use rig_core::providers::registry::ProviderId;

use crate::presets::{PRESETS, preset};

/// A model that `haft --list-models` shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownModel {
    /// The provider, as `--provider` takes it.
    pub provider: &'static str,
    /// The model, as `--model` takes it.
    pub model: String,
    /// A name for people.
    pub name: String,
    /// Tokens read and written in one request, where known.
    pub context_window: Option<u64>,
    /// Tokens written in one answer, where known.
    pub max_output: Option<u64>,
    /// Whether it can think before it answers.
    pub reasoning: bool,
    /// Whether it reads images.
    pub images: bool,
    /// Whether its provider will switch it off.
    pub deprecated: bool,
}

/// Every known model that can call tools, by provider in the order of [`PRESETS`]. Local and compatible servers know
/// their models themselves and have none here; `openai-chat` has those of `openai`.
pub fn catalogue() -> Vec<KnownModel> {
    let own = PRESETS.iter().filter(|preset| preset.catalogue == Some(preset.name));
    own.flat_map(|preset| {
        let all = Catalog::builtin().iter();
        let models = all.filter(move |spec| spec.provider.vendor() == preset.name && spec.tools);
        models.map(move |spec| known(preset.name, spec))
    })
    .collect()
}

/// What is known about a provider's model; a dated snapshot is found by its undated name.
pub fn find(provider: &str, model: &str) -> Option<KnownModel> {
    let preset = preset(provider)?;
    spec(provider, model).map(|spec| known(preset.name, spec))
}

/// Reads the catalogue, which takes milliseconds once in a process and which every request needs, for a program that has
/// a thread to spare while it prepares the first one.
pub fn preload() {
    Catalog::builtin();
}

/// The catalogue's own row.
pub(crate) fn spec(provider: &str, model: &str) -> Option<&'static ModelSpec> {
    let vendor = ProviderId::catalog(preset(provider)?.catalogue?)?;
    Catalog::builtin().find(vendor, model)
}

fn known(provider: &'static str, spec: &ModelSpec) -> KnownModel {
    KnownModel {
        provider,
        model: spec.id.clone(),
        name: spec.display_name.clone(),
        context_window: spec.context_window.map(u64::from),
        max_output: spec.max_output_tokens.map(u64::from),
        reasoning: spec.reasoning.supported,
        images: spec.input.image,
        deprecated: spec.deprecated,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_models_that_call_tools() {
        let models = catalogue();
        for provider in ["anthropic", "openai", "openrouter", "deepseek", "groq", "mistral"] {
            assert!(models.iter().any(|model| model.provider == provider), "none of {provider}");
        }
        assert!(models.iter().all(|model| !model.model.contains("whisper")));
        let haiku = models.iter().find(|model| model.model == "claude-haiku-4-5").unwrap();
        assert_eq!((haiku.context_window, haiku.reasoning, haiku.images), (Some(200_000), true, true));
    }

    #[test]
    fn finds_dated_snapshots_and_the_chat_preset() {
        assert_eq!(find("anthropic", "claude-sonnet-4-6-20990101").unwrap().model, "claude-sonnet-4-6");
        assert_eq!(find("openai-chat", "gpt-4.1").unwrap().context_window, Some(1_047_576));
        assert_eq!(find("ollama", "gpt-4.1"), None);
        assert_eq!(find("nobody", "gpt-4.1"), None);
    }
}
