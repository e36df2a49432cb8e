//! Flags over environment over files over defaults, and where each value came from.

use std::collections::BTreeMap;

use super::{ConfigFile, Settings, all_keys};
use crate::origin::{KeyLocations, SettingOrigin, SourcedValue};

/// The place of a layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LayerSource {
    /// The flags of this run.
    Flags,
    /// The environment.
    Env,
    /// A `config.toml`.
    File(KeyLocations),
}

impl LayerSource {
    /// Where a key of this place stands.
    fn origin(&self, key: &str) -> SettingOrigin {
        let known = all_keys().find(|known| known.path == key);
        match self {
            Self::Flags => SettingOrigin::Flag(known.and_then(|known| known.flag).unwrap_or("flag")),
            Self::Env => {
                SettingOrigin::Env(known.and_then(|known| known.variables.first()).unwrap_or(&"environment"))
            }
            Self::File(source) => source.origin(key),
        }
    }
}

/// The values that one place sets.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigLayer {
    /// The place.
    pub place: LayerSource,
    /// The values.
    pub values: ConfigFile,
    /// The origins of keys that stand elsewhere than the place usually has them, as a provider in the name of a model.
    origins: BTreeMap<&'static str, SettingOrigin>,
}

/// Takes a model's name apart, given the provider that is named beside it: its provider and its id there. Nothing where
/// the name begins with no provider, and where that is another one than the one beside it, whose models may have such
/// names.
pub type ModelNameSplitter<'a> = &'a dyn Fn(&str, Option<&str>) -> Option<(String, String)>;

/// An environment variable has a value that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{variable}={value:?} cannot be used: it must be {expected}")]
pub struct LayerError {
    /// The variable.
    pub variable: &'static str,
    /// Its value.
    pub value: String,
    /// The expected value.
    pub expected: String,
}

impl ConfigLayer {
    /// A layer with these values.
    pub fn new(place: LayerSource, values: ConfigFile) -> Self {
        Self { place, values, origins: BTreeMap::new() }
    }

    /// A layer without values.
    pub fn empty(place: LayerSource) -> Self {
        Self::new(place, ConfigFile::default())
    }

    /// The values in the environment; an empty variable sets nothing.
    ///
    /// # Errors
    /// [`LayerError`] when a variable has a value that cannot be used.
    pub fn from_env(var: impl Fn(&str) -> Option<String>) -> Result<Self, LayerError> {
        let mut layer = Self::empty(LayerSource::Env);
        let mut table = toml::Table::new();
        for key in ConfigFile::KEYS {
            let set = |name: &&'static str| Some((*name, var(name).filter(|value| !value.is_empty())?));
            let Some((variable, value)) = key.variables.iter().find_map(set) else { continue };
            let read = key.kind.read(&value).and_then(|read| {
                table.insert(key.path.to_owned(), read);
                table.clone().try_into().ok()
            });
            let wrong = || LayerError { variable, value, expected: key.kind.expected_text() };
            layer.values = read.ok_or_else(wrong)?;
            layer.origins.insert(key.path, SettingOrigin::Env(variable));
        }
        Ok(layer)
    }

    /// The origin of a key of this layer.
    fn origin(&self, key: &str) -> SettingOrigin {
        self.origins.get(key).cloned().unwrap_or_else(|| self.place.origin(key))
    }
}

impl Settings {
    /// Merges layers, the strongest first.
    ///
    /// A model and an address belong to the provider that is named beside them: where a stronger layer names
    /// another provider, they are removed from the weaker one, so that a key is never sent to another provider's
    /// server. A model whose name `apart` takes apart names its provider itself.
    pub(crate) fn merge(layers: &mut [ConfigLayer], apart: ModelNameSplitter<'_>) -> Self {
        split_model_names(layers, apart);
        let chosen = layers.iter().find_map(|layer| layer.values.provider.clone());
        for values in layers.iter_mut().map(|layer| &mut layer.values) {
            if values.provider.is_some() && values.provider != chosen {
                (values.model, values.base_url) = (None, None);
            }
        }
        Self::from_layers(layers, "", Some)
    }
}

/// Has every layer whose model carries its provider name that provider, so that it is stronger than one which a weaker
/// layer names, and that one's address is not its own.
fn split_model_names(layers: &mut [ConfigLayer], apart: ModelNameSplitter<'_>) {
    // An address without a provider is that of a server which is asked for any model, whatever it is called.
    let server =
        layers.iter().any(|layer| layer.values.base_url.is_some() && layer.values.provider.is_none());
    for layer in layers {
        let values = &layer.values;
        if server && values.provider.is_none() {
            continue;
        }
        let named = values.model.as_deref().and_then(|model| apart(model, values.provider.as_deref()));
        let Some((provider, model)) = named else { continue };
        if values.provider.is_none() {
            layer.origins.insert("provider", layer.origin("model"));
        }
        (layer.values.provider, layer.values.model) = (Some(provider), Some(model));
    }
}

/// The value of the first layer that sets it.
pub(crate) fn first<'a, T>(
    layers: &'a [ConfigLayer],
    key: &str,
    get: impl Fn(&'a ConfigFile) -> Option<T>,
) -> Option<SourcedValue<T>> {
    layers
        .iter()
        .find_map(|layer| Some(SourcedValue { value: get(&layer.values)?, origin: layer.origin(key) }))
}

#[cfg(test)]
mod tests;
