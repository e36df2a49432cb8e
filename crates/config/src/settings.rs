//! Flags over environment over files over defaults, and where each value came from.

mod carried;

use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;
use std::str::FromStr;

use haft_protocol::thinking::Thinking;

use crate::file::{ReadFile, Source};
use crate::keys::all_keys;

pub use carried::TakeApart;

/// Names of the environment variables that set something.
pub mod env {
    /// [`Layer::provider`](super::Layer::provider).
    pub const PROVIDER: &str = "HAFT_PROVIDER";
    /// [`Layer::model`](super::Layer::model).
    pub const MODEL: &str = "HAFT_MODEL";
    /// [`Layer::base_url`](super::Layer::base_url).
    pub const BASE_URL: &str = "HAFT_BASE_URL";
    /// [`Layer::thinking`](super::Layer::thinking).
    pub const THINKING: &str = "HAFT_THINKING";
    /// The same, by its former name; the newer one is stronger.
    pub const REASONING: &str = "HAFT_REASONING";
    /// [`Layer::fallback`](super::Layer::fallback), separated by commas.
    pub const FALLBACK: &str = "HAFT_FALLBACK";
    /// [`Layer::max_steps`](super::Layer::max_steps).
    pub const MAX_STEPS: &str = "HAFT_MAX_STEPS";
}

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
            Self::Env => SettingOrigin::Env(known.and_then(|known| known.variable).unwrap_or("environment")),
            Self::File(source) => source.origin(key),
        }
    }
}

/// What one place says; nothing where it says nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// The place.
    pub place: Place,
    /// The provider to ask.
    pub provider: Option<String>,
    /// Where `provider` stands, if that is not where the place usually has it: in the name of the model.
    pub provider_origin: Option<SettingOrigin>,
    /// The model's id at that provider.
    pub model: Option<String>,
    /// Where the provider is reached.
    pub base_url: Option<String>,
    /// How much the model should think.
    pub thinking: Option<Thinking>,
    /// Where `thinking` stands, if that is not where the place usually has it: in the variable of its former name.
    pub thinking_origin: Option<SettingOrigin>,
    /// Models to ask while the first cannot be asked, each as `provider/model`.
    pub fallback: Option<Vec<String>>,
    /// How many steps one prompt may take.
    pub max_steps: Option<NonZeroU32>,
    /// Whether `AGENTS.md` files are read.
    pub context_files: Option<bool>,
    /// Whether the conversation is summed up by itself.
    pub compaction_auto: Option<bool>,
    /// Tokens of the model's window that are left for its answer.
    pub compaction_reserve: Option<NonZeroU64>,
    /// Tokens that are kept word for word.
    pub compaction_keep: Option<NonZeroU64>,
}

/// What all places together say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The provider to ask; none when haft shall look for one.
    pub provider: Option<Sourced<String>>,
    /// The model's id; none for the provider's default.
    pub model: Option<Sourced<String>>,
    /// Where the provider is reached; none for its usual address.
    pub base_url: Option<Sourced<String>>,
    /// How much the model should think.
    pub thinking: Sourced<Thinking>,
    /// Models to ask while the first cannot be asked, each as `provider/model`.
    pub fallback: Option<Sourced<Vec<String>>>,
    /// How many steps one prompt may take; none for as many as it needs.
    pub max_steps: Option<Sourced<NonZeroU32>>,
    /// Whether `AGENTS.md` files are read.
    pub context_files: Sourced<bool>,
    /// Whether the conversation is summed up by itself.
    pub compaction_auto: Sourced<bool>,
    /// Tokens of the model's window that are left for its answer; none for haft's own choice.
    pub compaction_reserve: Option<Sourced<NonZeroU64>>,
    /// Tokens that are kept word for word; none for haft's own choice.
    pub compaction_keep: Option<Sourced<NonZeroU64>>,
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
    pub expected: &'static str,
}

impl Layer {
    /// A layer that says nothing.
    pub fn empty(place: Place) -> Self {
        Self {
            place,
            provider: None,
            provider_origin: None,
            model: None,
            base_url: None,
            thinking: None,
            thinking_origin: None,
            fallback: None,
            max_steps: None,
            context_files: None,
            compaction_auto: None,
            compaction_reserve: None,
            compaction_keep: None,
        }
    }

    /// What a file says.
    pub fn from_file(file: &ReadFile) -> Self {
        let content = &file.content;
        Self {
            place: Place::File(file.source.clone()),
            provider: content.provider.clone(),
            provider_origin: None,
            model: content.model.clone(),
            base_url: content.base_url.clone(),
            thinking: content.thinking,
            thinking_origin: None,
            fallback: content.fallback.clone(),
            max_steps: content.max_steps,
            context_files: content.context_files,
            compaction_auto: content.compaction.auto,
            compaction_reserve: content.compaction.reserve,
            compaction_keep: content.compaction.keep,
        }
    }

    /// What the environment says; an empty variable says nothing.
    ///
    /// # Errors
    /// [`LayerError`] when a variable has a value that cannot be used.
    pub fn from_env(var: impl Fn(&str) -> Option<String>) -> Result<Self, LayerError> {
        let var = |name: &str| var(name).filter(|value| !value.is_empty());
        let thinking = read(env::THINKING, var(env::THINKING), LEVELS)?;
        let former = match thinking {
            None => read(env::REASONING, var(env::REASONING), LEVELS)?,
            Some(_) => None,
        };
        Ok(Self {
            provider: var(env::PROVIDER),
            model: var(env::MODEL),
            base_url: var(env::BASE_URL),
            thinking: thinking.or(former),
            thinking_origin: former.map(|_| SettingOrigin::Env(env::REASONING)),
            fallback: var(env::FALLBACK).map(|models| {
                let models = models.split(',').map(str::trim).filter(|model| !model.is_empty());
                models.map(str::to_owned).collect()
            }),
            max_steps: read(env::MAX_STEPS, var(env::MAX_STEPS), "a whole number of at least 1")?,
            ..Self::empty(Place::Env)
        })
    }
}

/// What [`env::THINKING`] may be.
const LEVELS: &str = "default, off, minimal, low, medium, high or xhigh";

fn read<T: FromStr>(
    variable: &'static str,
    value: Option<String>,
    expected: &'static str,
) -> Result<Option<T>, LayerError> {
    let Some(value) = value else { return Ok(None) };
    value.parse().map(Some).map_err(|_| LayerError { variable, value, expected })
}

impl Settings {
    /// Lays the layers over each other, the strongest first.
    ///
    /// A model and an address belong to the provider that is named beside them: where a stronger layer names
    /// another provider, they are left out, so that a key is never sent to another provider's server. A model whose
    /// name `apart` takes apart names its provider itself.
    pub fn merge(mut layers: Vec<Layer>, apart: TakeApart<'_>) -> Self {
        carried::take_apart(&mut layers, apart);
        let layers = layers.as_slice();
        let provider = first_said(layers, "provider", |layer| {
            Some((layer.provider.clone()?, layer.provider_origin.clone()))
        });
        let same_provider: Vec<Layer> = layers
            .iter()
            .filter(|layer| match (&layer.provider, &provider) {
                (Some(own), Some(chosen)) => *own == chosen.value,
                (None, _) | (_, None) => true,
            })
            .cloned()
            .collect();
        Self {
            model: first(&same_provider, "model", |layer| layer.model.clone()),
            base_url: first(&same_provider, "base_url", |layer| layer.base_url.clone()),
            thinking: thinking(layers),
            fallback: first(layers, "fallback", |layer| layer.fallback.clone()),
            max_steps: first(layers, "max_steps", |layer| layer.max_steps),
            context_files: first(layers, "context_files", |layer| layer.context_files).unwrap_or(yes()),
            compaction_auto: first(layers, "compaction.auto", |layer| layer.compaction_auto).unwrap_or(yes()),
            compaction_reserve: first(layers, "compaction.reserve", |layer| layer.compaction_reserve),
            compaction_keep: first(layers, "compaction.keep", |layer| layer.compaction_keep),
            provider,
        }
    }
}

fn thinking(layers: &[Layer]) -> Sourced<Thinking> {
    first_said(layers, "thinking", |layer| Some((layer.thinking?, layer.thinking_origin.clone())))
        .unwrap_or(Sourced { value: Thinking::default(), origin: SettingOrigin::Default })
}

/// As [`first`], of a value that may stand elsewhere than its place usually has it.
fn first_said<T>(
    layers: &[Layer],
    key: &str,
    get: impl Fn(&Layer) -> Option<(T, Option<SettingOrigin>)>,
) -> Option<Sourced<T>> {
    let Sourced { value: (value, elsewhere), origin } = first(layers, key, get)?;
    Some(Sourced { value, origin: elsewhere.unwrap_or(origin) })
}

/// What holds where nobody says no.
fn yes() -> Sourced<bool> {
    Sourced { value: true, origin: SettingOrigin::Default }
}

fn first<T>(layers: &[Layer], key: &str, get: impl Fn(&Layer) -> Option<T>) -> Option<Sourced<T>> {
    layers.iter().find_map(|layer| get(layer).map(|value| Sourced { value, origin: layer.place.origin(key) }))
}

#[cfg(test)]
mod tests;
