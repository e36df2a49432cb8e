//! Flags over environment over files over defaults, and where each value came from.

mod carried;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use crate::file::{ReadFile, Source};
use crate::keys::{ConfigFile, Settings, all_keys};

pub use carried::TakeApart;

/// Where a setting came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingOrigin {
    /// This flag of this run.
    Flag(&'static str),
    /// This environment variable.
    Env(&'static str),
    /// The user's `config.toml`, or a trusted project's.
    File {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
    },
    /// Nobody set it.
    Default,
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) | Self::Env(name) => f.write_str(name),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Default => f.write_str("default"),
        }
    }
}

/// A value and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// Its origin.
    pub origin: SettingOrigin,
}

/// What kind of place a layer is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// The flags of this run.
    Flags,
    /// The environment.
    Env,
    /// A `config.toml`.
    File(Source),
}

impl Place {
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
pub struct Layer {
    /// The place.
    pub place: Place,
    /// The values.
    pub values: ConfigFile,
    /// The origins of keys that stand elsewhere than the place usually has them, as a provider in the name of a model.
    origins: BTreeMap<&'static str, SettingOrigin>,
}

/// An environment variable has a value that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{variable}={value:?} cannot be used: it must be {expected}")]
pub struct LayerError {
    /// The variable.
    pub variable: &'static str,
    /// Its value.
    pub value: String,
    /// What it should be.
    pub expected: String,
}

impl Layer {
    /// A layer with these values.
    pub fn new(place: Place, values: ConfigFile) -> Self {
        Self { place, values, origins: BTreeMap::new() }
    }

    /// A layer without values.
    pub fn empty(place: Place) -> Self {
        Self::new(place, ConfigFile::default())
    }

    /// The values of a file.
    pub fn from_file(file: &ReadFile) -> Self {
        Self::new(Place::File(file.source.clone()), file.content.clone())
    }

    /// The values in the environment; an empty variable sets nothing.
    ///
    /// # Errors
    /// [`LayerError`] when a variable has a value that cannot be used.
    pub fn from_env(var: impl Fn(&str) -> Option<String>) -> Result<Self, LayerError> {
        let mut layer = Self::empty(Place::Env);
        let mut table = toml::Table::new();
        for key in ConfigFile::KEYS {
            let set = |name: &&'static str| Some((*name, var(name).filter(|value| !value.is_empty())?));
            let Some((variable, value)) = key.variables.iter().find_map(set) else { continue };
            let read = key.kind.read(&value).and_then(|read| {
                table.insert(key.path.to_owned(), read);
                table.clone().try_into().ok()
            });
            let wrong = || LayerError { variable, value, expected: key.kind.takes() };
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
    pub(crate) fn merge(layers: &mut [Layer], apart: TakeApart<'_>) -> Self {
        carried::take_apart(layers, apart);
        let chosen = layers.iter().find_map(|layer| layer.values.provider.clone());
        for values in layers.iter_mut().map(|layer| &mut layer.values) {
            if values.provider.is_some() && values.provider != chosen {
                (values.model, values.base_url) = (None, None);
            }
        }
        Self::from_layers(layers, "", Some)
    }
}

/// The value of the first layer that sets it.
pub(crate) fn first<'a, T>(
    layers: &'a [Layer],
    key: &str,
    get: impl Fn(&'a ConfigFile) -> Option<T>,
) -> Option<Sourced<T>> {
    layers.iter().find_map(|layer| Some(Sourced { value: get(&layer.values)?, origin: layer.origin(key) }))
}

#[cfg(test)]
mod tests;
