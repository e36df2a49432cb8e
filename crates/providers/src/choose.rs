//! Selects the model: by the user's preference, then by API keys in the environment, then by local servers.

mod check;
mod listing;
mod local;
mod machine;
mod provider;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use haft_core::model::{Advice, Model};
use reqwest::Url;
use secrecy::SecretString;

use crate::config::{ConfigError, ModelConfig};
use crate::http::HttpModel;
use crate::models::{ModelsFile, UnsetVariable, expand_variables};
use crate::presets::{PRESETS, find_preset};
use crate::scripted::{ScriptError, ScriptedModel};
use provider::ProviderCandidate;

pub use check::{KeyError, check_key, key_server};
pub use local::{LocalServer, local_servers};
pub use machine::SystemProbe;
pub use provider::{
    KeyLocation, default_model, is_usable, key_location, known_keys, resolve_model, split_provider,
};

/// The user's preferences from flags and configuration; all are optional.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct ModelPreference {
    /// A preset's name, `scripted`, or any name together with [`ModelPreference::base_url`].
    pub provider: Option<String>,
    /// A model's id, or `provider/model` if [`ModelPreference::provider`] is `None`; for `scripted`, the script's path.
    pub model: Option<String>,
    /// An API key that replaces the environment's key.
    pub api_key: Option<SecretString>,
    /// The API's address, which replaces the preset's.
    pub base_url: Option<String>,
    /// Additional headers of every request.
    pub headers: Vec<(String, String)>,
    /// The maximum length of an answer in tokens.
    pub max_output_tokens: Option<u64>,
}

impl fmt::Debug for ModelPreference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Addresses and headers may contain secrets, so only harmless fields are shown.
        f.debug_struct("ModelPreference")
            .field("provider", &self.provider)
            .field("model", &self.model)
            .field("max_output_tokens", &self.max_output_tokens)
            .finish_non_exhaustive()
    }
}

/// The parts of the machine that the selection can inspect; [`SystemProbe`] is the real implementation.
#[async_trait]
pub trait EnvironmentProbe: Send + Sync {
    /// Returns an environment variable.
    fn var(&self, name: &str) -> Option<String>;
    /// Returns the stored key of a provider.
    fn key(&self, provider: &str) -> Option<SecretString>;
    /// True if a process listens on this port of the loopback address.
    async fn is_listening(&self, port: u16) -> bool;
    /// Returns the ids of the models that a server lists. The request goes to the server's `base_url`, which must be
    /// set, with its key and headers. The list is empty if the answer is not a list of models.
    async fn list_models(&self, server: &ModelConfig) -> Vec<String>;
}

/// The selected model.
#[derive(Debug, Clone)]
pub enum ModelChoice {
    /// A model behind an API.
    Http(Box<ModelConfig>),
    /// The path of a script.
    Scripted(PathBuf),
}

impl ModelChoice {
    /// Creates the model. Reads the script of [`ModelChoice::Scripted`]; sends nothing.
    ///
    /// # Errors
    /// [`OpenError`] if the configuration or the script is not valid.
    pub fn open(self) -> Result<Arc<dyn Model>, OpenError> {
        match self {
            Self::Http(config) => Ok(Arc::new(HttpModel::new(*config)?)),
            Self::Scripted(path) => Ok(Arc::new(ScriptedModel::from_file(&path)?)),
        }
    }
}

/// The reasons why a selected model cannot be created.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The configuration is not valid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The script is not valid.
    #[error(transparent)]
    Script(#[from] ScriptError),
}

impl fmt::Debug for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        haft_core::error::write_report(self, f)
    }
}

/// The selected model and the reason.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ChosenModel {
    /// The model.
    pub choice: ModelChoice,
    /// The reason for the selection.
    pub because: ChoiceReason,
}

/// The reason for a selection; its `Display` follows "using MODEL, ".
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChoiceReason {
    /// The user selected it.
    Asked,
    /// This environment variable contains a key.
    Key(String),
    /// A key is stored for this provider.
    Stored(String),
    /// `models.json` configures it, and it needs no key.
    Own,
    /// A local server listens on this port.
    Local(u16),
    /// A server that the user configured answers at this address.
    Server(String),
}

impl fmt::Display for ChoiceReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked => f.write_str("as requested"),
            Self::Key(variable) => write!(f, "because {variable} is set"),
            Self::Stored(provider) => write!(f, "because a key is stored for {provider}"),
            Self::Own => f.write_str("because models.json configures it"),
            Self::Local(port) => write!(f, "because a server listens on port {port}"),
            Self::Server(address) => write!(f, "because a server answers at {address}"),
        }
    }
}

/// Selects a model: by flags, then by keys in the environment or stored keys, then by servers of `models.json`, then by
/// local servers on their default or configured ports.
///
/// A key is sent only to its own provider. With an address but no provider, only `HAFT_API_KEY` of the environment's
/// keys is used.
///
/// # Errors
/// [`ChooseError`], whose message contains the next step.
pub async fn choose_model(
    preference: ModelPreference,
    models: &ModelsFile,
    environment: &dyn EnvironmentProbe,
) -> Result<ChosenModel, ChooseError> {
    let preference = with_named_provider(preference, models);
    match preference.provider.clone() {
        Some(name) if name == "scripted" => {
            let path = preference.model.ok_or(ChooseError::NoScript)?;
            Ok(ChosenModel { choice: ModelChoice::Scripted(path.into()), because: ChoiceReason::Asked })
        }
        Some(name) => {
            let provider = find_provider(&name, &preference, models)?;
            choose_http(provider, preference, ChoiceReason::Asked, environment).await
        }
        None => choose_unnamed(preference, models, environment).await,
    }
}

/// Splits `provider/model`, and treats an address without a provider as a compatible server.
fn with_named_provider(mut preference: ModelPreference, models: &ModelsFile) -> ModelPreference {
    if preference.provider.is_none() && preference.base_url.is_some() {
        preference.provider = Some("compatible".to_owned());
    }
    if preference.provider.is_none()
        && let Some((name, model)) =
            preference.model.as_deref().and_then(|model| split_provider(model, None, models))
    {
        (preference.provider, preference.model) = (Some(name), Some(model));
    }
    preference
}

fn find_provider<'a>(
    name: &'a str,
    preference: &ModelPreference,
    models: &'a ModelsFile,
) -> Result<ProviderCandidate<'a>, ChooseError> {
    if ProviderCandidate::by_name(name, models).is_none()
        && let Some(nearest) = misspelled_preset(name)
    {
        return Err(ChooseError::MisspelledProvider { name: name.to_owned(), nearest });
    }
    // With an address, any other name is a compatible server.
    let compatible = ProviderCandidate { name, preset: find_preset("compatible"), own: None, models };
    let own = || preference.base_url.as_ref().map(|_| compatible);
    ProviderCandidate::by_name(name, models).or_else(own).ok_or_else(|| {
        let presets = PRESETS.iter().map(|preset| preset.name);
        let known: Vec<&str> = presets.chain(models.custom_providers()).chain(["scripted"]).collect();
        ChooseError::UnknownProvider { name: name.to_owned(), known: known.join(", ") }
    })
}

/// Returns the preset whose name was probably meant. Names that only begin with that of a preset, such as `openai-eu`,
/// and those like short presets, such as `grok`, may be intended.
fn misspelled_preset(name: &str) -> Option<&'static str> {
    let is_near = |preset: &&str| {
        let changes = strsim::osa_distance(preset, &name.to_lowercase());
        preset.len() > 4 && !name.starts_with(*preset) && changes <= if preset.len() < 8 { 1 } else { 2 }
    };
    PRESETS.iter().map(|preset| preset.name).find(is_near)
}

/// Selects a model when no provider is specified.
async fn choose_unnamed(
    preference: ModelPreference,
    models: &ModelsFile,
    environment: &dyn EnvironmentProbe,
) -> Result<ChosenModel, ChooseError> {
    let knows = |provider: &ProviderCandidate<'_>| {
        preference.model.as_ref().is_some_and(|model| provider.has_model(model))
    };
    if preference.api_key.is_some() {
        let provider =
            ProviderCandidate::list_candidates(models).find(knows).ok_or(ChooseError::KeyWithoutProvider)?;
        return choose_http(provider, preference, ChoiceReason::Asked, environment).await;
    }
    let usable = || {
        ProviderCandidate::list_candidates(models)
            .filter_map(|provider| Some((provider, provider.usable_reason(environment)?)))
    };
    let fitting = usable().find(|(provider, _)| knows(provider)).or_else(|| usable().next());
    if let Some((provider, because)) = fitting {
        return choose_http(provider, preference, because, environment).await;
    }
    let servers = local_servers(models, environment).await;
    let serves =
        |server: &&LocalServer| preference.model.as_ref().is_some_and(|model| server.models.contains(model));
    let server = servers.iter().find(serves).or(servers.first()).ok_or(ChooseError::Nothing)?;
    let provider = ProviderCandidate::from_preset(server.preset, models);
    let model = preference.model.clone().or_else(|| provider.default_model());
    let model = model.or_else(|| server.models.first().cloned());
    choose_http(provider, ModelPreference { model, ..preference }, server.choice_reason(), environment).await
}

/// Returns an address for display. An address that cannot be parsed is not shown, because it may contain a password.
fn without_password(address: &str) -> String {
    match Url::parse(address) {
        Ok(url) if url.has_host() => format!("{}{}", url.origin().ascii_serialization(), url.path()),
        Ok(_) | Err(_) => "the given address".to_owned(),
    }
}

fn env_value(environment: &dyn EnvironmentProbe, name: &str) -> Option<String> {
    environment.var(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

async fn choose_http(
    provider: ProviderCandidate<'_>,
    preference: ModelPreference,
    because: ChoiceReason,
    environment: &dyn EnvironmentProbe,
) -> Result<ChosenModel, ChooseError> {
    let name = || provider.name.to_owned();
    let base_url = preference.base_url.clone().or_else(|| provider.own_address(environment));
    let usual = provider.preset.and_then(|preset| preset.base_url);
    let local = provider.preset.is_some_and(|preset| preset.local_port.is_some());
    let api_key = preference.api_key.clone().or_else(|| provider.key(environment).map(|(key, _)| key));
    let Some(address) = base_url.as_deref().or(usual) else {
        return Err(ChooseError::NoBaseUrl { provider: name() });
    };
    let own_address = base_url.is_some() || local;
    // A user who configures a variable for a key wants the key to be sent.
    let key_named = provider.own.is_some_and(|own| own.key_env.is_some());
    if let (None, Some(variable)) = (&api_key, provider.key_env().filter(|_| key_named || !own_address)) {
        return Err(ChooseError::NoKey { provider: name(), variable: variable.to_owned() });
    }
    let address = address.to_owned();
    let mut headers = configured_headers(&provider, environment)?;
    headers.extend(preference.headers);
    let mut config = ModelConfig {
        base_url,
        api_key,
        key_env: provider.key_env().map(str::to_owned),
        headers,
        max_output_tokens: preference.max_output_tokens,
        ..ModelConfig::new(provider.dialect(), provider.name, "")
    };
    config.model = match preference.model.or_else(|| provider.default_model()) {
        Some(model) => model,
        None if own_address && !provider.lists_models() => {
            first_listed(&config, address, environment).await?
        }
        None => return Err(ChooseError::NoModel { provider: name() }),
    };
    let own = provider.own.and_then(|own| own.models.get(&config.model));
    config.facts = own.cloned().unwrap_or_default();
    Ok(ChosenModel { choice: ModelChoice::Http(Box::new(config)), because })
}

async fn first_listed(
    config: &ModelConfig,
    address: String,
    environment: &dyn EnvironmentProbe,
) -> Result<String, ChooseError> {
    let none = ChooseError::NoAnswer { address: without_password(&address) };
    let server = ModelConfig { base_url: Some(address), ..config.clone() };
    environment.list_models(&server).await.into_iter().next().ok_or(none)
}

/// Returns the headers of `models.json` with their variables expanded.
fn configured_headers(
    provider: &ProviderCandidate<'_>,
    environment: &dyn EnvironmentProbe,
) -> Result<Vec<(String, String)>, ChooseError> {
    let written = provider.own.map(|own| own.headers.as_slice()).unwrap_or_default();
    let made = written.iter().map(|(header, value)| {
        let value = expand_variables(value, |name| environment.var(name)).map_err(|source| {
            ChooseError::Header { provider: provider.name.to_owned(), header: header.clone(), source }
        })?;
        Ok((header.clone(), value))
    });
    made.collect()
}

/// The reasons why no model can be selected.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChooseError {
    /// No preference was given, and no usable provider was found.
    #[error(
        "no model is configured; set ANTHROPIC_API_KEY or OPENAI_API_KEY, or start a local server (Ollama, llama.cpp, \
         vLLM or LM Studio) on its default port"
    )]
    Nothing,
    /// The provider is neither a preset nor in `models.json`, and no address was given.
    #[error(
        "unknown provider {name:?}; choose one of {known}, set the address of your own server, or add the provider to \
         models.json"
    )]
    UnknownProvider {
        /// The unknown name.
        name: String,
        /// The known names.
        known: String,
    },
    /// The provider has nearly the name of a preset.
    #[error(
        "unknown provider {name:?}; did you mean {nearest}? To use this name for your own server, add it to models.json"
    )]
    MisspelledProvider {
        /// The unknown name.
        name: String,
        /// The preset.
        nearest: &'static str,
    },
    /// The provider needs a key.
    #[error("no API key for {provider}; set {variable}")]
    NoKey {
        /// The provider.
        provider: String,
        /// The environment variable of its key.
        variable: String,
    },
    /// The provider represents any compatible server and has no default address.
    #[error("no server address for {provider}; set it")]
    NoBaseUrl {
        /// The provider.
        provider: String,
    },
    /// A key was given without its provider.
    #[error("an API key needs its provider")]
    KeyWithoutProvider,
    /// The provider has no default model.
    #[error("no model selected for {provider}")]
    NoModel {
        /// The provider.
        provider: String,
    },
    /// The server returned no models.
    #[error("no model available at {address}; start the server, load a model, or check the address")]
    NoAnswer {
        /// The address.
        address: String,
    },
    /// A header in `models.json` refers to an unset variable.
    #[error("models.json: cannot build the header {header:?} of {provider}: {source}")]
    Header {
        /// The provider.
        provider: String,
        /// The header's name.
        header: String,
        /// The unset variable.
        source: UnsetVariable,
    },
    /// `scripted` requires the script's path.
    #[error("the scripted provider needs the path of a script as its model")]
    NoScript,
}

impl fmt::Debug for ChooseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        haft_core::error::write_report(self, f)
    }
}

impl ChooseError {
    /// Returns the next step that the message does not name, because each program offers it in its own way.
    pub fn advice(&self) -> Option<Advice> {
        match self {
            Self::Nothing | Self::KeyWithoutProvider => Some(Advice::Provider),
            Self::UnknownProvider { .. } | Self::NoBaseUrl { .. } | Self::NoAnswer { .. } => {
                Some(Advice::BaseUrl)
            }
            Self::NoKey { .. } => Some(Advice::ApiKey),
            Self::NoModel { .. } | Self::NoScript => Some(Advice::Model),
            Self::MisspelledProvider { .. } | Self::Header { .. } => None,
        }
    }
}
