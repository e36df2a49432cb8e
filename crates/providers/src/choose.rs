//! Which model to use: what the user asked for, then keys in the environment, then a server on this machine.

mod check;
mod listing;
mod local;
mod machine;
mod provider;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use haft_core::model::Model;
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
pub use provider::{KeyLocation, key_location, resolve_model, split_provider};

/// The wishes of the user by flags and configuration; everything may be left open.
#[derive(Clone, Default)]
pub struct ModelPreference {
    /// A preset's name, `scripted`, or any name together with [`ModelPreference::base_url`].
    pub provider: Option<String>,
    /// A model's id, also as `provider/model` while [`ModelPreference::provider`] is open; for `scripted`, the script's path.
    pub model: Option<String>,
    /// A key, instead of the environment's.
    pub api_key: Option<SecretString>,
    /// The API's address, instead of the preset's.
    pub base_url: Option<String>,
    /// Further headers of every request.
    pub headers: Vec<(String, String)>,
    /// The longest answer in tokens.
    pub max_output_tokens: Option<u64>,
}

impl fmt::Debug for ModelPreference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Addresses and headers may carry secrets, so only what is harmless is shown.
        f.debug_struct("Wish")
            .field("provider", &self.provider)
            .field("model", &self.model)
            .field("max_output_tokens", &self.max_output_tokens)
            .finish_non_exhaustive()
    }
}

/// The parts of the machine that the choice may look at; [`SystemProbe`] is the real one.
#[async_trait]
pub trait EnvironmentProbe: Send + Sync {
    /// An environment variable.
    fn var(&self, name: &str) -> Option<String>;
    /// The key that is stored for a provider.
    fn key(&self, provider: &str) -> Option<SecretString>;
    /// True if anything listens on this port of the loopback address.
    async fn is_listening(&self, port: u16) -> bool;
    /// The ids of the models that a server lists, asked in its API at its `base_url`, which is set, with its key and
    /// headers; empty when it does not answer as a model server does.
    async fn list_models(&self, server: &ModelConfig) -> Vec<String>;
}

/// The model to use.
#[derive(Debug, Clone)]
pub enum ModelChoice {
    /// One behind an API.
    Http(Box<ModelConfig>),
    /// A script.
    Scripted(PathBuf),
}

impl ModelChoice {
    /// The model itself. Reads the script of [`ModelChoice::Scripted`]; sends nothing.
    ///
    /// # Errors
    /// [`OpenError`] when the configuration or the script is not valid.
    pub fn open(self) -> Result<Arc<dyn Model>, OpenError> {
        match self {
            Self::Http(config) => Ok(Arc::new(HttpModel::new(*config)?)),
            Self::Scripted(path) => Ok(Arc::new(ScriptedModel::from_file(&path)?)),
        }
    }
}

/// Why a chosen model cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The configuration cannot work.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The script cannot be played.
    #[error(transparent)]
    Script(#[from] ScriptError),
}

/// A choice and what led to it.
#[derive(Debug, Clone)]
pub struct ChosenModel {
    /// The model.
    pub choice: ModelChoice,
    /// Why this one.
    pub because: ChoiceReason,
}

/// The reason for a choice; its `Display` goes behind "using MODEL, ".
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChoiceReason {
    /// The user named it.
    Asked,
    /// This variable holds a key.
    Key(String),
    /// A key is stored for this provider.
    Stored(String),
    /// `models.json` names it, and it needs no key.
    Own,
    /// A server listens on this port of the machine.
    Local(u16),
    /// A server of the user's answers at this address.
    Server(String),
}

impl fmt::Display for ChoiceReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked => f.write_str("as asked for"),
            Self::Key(variable) => write!(f, "because {variable} is set"),
            Self::Stored(provider) => write!(f, "because a key is stored for {provider}"),
            Self::Own => f.write_str("because models.json names it"),
            Self::Local(port) => write!(f, "because a server listens on port {port}"),
            Self::Server(address) => write!(f, "because a server answers at {address}"),
        }
    }
}

/// Chooses a model: flags, then keys in the environment or stored, then a server of `models.json`, then a local server
/// on its default port or where the user says that it is.
///
/// A key goes to its own provider only: with an address but no provider, the keys of the environment stay where they
/// are (but for `HAFT_API_KEY`).
///
/// # Errors
/// [`ChooseError`], whose message says what to do.
pub async fn choose_model(
    wish: ModelPreference,
    models: &ModelsFile,
    around: &dyn EnvironmentProbe,
) -> Result<ChosenModel, ChooseError> {
    let wish = with_named_provider(wish, models);
    match wish.provider.clone() {
        Some(name) if name == "scripted" => {
            let path = wish.model.ok_or(ChooseError::NoScript)?;
            Ok(ChosenModel { choice: ModelChoice::Scripted(path.into()), because: ChoiceReason::Asked })
        }
        Some(name) => {
            let provider = find_provider(&name, &wish, models)?;
            choose_http(provider, wish, ChoiceReason::Asked, around).await
        }
        None => choose_unnamed(wish, models, around).await,
    }
}

/// Takes `provider/model` apart, and an address without a provider as a compatible server.
fn with_named_provider(mut wish: ModelPreference, models: &ModelsFile) -> ModelPreference {
    if wish.provider.is_none() && wish.base_url.is_some() {
        wish.provider = Some("compatible".to_owned());
    }
    if wish.provider.is_none()
        && let Some((name, model)) =
            wish.model.as_deref().and_then(|model| split_provider(model, None, models))
    {
        (wish.provider, wish.model) = (Some(name), Some(model));
    }
    wish
}

fn find_provider<'a>(
    name: &'a str,
    wish: &ModelPreference,
    models: &'a ModelsFile,
) -> Result<ProviderCandidate<'a>, ChooseError> {
    // Any name is a compatible server's once there is an address.
    let compatible = ProviderCandidate { name, preset: find_preset("compatible"), own: None, models };
    let own = || wish.base_url.as_ref().map(|_| compatible);
    ProviderCandidate::by_name(name, models).or_else(own).ok_or_else(|| {
        let presets = PRESETS.iter().map(|preset| preset.name);
        let known: Vec<&str> = presets.chain(models.custom_providers()).chain(["scripted"]).collect();
        ChooseError::UnknownProvider { name: name.to_owned(), known: known.join(", ") }
    })
}

/// No provider was named.
async fn choose_unnamed(
    wish: ModelPreference,
    models: &ModelsFile,
    around: &dyn EnvironmentProbe,
) -> Result<ChosenModel, ChooseError> {
    let knows =
        |provider: &ProviderCandidate<'_>| wish.model.as_ref().is_some_and(|model| provider.has_model(model));
    if wish.api_key.is_some() {
        let provider =
            ProviderCandidate::candidates(models).find(knows).ok_or(ChooseError::KeyWithoutProvider)?;
        return choose_http(provider, wish, ChoiceReason::Asked, around).await;
    }
    let usable = || {
        ProviderCandidate::candidates(models)
            .filter_map(|provider| Some((provider, provider.usable_reason(around)?)))
    };
    let fitting = usable().find(|(provider, _)| knows(provider)).or_else(|| usable().next());
    if let Some((provider, because)) = fitting {
        return choose_http(provider, wish, because, around).await;
    }
    let servers = local_servers(models, around).await;
    let serves =
        |server: &&LocalServer| wish.model.as_ref().is_some_and(|model| server.models.contains(model));
    let server = servers.iter().find(serves).or(servers.first()).ok_or(ChooseError::Nothing)?;
    let provider = ProviderCandidate::from_preset(server.preset, models);
    let model = wish.model.clone().or_else(|| provider.default_model());
    let model = model.or_else(|| server.models.first().cloned());
    choose_http(provider, ModelPreference { model, ..wish }, server.choice_reason(), around).await
}

/// An address for people. One that cannot be read is not shown, since a password may be anywhere in it.
fn without_password(address: &str) -> String {
    match Url::parse(address) {
        Ok(url) if url.has_host() => format!("{}{}", url.origin().ascii_serialization(), url.path()),
        Ok(_) | Err(_) => "the given address".to_owned(),
    }
}

fn env_value(around: &dyn EnvironmentProbe, name: &str) -> Option<String> {
    around.var(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

async fn choose_http(
    provider: ProviderCandidate<'_>,
    wish: ModelPreference,
    because: ChoiceReason,
    around: &dyn EnvironmentProbe,
) -> Result<ChosenModel, ChooseError> {
    let name = || provider.name.to_owned();
    let base_url = wish.base_url.clone().or_else(|| provider.own_address(around));
    let usual = provider.preset.and_then(|preset| preset.base_url);
    let local = provider.preset.is_some_and(|preset| preset.local_port.is_some());
    let api_key = wish.api_key.clone().or_else(|| provider.key(around).map(|(key, _)| key));
    let Some(address) = base_url.as_deref().or(usual) else {
        return Err(ChooseError::NoBaseUrl { provider: name() });
    };
    let own_address = base_url.is_some() || local;
    // Whoever names a variable for a key means it to be sent.
    let key_named = provider.own.is_some_and(|own| own.key_env.is_some());
    if let (None, Some(variable)) = (&api_key, provider.key_env().filter(|_| key_named || !own_address)) {
        return Err(ChooseError::NoKey { provider: name(), variable: variable.to_owned() });
    }
    let address = address.to_owned();
    let mut headers = configured_headers(&provider, around)?;
    headers.extend(wish.headers);
    let mut config = ModelConfig {
        base_url,
        api_key,
        key_env: provider.key_env().map(str::to_owned),
        headers,
        max_output_tokens: wish.max_output_tokens,
        ..ModelConfig::new(provider.dialect(), provider.name, "")
    };
    config.model = match wish.model.or_else(|| provider.default_model()) {
        Some(model) => model,
        None if own_address && !provider.lists_models() => first_listed(&config, address, around).await?,
        None => return Err(ChooseError::NoModel { provider: name() }),
    };
    let own = provider.own.and_then(|own| own.models.get(&config.model));
    config.facts = own.cloned().unwrap_or_default();
    Ok(ChosenModel { choice: ModelChoice::Http(Box::new(config)), because })
}

async fn first_listed(
    config: &ModelConfig,
    address: String,
    around: &dyn EnvironmentProbe,
) -> Result<String, ChooseError> {
    let none = ChooseError::NoAnswer { address: without_password(&address) };
    let server = ModelConfig { base_url: Some(address), ..config.clone() };
    around.list_models(&server).await.into_iter().next().ok_or(none)
}

/// The headers of `models.json`, with their variables in place.
fn configured_headers(
    provider: &ProviderCandidate<'_>,
    around: &dyn EnvironmentProbe,
) -> Result<Vec<(String, String)>, ChooseError> {
    let written = provider.own.map(|own| own.headers.as_slice()).unwrap_or_default();
    let made = written.iter().map(|(header, value)| {
        let value = expand_variables(value, |name| around.var(name)).map_err(|source| {
            ChooseError::Header { provider: provider.name.to_owned(), header: header.clone(), source }
        })?;
        Ok((header.clone(), value))
    });
    made.collect()
}

/// Why there is no model to use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChooseError {
    /// Nothing was asked for and nothing was found.
    #[error(
        "no model is configured; pass --provider and --model, set ANTHROPIC_API_KEY or OPENAI_API_KEY, save a key \
         with haft login, or start a local server (Ollama, llama.cpp, vLLM or LM Studio) on its default port; \
         haft demo runs without a model"
    )]
    Nothing,
    /// The provider is none of the presets, not in `models.json`, and no address was given.
    #[error(
        "unknown provider {name:?}; choose one of {known}, pass --base-url for your own server, or add the \
         provider to models.json"
    )]
    UnknownProvider {
        /// The name that was asked for.
        name: String,
        /// The names that are known.
        known: String,
    },
    /// The provider needs a key.
    #[error("no API key for {provider}; set {variable}, save a key with haft login, or pass --api-key")]
    NoKey {
        /// The provider.
        provider: String,
        /// Where its key is looked for.
        variable: String,
    },
    /// The provider is a kind of server, not one.
    #[error("no server address for {provider}; pass --base-url")]
    NoBaseUrl {
        /// The provider.
        provider: String,
    },
    /// A key was given, but not whose it is.
    #[error("--api-key needs a provider; also pass --provider")]
    KeyWithoutProvider,
    /// The provider has no default model.
    #[error("no model selected for {provider}; pass --model (haft --list-models shows the known models)")]
    NoModel {
        /// The provider.
        provider: String,
    },
    /// A server was to be asked for its models, and gave none.
    #[error(
        "no model available at {address}; start the server, load a model, or pass --model and --base-url"
    )]
    NoAnswer {
        /// The address.
        address: String,
    },
    /// A header that `models.json` gives the provider cannot be made.
    #[error("models.json: cannot build the header {header:?} of {provider}: {source}")]
    Header {
        /// The provider.
        provider: String,
        /// The header's name.
        header: String,
        /// Which variable is missing.
        source: UnsetVariable,
    },
    /// `scripted` needs the script's path.
    #[error("the scripted provider needs a script; pass its path with --model")]
    NoScript,
}
