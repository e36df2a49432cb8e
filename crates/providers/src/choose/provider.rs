//! One candidate provider: a preset, an entry of `models.json`, or both.

use secrecy::SecretString;

use super::{ChoiceReason, EnvironmentProbe, env_value};
use crate::catalog;
use crate::config::ApiDialect;
use crate::models::{ConfiguredProvider, ModelsFile, expand_variables, variables_in};
use crate::presets::{PRESETS, ProviderPreset, find_preset};

/// The location of a provider's key.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyLocation {
    /// The name under which the key is stored.
    pub stored_as: String,
    /// The environment variable that takes precedence over the stored key.
    pub variable: Option<String>,
}

/// Returns the location of a provider's key; `None` for an unknown provider.
pub fn key_location(provider: &str, models: &ModelsFile) -> Option<KeyLocation> {
    let provider = ProviderCandidate::by_name(provider, models)?;
    let variable = provider.key_env().map(str::to_owned);
    Some(KeyLocation { stored_as: provider.stored_as().to_owned(), variable })
}

/// Returns the model that a provider uses without a selection; `None` if there is none.
pub fn default_model(provider: &str, models: &ModelsFile) -> Option<String> {
    ProviderCandidate::by_name(provider, models)?.default_model()
}

/// True if a provider has a key or needs none.
pub fn is_usable(provider: &str, models: &ModelsFile, environment: &dyn EnvironmentProbe) -> bool {
    ProviderCandidate::by_name(provider, models)
        .is_some_and(|provider| provider.usable_reason(environment).is_some())
}

/// Splits `provider/model` if the provider is known; returns the provider and the model's id. `beside` is a separately
/// specified provider: then only its own name is removed, unless the name is part of the id.
pub fn split_provider(model: &str, beside: Option<&str>, models: &ModelsFile) -> Option<(String, String)> {
    let (name, id) = model.split_once('/').filter(|(_, id)| !id.is_empty())?;
    let provider = ProviderCandidate::by_name(name, models);
    let is_prefix = match beside {
        None => name == "scripted" || provider.is_some(),
        Some(beside) => beside == name && provider.is_some_and(|provider| !provider.has_model(model)),
    };
    is_prefix.then(|| (name.to_owned(), id.to_owned()))
}

/// Resolves a model's name while a model of the provider `asked` is in use; returns the provider and the model's id.
/// The first match wins:
/// 1. `asked`, if it is known to have the model;
/// 2. a provider prefix of the name;
/// 3. unless the user has `fixed` the provider, a usable provider that is known to have the model;
/// 4. `asked`.
pub fn resolve_model(
    model: &str,
    asked: &str,
    fixed: bool,
    models: &ModelsFile,
    environment: &dyn EnvironmentProbe,
) -> (String, String) {
    let at = |provider: &str| (provider.to_owned(), model.to_owned());
    if ProviderCandidate::by_name(asked, models).is_some_and(|provider| provider.has_model(model)) {
        return at(asked);
    }
    if let Some(named) = split_provider(model, None, models).or_else(|| split_own_prefix(model, asked)) {
        return named;
    }
    let has = |provider: &ProviderCandidate<'_>| {
        provider.has_model(model) && provider.usable_reason(environment).is_some()
    };
    let other = if fixed { None } else { ProviderCandidate::list_candidates(models).find(has) };
    at(other.map_or(asked, |provider| provider.name))
}

/// A provider that is defined only by an address is known only to its own requests.
fn split_own_prefix(model: &str, asked: &str) -> Option<(String, String)> {
    let id = model.strip_prefix(asked)?.strip_prefix('/').filter(|id| !id.is_empty())?;
    Some((asked.to_owned(), id.to_owned()))
}

/// The known facts of a provider before a model is selected.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProviderCandidate<'a> {
    pub(super) name: &'a str,
    pub(super) preset: Option<&'static ProviderPreset>,
    pub(super) own: Option<&'a ConfiguredProvider>,
    pub(super) models: &'a ModelsFile,
}

/// Returns the keys of all providers that the environment or the user's store has, and the values of their headers with
/// secrets.
pub fn known_keys(models: &ModelsFile, environment: &dyn EnvironmentProbe) -> Vec<SecretString> {
    let presets = PRESETS.iter().map(|preset| ProviderCandidate::from_preset(preset, models));
    let custom = models.custom_providers().filter_map(|name| ProviderCandidate::by_name(name, models));
    let keys = presets.chain(custom).flat_map(|provider| {
        let headers = provider.own.into_iter().flat_map(ConfiguredProvider::secret_headers);
        let values =
            headers.flat_map(|(_, value)| header_secrets(value, environment)).map(SecretString::from);
        provider.key(environment).map(|(key, _)| key).into_iter().chain(values).collect::<Vec<_>>()
    });
    keys.collect()
}

/// Returns the secrets in a header, such as the cookies of a list: the values of its variables, and its words.
fn header_secrets(value: &str, environment: &dyn EnvironmentProbe) -> Vec<String> {
    let expanded = expand_variables(value, |name| environment.var(name)).unwrap_or_default();
    let words = expanded.split([' ', ';', ',']).filter(|word| !word.is_empty()).map(str::to_owned);
    let variables = variables_in(value).filter_map(|name| environment.var(name));
    words.chain(variables).collect()
}

impl<'a> ProviderCandidate<'a> {
    pub(super) fn by_name(name: &'a str, models: &'a ModelsFile) -> Option<Self> {
        let provider = Self { name, preset: find_preset(name), own: models.provider(name), models };
        (provider.preset.is_some() || provider.own.is_some()).then_some(provider)
    }

    pub(super) fn from_preset(preset: &'static ProviderPreset, models: &'a ModelsFile) -> Self {
        Self { name: preset.name, preset: Some(preset), own: models.provider(preset.name), models }
    }

    /// Returns the providers to select from if none is specified: hosted presets, then the user's own providers.
    pub(super) fn list_candidates(models: &'a ModelsFile) -> impl Iterator<Item = Self> {
        let hosted = PRESETS.iter().filter(|preset| preset.local_port.is_none() && preset.base_url.is_some());
        let hosted = hosted.map(|preset| Self::from_preset(preset, models));
        hosted.chain(models.custom_providers().filter_map(|name| Self::by_name(name, models)))
    }

    pub(super) fn dialect(&self) -> ApiDialect {
        let own = self.own.and_then(|own| own.dialect);
        own.or(self.preset.map(|preset| preset.dialect)).unwrap_or(ApiDialect::OpenAiChat)
    }

    /// Returns the address that the environment or `models.json` configures instead of the preset's.
    pub(super) fn own_address(&self, environment: &dyn EnvironmentProbe) -> Option<String> {
        let from_env = self.preset.and_then(|preset| env_value(environment, preset.base_url_env?));
        from_env.or_else(|| self.own?.base_url.clone())
    }

    pub(super) fn key_env(&self) -> Option<&'a str> {
        let own = self.own.and_then(|own| own.key_env.as_deref());
        own.or_else(|| self.preset.and_then(|preset| preset.key_env))
    }

    pub(super) fn key(&self, environment: &dyn EnvironmentProbe) -> Option<(SecretString, ChoiceReason)> {
        if let Some(variable) = self.key_env()
            && let Some(key) = env_value(environment, variable)
        {
            return Some((key.into(), ChoiceReason::Key(variable.to_owned())));
        }
        let stored = |name: &str| Some((environment.key(name)?, ChoiceReason::Stored(name.to_owned())));
        // A user can store a key manually under any name.
        [self.name, self.stored_as()].into_iter().find_map(stored)
    }

    /// Returns the name under which its key is stored; two presets of one company share a key. A provider that
    /// `models.json` moves to another server has its own key, even if the variable has the same name.
    fn stored_as(&self) -> &'a str {
        let moved = |name: &str| self.models.provider(name).is_some_and(|own| own.base_url.is_some());
        let key_env = self.preset.filter(|_| !moved(self.name)).and_then(|preset| preset.key_env);
        let first = key_env.and_then(|key| PRESETS.iter().find(|preset| preset.key_env == Some(key)));
        first.filter(|first| !moved(first.name)).map_or(self.name, |first| first.name)
    }

    /// Returns the reason to use this provider without a request by the user; [`None`] if its key is missing.
    pub(super) fn usable_reason(&self, environment: &dyn EnvironmentProbe) -> Option<ChoiceReason> {
        let keyless = || self.preset.is_none() && self.key_env().is_none();
        self.key(environment).map(|(_, because)| because).or_else(|| keyless().then_some(ChoiceReason::Own))
    }

    pub(super) fn has_model(&self, model: &str) -> bool {
        self.own.is_some_and(|own| own.models.contains_key(model))
            || catalog::find_model(self.name, model).is_some()
    }

    pub(super) fn default_model(&self) -> Option<String> {
        let own = self.own.and_then(|own| own.default_model.clone());
        let only = || {
            let own = self.own.filter(|own| own.models.len() == 1)?;
            self.preset.is_none_or(|preset| preset.local_port.is_some()).then_some(())?;
            own.models.keys().next().cloned()
        };
        let preset = || self.preset?.default_model.map(str::to_owned);
        own.or_else(preset).or_else(only)
    }

    /// True if `models.json` lists all of its models. For a local preset, `models.json` describes only some of them.
    pub(super) fn lists_models(&self) -> bool {
        let local = self.preset.is_some_and(|preset| preset.local_port.is_some());
        !local && self.own.is_some_and(|own| !own.models.is_empty())
    }
}
