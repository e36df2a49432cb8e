//! Layers of settings: flags over environment over files over defaults, with the origin of each value.

use std::collections::BTreeMap;

use super::{ConfigFile, Settings, all_keys};
use crate::origin::{KeyLocations, SettingOrigin, SourcedValue};

/// The source of a layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LayerSource {
    /// The flags of this run.
    Flags,
    /// The environment variables.
    Env,
    /// A `config.toml`.
    File(KeyLocations),
}

impl LayerSource {
    /// Returns the location of a key in this source.
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

/// The values that one source sets.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigLayer {
    /// The source.
    pub place: LayerSource,
    /// The values.
    pub values: ConfigFile,
    /// Origins that differ from the usual ones of this source, for example a provider in the name of a model.
    origins: BTreeMap<&'static str, SettingOrigin>,
}

/// Splits a model's name into provider and id; the second argument is the provider set beside the name, if any. Returns
/// `None` if the name does not begin with a known provider, or with one other than the provider beside it.
pub type ModelNameSplitter<'a> = &'a dyn Fn(&str, Option<&str>) -> Option<(String, String)>;

/// An environment variable has an invalid value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{variable}={value:?} is not valid: expected {expected}")]
pub struct LayerError {
    /// The variable.
    pub variable: &'static str,
    /// Its value.
    pub value: String,
    /// A description of valid values.
    pub expected: String,
}

impl ConfigLayer {
    /// Returns a layer with these values.
    pub fn new(place: LayerSource, values: ConfigFile) -> Self {
        Self { place, values, origins: BTreeMap::new() }
    }

    /// Returns a layer without values.
    pub fn empty(place: LayerSource) -> Self {
        Self::new(place, ConfigFile::default())
    }

    /// Reads the environment variables. An empty variable sets nothing.
    ///
    /// # Errors
    /// [`LayerError`] when a variable has an invalid value.
    pub fn from_env(var: impl Fn(&str) -> Option<String>) -> Result<Self, LayerError> {
        let mut layer = Self::empty(LayerSource::Env);
        let mut table = toml::Table::new();
        for key in all_keys() {
            let set = |name: &&'static str| Some((*name, var(name).filter(|value| !value.is_empty())?));
            let Some((variable, value)) = key.variables.iter().find_map(set) else { continue };
            let read = key.kind.read(&value).and_then(|read| {
                insert_at(&mut table, key.path, read);
                table.clone().try_into().ok()
            });
            let wrong = || LayerError { variable, value, expected: key.kind.expected_text() };
            layer.values = read.ok_or_else(wrong)?;
            layer.origins.insert(key.path, SettingOrigin::Env(variable));
        }
        Ok(layer)
    }

    /// Records that the former name of a flag set this key.
    #[must_use]
    pub fn with_former_flag(mut self, key: &'static str, former: &'static str) -> Self {
        self.origins.insert(key, SettingOrigin::Flag(former));
        self
    }

    /// Returns a sentence about each former name of a variable or flag that set a key, with the present name.
    pub(crate) fn former_names(&self) -> impl Iterator<Item = String> {
        self.origins.iter().filter_map(|(path, origin)| {
            let key = all_keys().find(|key| key.path == *path)?;
            // A key may also be set by the name of another key, as the provider is by `--model anthropic/…`.
            let (what, used, present) = match origin {
                SettingOrigin::Env(used) if key.variables.contains(used) => {
                    ("variable", *used, *key.variables.first()?)
                }
                SettingOrigin::Flag(used) if all_keys().all(|other| other.flag != Some(*used)) => {
                    ("flag", *used, key.flag?)
                }
                SettingOrigin::Env(_)
                | SettingOrigin::Flag(_)
                | SettingOrigin::Default
                | SettingOrigin::File { .. } => return None,
            };
            (used != present)
                .then(|| format!("the {what} `{used}` is now `{present}`; the former name still works"))
        })
    }

    /// Returns the origin of a key of this layer.
    fn origin(&self, key: &str) -> SettingOrigin {
        self.origins.get(key).cloned().unwrap_or_else(|| self.place.origin(key))
    }
}

impl Settings {
    /// Merges layers; earlier layers take precedence.
    ///
    /// A model and an address belong to the provider in the same layer. If a stronger layer sets another provider, both
    /// are removed from the weaker layer, so that a key is never sent to another provider's server. If `apart` finds a
    /// provider in a model's name, that provider is used.
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

/// Sets the provider of every layer whose model name contains one. That provider then takes precedence over a weaker
/// layer's provider, and the weaker layer's address is not used with it.
fn split_model_names(layers: &mut [ConfigLayer], apart: ModelNameSplitter<'_>) {
    // An address without a provider belongs to a server that receives all models under their full names.
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

/// Inserts a value at a path such as `tools.sandbox`.
fn insert_at(table: &mut toml::Table, path: &str, value: toml::Value) {
    match path.split_once('.') {
        None => _ = table.insert(path.to_owned(), value),
        Some((name, below)) => {
            let inner = table.entry(name).or_insert_with(|| toml::Table::new().into());
            if let Some(inner) = inner.as_table_mut() {
                insert_at(inner, below, value);
            }
        }
    }
}

/// Returns the value of the first layer that sets one.
pub(crate) fn first_value<'a, T>(
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
