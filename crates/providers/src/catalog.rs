//! The catalog of known models: a sorted list, in which a model is found without parsing the others.
//!
//! Each line of `catalog/models.txt` is `PROVIDER/MODEL`, a tab, and a [`ModelSpec`] as JSON. The facts are those of
//! models.dev, except `notes`, which haft adds; `cargo xtask catalog` renews the list.

mod spec;

use std::cmp::Ordering;

use haft_core::model::ModelFacts;

use crate::presets::{PRESETS, find_preset};
pub(crate) use spec::{ModelSpec, SamplingRule};

const LIST: &str = include_str!("catalog/models.txt");

/// A model of the catalog.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
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
    let own = PRESETS.iter().filter(|preset| preset.catalog == Some(preset.name));
    own.flat_map(|preset| {
        let entries = entries().filter(|(key, _)| key.split('/').next() == Some(preset.name));
        let models =
            entries.filter_map(|(key, json)| Some((key.split_once('/')?.1, ModelSpec::parse(json)?)));
        models.filter(|(_, spec)| spec.tools).map(|(model, spec)| known_model(preset.name, model, &spec))
    })
    .collect()
}

/// Finds a provider's model. A dated snapshot is also found by its undated name.
pub fn find_model(provider: &str, model: &str) -> Option<KnownModel> {
    let preset = find_preset(provider)?;
    let (name, spec) = find_entry(preset.catalog?, model)?;
    Some(known_model(preset.name, name, &spec))
}

pub(crate) fn find_spec(provider: &str, model: &str) -> Option<ModelSpec> {
    find_entry(find_preset(provider)?.catalog?, model).map(|(_, spec)| spec)
}

/// Returns the facts in the catalog; unknown facts for a model that is not in it.
pub(crate) fn model_facts(provider: &str, model: &str) -> ModelFacts {
    find_spec(provider, model).map(|spec| spec.to_facts()).unwrap_or_default()
}

fn known_model(provider: &'static str, model: &str, spec: &ModelSpec) -> KnownModel {
    KnownModel { provider, model: model.to_owned(), facts: spec.to_facts(), deprecated: spec.deprecated }
}

/// Returns the model's name in the catalog, and its entry.
fn find_entry<'a>(provider: &str, model: &'a str) -> Option<(&'a str, ModelSpec)> {
    let find = |model: &'a str| Some((model, ModelSpec::parse(find_line(&format!("{provider}/{model}"))?)?));
    find(model).or_else(|| find(strip_date(model)?))
}

/// Finds an entry by binary search among the lines.
fn find_line(key: &str) -> Option<&'static str> {
    let mut rest = LIST;
    while !rest.is_empty() {
        let middle = rest.floor_char_boundary(rest.len() / 2);
        let start = rest.get(..middle)?.rfind('\n').map_or(0, |end| end + 1);
        let end = rest.get(middle..)?.find('\n').map_or(rest.len(), |end| middle + end + 1);
        let (found, json) = rest.get(start..end)?.trim_end().split_once('\t')?;
        rest = match key.cmp(found) {
            Ordering::Equal => return Some(json),
            Ordering::Less => rest.get(..start)?,
            Ordering::Greater => rest.get(end..)?,
        };
    }
    None
}

fn entries() -> impl Iterator<Item = (&'static str, &'static str)> {
    LIST.lines().filter_map(|line| line.split_once('\t'))
}

/// Returns the name without a date at its end: `-YYYYMMDD` or `-YYYY-MM-DD`.
fn strip_date(model: &str) -> Option<&str> {
    let date_at = |digits: &[usize]| {
        let mut rest = model;
        for length in digits.iter().rev() {
            let (before, part) = rest.rsplit_once('-')?;
            let is_number = part.len() == *length && part.bytes().all(|byte| byte.is_ascii_digit());
            rest = is_number.then_some(before)?;
        }
        Some(rest)
    };
    date_at(&[8]).or_else(|| date_at(&[4, 2, 2]))
}

#[cfg(test)]
mod tests {
    use haft_core::model::ThinkingLevel;

    use super::*;

    #[test]
    fn every_line_is_in_order_and_found() {
        let keys: Vec<&str> = entries().map(|(key, _)| key).collect();
        assert!(keys.len() > 500 && keys.is_sorted());
        assert_eq!(keys.len(), LIST.lines().count());
        for (key, json) in entries() {
            assert_eq!(find_line(key), Some(json), "{key}");
            assert!(ModelSpec::parse(json).is_some(), "{key}: {json}");
        }
        for missing in ["", "a", "anthropic/claude", "openrouter/zzz", "zzz"] {
            assert_eq!(find_line(missing), None, "{missing}");
        }
    }

    #[test]
    fn lists_models_that_call_tools() {
        let models = model_catalog();
        for provider in ["anthropic", "openai", "gemini", "openrouter", "deepseek", "groq", "mistral"] {
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
        assert_eq!(find_model("openai", "gpt-4.1-2099-01-01").unwrap().model, "gpt-4.1");
        assert_eq!(find_model("openai-chat", "gpt-4.1").unwrap().facts.window, Some(1_047_576));
        assert_eq!(find_model("openai", "gpt-4.1-2099-1-01"), None);
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
