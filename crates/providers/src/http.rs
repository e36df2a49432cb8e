//! `Model` over HTTP: one configuration for any number of requests.

mod answer_stream;
mod chat_fallback;
mod client;
mod endpoint;
mod failure;
mod final_answer;
mod page;
mod request;
mod run;
mod simple_get;

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::UNIX_EPOCH;

use async_trait::async_trait;
use futures::{StreamExt, stream};
use haft_core::model::{Model, ModelError, ModelFacts, ModelId, ModelRequest, ModelStream};
use haft_protocol::message::TokenUsage;
use secrecy::ExposeSecret;
use tokio_util::sync::CancellationToken;

use crate::catalog::{self, ModelSpec};
use crate::config::{ApiDialect, ConfigError, ModelConfig};
use crate::presets::find_preset;
use crate::redact::SecretRedactor;
use crate::timeouts::HttpTimeouts;
use crate::wire::{AnswerError, TurnCache, root_cause};

use answer_stream::AnswerStream;
use chat_fallback::{ChatFallback, FallbackRun};
use client::HttpClient;
use endpoint::ApiEndpoint;
use failure::FailureReporter;
use run::RequestDriver;

pub use page::get_page;
pub(crate) use simple_get::{RequestLimits, send_get};

/// A model behind an HTTP API. Cheap to clone; clones share their connections.
///
/// The network, the certificate store and the TLS library are not used before the first request.
#[derive(Clone)]
pub struct HttpModel {
    setup: Arc<HttpSetup>,
    /// For a server of the user that may not have the Responses API.
    chat: Option<Arc<ChatFallback>>,
}

/// The setup that all requests of a model share.
pub(crate) struct HttpSetup {
    provider: String,
    model: String,
    max_output_tokens: Option<u64>,
    own_facts: ModelFacts,
    /// The model's entry in the catalog, read when it is needed first.
    spec: OnceLock<Option<ModelSpec>>,
    dialect: ApiDialect,
    endpoint: ApiEndpoint,
    /// The conversation as the last request wrote it.
    turns: Mutex<TurnCache>,
    client: HttpClient,
    reporter: FailureReporter,
    timeouts: HttpTimeouts,
}

impl HttpModel {
    /// Creates a model after checking the configuration; sends nothing.
    ///
    /// # Errors
    /// [`ConfigError`] if the address, a header, the key or the model's id is not valid.
    pub fn new(config: ModelConfig) -> Result<Self, ConfigError> {
        Self::with_timeouts(config, HttpTimeouts::default())
    }

    /// Creates a model as [`HttpModel::new`] does, with other timeouts.
    ///
    /// # Errors
    /// The same as [`HttpModel::new`].
    pub fn with_timeouts(config: ModelConfig, timeouts: HttpTimeouts) -> Result<Self, ConfigError> {
        Self::build_model(config, timeouts, None)
    }

    /// Creates a model as [`HttpModel::new`] does, with the HTTP client of a builder. The builder's TLS settings, proxies
    /// and connection limits apply; those of `config` do not.
    ///
    /// haft sets the limits of `timeouts`. It turns redirects off, because a redirect could send the key to another host.
    ///
    /// ```no_run
    /// use haft_providers::{ConfigError, HttpModel, HttpTimeouts, ModelConfig, reqwest};
    ///
    /// fn model(config: ModelConfig) -> Result<HttpModel, ConfigError> {
    ///     let client = reqwest::Client::builder().pool_max_idle_per_host(2);
    ///     HttpModel::with_client_builder(config, HttpTimeouts::default(), client)
    /// }
    /// ```
    ///
    /// # Errors
    /// The same as [`HttpModel::new`], and [`ConfigError::Client`] if the HTTP library rejects the settings.
    pub fn with_client_builder(
        config: ModelConfig,
        timeouts: HttpTimeouts,
        client: reqwest::ClientBuilder,
    ) -> Result<Self, ConfigError> {
        let built = client::set_limits(client, &timeouts).build();
        let provider = config.provider.clone();
        let client = built.map_err(|error| ConfigError::Client { provider, reason: root_cause(&error) })?;
        Self::build_model(config, timeouts, Some(client))
    }

    fn build_model(
        config: ModelConfig,
        timeouts: HttpTimeouts,
        client: Option<reqwest::Client>,
    ) -> Result<Self, ConfigError> {
        let is_own_server = config.base_url.is_some() && config.provider == "openai";
        let chat = match config.dialect {
            ApiDialect::OpenAiResponses if is_own_server => {
                let chat = ModelConfig { dialect: ApiDialect::OpenAiChat, ..config.clone() };
                Some(Arc::new(ChatFallback {
                    setup: Arc::new(HttpSetup::new(chat, timeouts, client.clone())?),
                }))
            }
            ApiDialect::AnthropicMessages
            | ApiDialect::OpenAiChat
            | ApiDialect::OpenAiResponses
            | ApiDialect::Gemini
            | ApiDialect::Ollama => None,
        };
        Ok(Self { setup: Arc::new(HttpSetup::new(config, timeouts, client)?), chat })
    }

    /// Reads an answer to `request` from these pieces of its body, without a connection and without retries. For tests.
    ///
    /// # Errors
    /// If the request cannot be encoded.
    #[doc(hidden)]
    pub fn replay_answer(
        &self,
        request: &ModelRequest,
        pieces: Vec<Vec<u8>>,
    ) -> Result<ModelStream, ModelError> {
        request::encode(&self.setup, request)?;
        let setup = self.setup.clone();
        let error = move |failed: &AnswerError| setup.reporter.to_failure(failed, true, UNIX_EPOCH).error;
        let answer = AnswerStream::from_recording(self.setup.clone(), pieces);
        let events = stream::unfold(Some(answer), |answer| async {
            let mut answer = answer?;
            let event = answer.next().await?;
            let rest = event.is_ok().then_some(answer);
            Some((event, rest))
        });
        Ok(events.map(move |event| event.map_err(|failed| error(&failed))).boxed())
    }
}

/// Returns the environment variable of the key, from the configuration or the preset.
fn key_env(config: &ModelConfig) -> Option<String> {
    let usual = || find_preset(&config.provider)?.key_env.map(str::to_owned);
    config.key_env.clone().or_else(usual)
}

impl HttpSetup {
    fn new(
        config: ModelConfig,
        timeouts: HttpTimeouts,
        client: Option<reqwest::Client>,
    ) -> Result<Self, ConfigError> {
        if config.model.trim().is_empty() {
            return Err(ConfigError::NoModel { provider: config.provider });
        }
        let base_url = endpoint::base_url(&config)?;
        let mut redactor = SecretRedactor::default();
        config.headers.iter().for_each(|(name, value)| redactor.add_header(name, value));
        config.api_key.iter().for_each(|key| redactor.add_key(key.expose_secret()));
        let proxy = config.proxy.as_deref().and_then(|proxy| reqwest::Url::parse(proxy).ok());
        for url in proxy.iter().chain([&base_url]) {
            redactor.add_key(url.password().unwrap_or(url.username()));
        }
        Ok(Self {
            provider: config.provider.clone(),
            model: config.model.clone(),
            max_output_tokens: config.max_output_tokens,
            own_facts: config.facts.clone(),
            spec: OnceLock::new(),
            dialect: config.dialect,
            turns: Mutex::default(),
            endpoint: ApiEndpoint::new(&config, &base_url)?,
            client: match client {
                Some(client) => HttpClient::new(&config, &base_url, &timeouts)?.with_client(client),
                None => HttpClient::new(&config, &base_url, &timeouts)?,
            },
            reporter: FailureReporter {
                provider: config.provider.clone(),
                address: base_url.origin().ascii_serialization(),
                key_env: key_env(&config),
                key_sent: config.api_key.is_some(),
                redactor,
            },
            timeouts,
        })
    }

    /// Returns the origin of this model's messages in a session, as `provider/model`.
    fn origin(&self) -> String {
        format!("{}/{}", self.provider, self.model)
    }

    /// Returns the model's entry in the catalog.
    fn catalog_spec(&self) -> Option<&ModelSpec> {
        self.spec.get_or_init(|| catalog::find_spec(&self.provider, &self.model)).as_ref()
    }

    /// Returns the user's facts about the model, completed from the catalog.
    fn known_facts(&self) -> ModelFacts {
        self.own_facts.clone().or(self.catalog_spec().map(ModelSpec::to_facts).unwrap_or_default())
    }

    /// Returns the cost of an answer: by the user's prices, or else as the provider reported, or else by the catalog's
    /// prices.
    fn answer_cost(&self, usage: &TokenUsage, said: Option<f64>) -> f64 {
        let known = || self.known_facts().prices.map_or(0.0, |prices| prices.cost(usage));
        match self.own_facts.prices {
            Some(prices) => prices.cost(usage),
            None => said.unwrap_or_else(known),
        }
    }
}

#[async_trait]
impl Model for HttpModel {
    fn info(&self) -> ModelId {
        ModelId { provider: self.setup.provider.clone(), model: self.setup.model.clone() }
    }

    fn facts(&self) -> ModelFacts {
        self.setup.known_facts()
    }

    async fn stream(
        &self,
        cancel: CancellationToken,
        request: ModelRequest,
    ) -> Result<ModelStream, ModelError> {
        let Some(fallback) = &self.chat else {
            return Ok(RequestDriver::prepare_request(&self.setup, &cancel, &request).await?.into_stream());
        };
        if fallback.is_in_use() {
            return Ok(RequestDriver::prepare_request(&fallback.setup, &cancel, &request)
                .await?
                .into_stream());
        }
        let responses = RequestDriver::prepare_request(&self.setup, &cancel, &request).await?;
        let fallback = fallback.clone();
        Ok(FallbackRun { responses, chat: None, fallback, request, cancel, is_over: false }.into_stream())
    }
}

impl fmt::Debug for HttpModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpModel")
            .field("provider", &self.setup.provider)
            .field("model", &self.setup.model)
            .field("address", &self.setup.reporter.address)
            .finish_non_exhaustive()
    }
}
