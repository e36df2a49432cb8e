//! Which model to use: what the user asked for, then keys in the environment, then a server on this machine.

mod machine;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use futures::future::join_all;
use haft_core::model::Model;
use reqwest::Url;
use secrecy::SecretString;

use crate::catalogue::find;
use crate::config::{ConfigError, ModelConfig};
use crate::http::HttpModel;
use crate::presets::{PRESETS, Preset, preset};
use crate::scripted::{ScriptError, Scripted};

pub use machine::Machine;

/// What the user asked for by flags and configuration; everything may be left open.
#[derive(Clone, Default)]
pub struct Wish {
    /// A preset's name, `scripted`, or any name together with [`Wish::base_url`].
    pub provider: Option<String>,
    /// A model's id, also as `provider/model` while [`Wish::provider`] is open; for `scripted`, the script's path.
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

impl fmt::Debug for Wish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Addresses and headers may carry secrets, so only what is harmless is shown.
        f.debug_struct("Wish")
            .field("provider", &self.provider)
            .field("model", &self.model)
            .field("max_output_tokens", &self.max_output_tokens)
            .finish_non_exhaustive()
    }
}

/// What the choice may look at; [`Machine`] is the real thing.
#[async_trait]
pub trait Surroundings: Send + Sync {
    /// An environment variable.
    fn var(&self, name: &str) -> Option<String>;
    /// Whether anything listens on this port of the loopback address.
    async fn listens(&self, port: u16) -> bool;
    /// The ids of the models a server lists; empty when it does not answer as a model server does.
    async fn models(&self, base_url: &str, key: Option<&SecretString>) -> Vec<String>;
}

/// The model to use.
#[derive(Debug, Clone)]
pub enum Choice {
    /// One behind an API.
    Http(Box<ModelConfig>),
    /// A script.
    Scripted(PathBuf),
}

impl Choice {
    /// The model itself. Reads the script of [`Choice::Scripted`]; sends nothing.
    ///
    /// # Errors
    /// [`OpenError`] when the configuration or the script is not valid.
    pub fn open(self) -> Result<Arc<dyn Model>, OpenError> {
        match self {
            Self::Http(config) => Ok(Arc::new(HttpModel::new(*config)?)),
            Self::Scripted(path) => Ok(Arc::new(Scripted::from_file(&path)?)),
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
pub struct Chosen {
    /// The model.
    pub choice: Choice,
    /// Why this one.
    pub because: Because,
}

/// What led to a choice; its `Display` goes behind "using MODEL, ".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Because {
    /// The user named it.
    Asked,
    /// This variable holds a key.
    Key(&'static str),
    /// A server listens on this port of the machine.
    Local(u16),
}

impl fmt::Display for Because {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked => f.write_str("as asked for"),
            Self::Key(variable) => write!(f, "because {variable} is set"),
            Self::Local(port) => write!(f, "because a server listens on port {port}"),
        }
    }
}

/// Why there is no model to use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChooseError {
    /// Nothing was asked for and nothing was found.
    #[error(
        "no model to talk to. Name one with --provider and --model, or set ANTHROPIC_API_KEY or OPENAI_API_KEY, \
         or start a local server (Ollama, llama.cpp, vLLM or LM Studio, on its default port), \
         or see haft at work without any model: haft demo"
    )]
    Nothing,
    /// The provider is none of the presets, and no address was given.
    #[error("unknown provider {name:?}; choose one of {known}, or pass --base-url for a server of your own")]
    UnknownProvider {
        /// What was asked for.
        name: String,
        /// The presets' names.
        known: String,
    },
    /// The provider needs a key.
    #[error("no key for {provider}; set {variable}, write it to auth.json, or pass --api-key")]
    NoKey {
        /// The provider.
        provider: String,
        /// Where its key is looked for.
        variable: &'static str,
    },
    /// The provider is a kind of server, not one.
    #[error("no address for {provider}; pass --base-url")]
    NoBaseUrl {
        /// The provider.
        provider: String,
    },
    /// A key was given, but not whose it is.
    #[error("--api-key was given, but not whose key it is; pass --provider too")]
    KeyWithoutProvider,
    /// The provider has no default model.
    #[error("no model for {provider}; pass --model (haft --list-models shows the known ones)")]
    NoModel {
        /// The provider.
        provider: String,
    },
    /// A server was to be asked for its models, and gave none.
    #[error("no server at {address} lists a model; start it, load a model, or pass --model and --base-url")]
    NoAnswer {
        /// The address.
        address: String,
    },
    /// `scripted` needs the script's path.
    #[error("the scripted model needs a script; pass its path by --model")]
    NoScript,
}

/// A server of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalServer {
    /// Which it is, going by its port.
    pub preset: &'static Preset,
    /// The models it lists; never empty.
    pub models: Vec<String>,
}

/// Chooses a model: flags, then keys in the environment, then a local server on its default port.
///
/// A key goes to its own provider only: with an address but no provider, the keys of the environment stay where they
/// are (but for `HAFT_API_KEY`).
///
/// # Errors
/// [`ChooseError`], whose message says what to do.
pub async fn choose(wish: Wish, around: &dyn Surroundings) -> Result<Chosen, ChooseError> {
    let wish = named(wish);
    match &wish.provider {
        Some(name) if name == "scripted" => {
            let path = wish.model.ok_or(ChooseError::NoScript)?;
            Ok(Chosen { choice: Choice::Scripted(path.into()), because: Because::Asked })
        }
        Some(name) => {
            let preset = known_or_own(name, &wish)?;
            let name = name.clone();
            http(&name, preset, wish, Because::Asked, around).await
        }
        None => open(wish, around).await,
    }
}

/// The local servers that listen now, in the order of [`PRESETS`].
pub async fn local_servers(around: &dyn Surroundings) -> Vec<LocalServer> {
    let found = PRESETS.iter().filter_map(|preset| {
        let (port, url) = (preset.local_port?, preset.base_url?);
        Some(async move {
            // Whatever listens there is asked without a key: it may be anything.
            let models = if around.listens(port).await { around.models(url, None).await } else { Vec::new() };
            (!models.is_empty()).then_some(LocalServer { preset, models })
        })
    });
    join_all(found).await.into_iter().flatten().collect()
}

/// Takes `provider/model` apart, and an address without a provider as a compatible server.
fn named(mut wish: Wish) -> Wish {
    if wish.provider.is_none() && wish.base_url.is_some() {
        wish.provider = Some("compatible".to_owned());
    }
    if wish.provider.is_none()
        && let Some((name, model)) = wish.model.as_deref().and_then(|model| model.split_once('/'))
        && (name == "scripted" || preset(name).is_some())
    {
        (wish.provider, wish.model) = (Some(name.to_owned()), Some(model.to_owned()));
    }
    wish
}

fn known_or_own(name: &str, wish: &Wish) -> Result<&'static Preset, ChooseError> {
    let own = wish.base_url.as_ref().and_then(|_| preset("compatible"));
    preset(name).or(own).ok_or_else(|| {
        let known: Vec<&str> = PRESETS.iter().map(|preset| preset.name).chain(["scripted"]).collect();
        ChooseError::UnknownProvider { name: name.to_owned(), known: known.join(", ") }
    })
}

/// No provider was named.
async fn open(wish: Wish, around: &dyn Surroundings) -> Result<Chosen, ChooseError> {
    let knows =
        |preset: &&Preset| wish.model.as_ref().is_some_and(|model| find(preset.name, model).is_some());
    let hosted = || PRESETS.iter().filter(|preset| preset.local_port.is_none() && preset.base_url.is_some());
    if wish.api_key.is_some() {
        let preset = hosted().find(knows).ok_or(ChooseError::KeyWithoutProvider)?;
        return http(preset.name, preset, wish, Because::Asked, around).await;
    }
    let keyed = || hosted().filter_map(|preset| Some((preset, key_variable(preset, around)?)));
    let fitting = keyed().find(|(preset, _)| knows(preset)).or_else(|| keyed().next());
    if let Some((preset, variable)) = fitting {
        return http(preset.name, preset, wish, Because::Key(variable), around).await;
    }
    let servers = local_servers(around).await;
    let serves =
        |server: &&LocalServer| wish.model.as_ref().is_some_and(|model| server.models.contains(model));
    let server = servers.iter().find(serves).or(servers.first()).ok_or(ChooseError::Nothing)?;
    let because = Because::Local(server.preset.local_port.unwrap_or_default());
    let model = wish.model.clone().or_else(|| server.models.first().cloned());
    http(server.preset.name, server.preset, Wish { model, ..wish }, because, around).await
}

/// An address for people. One that cannot be read is not shown, since a password may be anywhere in it.
fn without_password(address: &str) -> String {
    match Url::parse(address) {
        Ok(url) if url.has_host() => format!("{}{}", url.origin().ascii_serialization(), url.path()),
        Ok(_) | Err(_) => "that address".to_owned(),
    }
}

fn key_variable(preset: &Preset, around: &dyn Surroundings) -> Option<&'static str> {
    preset.key_env.filter(|variable| value(around, variable).is_some())
}

/// A variable that is set to something.
fn value(around: &dyn Surroundings, name: &str) -> Option<String> {
    around.var(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

async fn http(
    name: &str,
    preset: &'static Preset,
    wish: Wish,
    because: Because,
    around: &dyn Surroundings,
) -> Result<Chosen, ChooseError> {
    let base_url = wish.base_url.or_else(|| value(around, preset.base_url_env?));
    let from_env = || value(around, preset.key_env?).map(SecretString::from);
    let api_key = wish.api_key.or_else(from_env);
    if base_url.is_none() && preset.base_url.is_none() {
        return Err(ChooseError::NoBaseUrl { provider: name.to_owned() });
    }
    let own_address = base_url.is_some() || preset.local_port.is_some();
    if let (None, false, Some(variable)) = (&api_key, own_address, preset.key_env) {
        return Err(ChooseError::NoKey { provider: name.to_owned(), variable });
    }
    let asked = wish.model.or_else(|| preset.default_model.map(str::to_owned));
    let model = match asked {
        Some(model) => model,
        None if own_address => {
            let address = base_url.as_deref().or(preset.base_url).unwrap_or_default();
            let models = around.models(address, api_key.as_ref()).await;
            let none = || ChooseError::NoAnswer { address: without_password(address) };
            models.into_iter().next().ok_or_else(none)?
        }
        None => return Err(ChooseError::NoModel { provider: name.to_owned() }),
    };
    let config = ModelConfig {
        base_url,
        api_key,
        headers: wish.headers,
        max_output_tokens: wish.max_output_tokens,
        ..ModelConfig::new(preset.dialect, name, model)
    };
    Ok(Chosen { choice: Choice::Http(Box::new(config)), because })
}
