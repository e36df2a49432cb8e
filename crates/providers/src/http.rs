//! `Model` over HTTP: one configuration for any number of requests.

#![expect(
    clippy::result_large_err,
    reason = "the wire library's error type is large, and a failure is not a hot path"
)]

mod answer_meter;
mod answer_reader;
mod argument_meter;
mod call_ids;
mod client;
mod endpoint;
mod failure;
mod history;
mod request;
mod response_stream;
mod run;
mod simple_get;
mod transport;

use std::fmt;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use async_trait::async_trait;
use futures::{StreamExt, stream};
use haft_core::model::{Model, ModelError, ModelFacts, ModelInfo, ModelRequest, ModelStream};
use haft_protocol::message::TokenUsage;
use rig_core::catalog::ModelSpec;
use secrecy::ExposeSecret;
use tokio_util::sync::CancellationToken;

use crate::catalog;
use crate::config::{ConfigError, ModelConfig};
use crate::presets::find_preset;
use crate::redact::Redactor;
use crate::timeouts::Timeouts;

use call_ids::CallIds;
use client::HttpClient;
use endpoint::ApiEndpoint;
use failure::FailureReporter;
use response_stream::{AttemptError, ResponseStream};
use run::RequestDriver;
use transport::ReplayTransport;

pub(crate) use simple_get::{RequestLimits, send_get};

/// A model behind an HTTP API. Cheap to clone; clones share their connections.
///
/// The network, the certificate store and the TLS library are not used before the first request. The catalog of models
/// is not loaded before the model's limits are needed.
#[derive(Clone)]
pub struct HttpModel {
    setup: Arc<HttpSetup>,
}

/// The setup that all requests of a model share.
pub(crate) struct HttpSetup {
    provider: String,
    model: String,
    max_output_tokens: Option<u64>,
    own_facts: ModelFacts,
    endpoint: ApiEndpoint,
    client: HttpClient,
    reporter: FailureReporter,
    timeouts: Timeouts,
}

impl HttpModel {
    /// Creates a model after checking the configuration; sends nothing.
    ///
    /// # Errors
    /// [`ConfigError`] if the address, a header, the key or the model's id is not valid.
    pub fn new(config: ModelConfig) -> Result<Self, ConfigError> {
        Self::with_timeouts(config, Timeouts::default())
    }

    /// Creates a model as [`HttpModel::new`] does, with other timeouts.
    ///
    /// # Errors
    /// The same as [`HttpModel::new`].
    pub fn with_timeouts(config: ModelConfig, timeouts: Timeouts) -> Result<Self, ConfigError> {
        if config.model.trim().is_empty() {
            return Err(ConfigError::NoModel { provider: config.provider });
        }
        let base_url = endpoint::base_url(&config)?;
        let mut redactor = Redactor::default();
        config.headers.iter().for_each(|(name, value)| redactor.add_header(name, value));
        config.api_key.iter().for_each(|key| redactor.add_key(key.expose_secret()));
        redactor.add_key(base_url.password().unwrap_or(base_url.username()));
        let setup = HttpSetup {
            provider: config.provider.clone(),
            model: config.model.clone(),
            max_output_tokens: config.max_output_tokens,
            own_facts: config.facts.clone(),
            endpoint: ApiEndpoint::new(&config, &base_url),
            client: HttpClient::new(&config, &base_url, &timeouts)?,
            reporter: FailureReporter {
                provider: config.provider.clone(),
                address: base_url.origin().ascii_serialization(),
                key_env: key_env(&config),
                key_sent: config.api_key.is_some(),
                redactor,
            },
            timeouts,
        };
        Ok(Self { setup: Arc::new(setup) })
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
        let (setup, call_ids) = (self.setup.clone(), Arc::new(CallIds::default()));
        let error = move |failed: &AttemptError| setup.reporter.to_failure(failed, true, UNIX_EPOCH).error;
        let transport = ReplayTransport { pieces: pieces.into(), call_ids: call_ids.clone() };
        let answer = self.setup.endpoint.stream(transport, request::build(&self.setup, request)?);
        let answer = answer.map_err(|failed| error(&AttemptError::Failed(failed)))?;
        let answer = ResponseStream::new(answer, call_ids, self.setup.clone());
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
    /// Returns the origin of this model's messages in a session, as `provider/model`.
    fn origin(&self) -> String {
        format!("{}/{}", self.provider, self.model)
    }

    /// Returns the model's entry in the catalog. Called late, because loading the catalog takes milliseconds the first
    /// time.
    fn spec(&self) -> Option<&'static ModelSpec> {
        catalog::find_spec(&self.provider, &self.model)
    }

    /// Returns the user's facts about the model, completed from the catalog.
    fn facts(&self) -> ModelFacts {
        self.own_facts.clone().or(catalog::model_facts(&self.provider, &self.model))
    }

    /// Returns the cost of an answer: by the user's prices, or else as the provider reported, or else by the catalog's
    /// prices.
    fn cost(&self, usage: &TokenUsage, said: Option<f64>) -> f64 {
        let known = || self.facts().prices.map_or(0.0, |prices| prices.cost(usage));
        match self.own_facts.prices {
            Some(prices) => prices.cost(usage),
            None => said.unwrap_or_else(known),
        }
    }
}

#[async_trait]
impl Model for HttpModel {
    fn info(&self) -> ModelInfo {
        ModelInfo { provider: self.setup.provider.clone(), model: self.setup.model.clone() }
    }

    fn facts(&self) -> ModelFacts {
        self.setup.facts()
    }

    async fn stream(
        &self,
        cancel: CancellationToken,
        request: ModelRequest,
    ) -> Result<ModelStream, ModelError> {
        let request = request::build(&self.setup, &request)?;
        Ok(RequestDriver::new(cancel, self.setup.clone(), request).into_stream())
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
