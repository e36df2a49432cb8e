//! The configuration of a model behind an HTTP API.

use std::fmt;

use haft_core::model::{Advice, ModelFacts};
use secrecy::SecretString;
use serde::Deserialize;

/// The API of a server. In files: `anthropic`, `openai-chat`, `openai-responses`, `gemini`, `ollama`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
pub enum ApiDialect {
    /// Anthropic Messages, `POST /v1/messages`.
    #[serde(rename = "anthropic")]
    AnthropicMessages,
    /// OpenAI Chat Completions, `POST /chat/completions`, also used by compatible and local servers.
    #[serde(rename = "openai-chat")]
    OpenAiChat,
    /// OpenAI Responses, `POST /responses`.
    #[serde(rename = "openai-responses")]
    OpenAiResponses,
    /// Gemini, `POST /v1beta/models/MODEL:streamGenerateContent`.
    #[serde(rename = "gemini")]
    Gemini,
    /// Ollama's native API, `POST /api/chat`.
    #[serde(rename = "ollama")]
    Ollama,
}

/// One model at one server.
#[derive(Clone)]
#[non_exhaustive]
pub struct ModelConfig {
    /// The API.
    pub dialect: ApiDialect,
    /// The name of the provider: one of [`crate::PRESETS`] or any other name. Part of
    /// [`ModelId`](haft_core::model::ModelId) and of the origin of messages in a session.
    pub provider: String,
    /// The model's id at the provider.
    pub model: String,
    /// The address of the API, with or without a trailing `/v1`; [`None`] uses the preset's address.
    pub base_url: Option<String>,
    /// The key; [`None`] sends no key.
    pub api_key: Option<SecretString>,
    /// The environment variable of the key, for messages about a missing or rejected key.
    pub key_env: Option<String>,
    /// Headers of every request, which override the dialect's own headers. Their values are treated as secrets.
    pub headers: Vec<(String, String)>,
    /// Certificates of authorities in PEM, trusted in addition to those of the system.
    pub ca_certificates: Option<String>,
    /// The URL of the proxy for all requests; [`None`] uses the one that the environment names, and none for a server of
    /// this machine.
    pub proxy: Option<String>,
    /// The maximum length of an answer in tokens; [`None`] uses the catalog's or the provider's limit.
    pub max_output_tokens: Option<u64>,
    /// The facts of the model, which override those of the catalog.
    pub facts: ModelFacts,
}

impl ModelConfig {
    /// Creates a configuration without optional settings.
    pub fn new(dialect: ApiDialect, provider: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            dialect,
            provider: provider.into(),
            model: model.into(),
            base_url: None,
            api_key: None,
            key_env: None,
            headers: Vec::new(),
            ca_certificates: None,
            proxy: None,
            max_output_tokens: None,
            facts: ModelFacts::default(),
        }
    }
}

impl fmt::Debug for ModelConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("ModelConfig")
            .field("dialect", &self.dialect)
            .field("provider", &self.provider)
            .field("model", &self.model)
            .field("api_key", &self.api_key.as_ref().map(|_| "[redacted]"))
            .field("headers", &headers)
            .field("max_output_tokens", &self.max_output_tokens)
            .finish_non_exhaustive()
    }
}

/// The reasons why a configuration is not valid.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// Neither the configuration nor a preset has the server's address.
    #[error("no server address for provider {provider:?}; set it")]
    NoBaseUrl {
        /// The provider.
        provider: String,
    },
    /// The address is not an `http://` or `https://` URL.
    #[error("the address of provider {provider:?} is not an http or https URL")]
    BaseUrl {
        /// The provider.
        provider: String,
    },
    /// A header has a name or value that HTTP does not allow.
    #[error("the header {name:?} cannot be sent: its name or value has characters that HTTP does not allow")]
    Header {
        /// The header's name.
        name: String,
    },
    /// The key has characters that HTTP does not allow, often a newline from a file.
    #[error(
        "the key of provider {provider:?} has characters that HTTP does not allow; check it for a newline"
    )]
    Key {
        /// The provider.
        provider: String,
    },
    /// The certificates are not PEM.
    #[error("the certificates of provider {provider:?} are not valid PEM")]
    Certificates {
        /// The provider.
        provider: String,
    },
    /// The proxy is not a URL.
    #[error("the proxy of provider {provider:?} is not a URL such as http://host:port")]
    Proxy {
        /// The provider.
        provider: String,
    },
    /// The HTTP library cannot create a client with the program's settings.
    #[error("cannot create the HTTP client of provider {provider:?}: {reason}")]
    Client {
        /// The provider.
        provider: String,
        /// The error of the HTTP library.
        reason: String,
    },
    /// The program was built without the API.
    #[error(
        "this program was built without the API of provider {provider:?}; add the feature {feature:?} of haft-providers"
    )]
    NotBuilt {
        /// The provider.
        provider: String,
        /// The cargo feature of the API.
        feature: &'static str,
    },
    /// The model's id is empty.
    #[error("no model selected for provider {provider:?}")]
    NoModel {
        /// The provider.
        provider: String,
    },
}

impl fmt::Debug for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        haft_core::error::write_report(self, f)
    }
}

impl ConfigError {
    /// Returns the next step that the message does not name, because each program offers it in its own way.
    pub fn advice(&self) -> Option<Advice> {
        match self {
            Self::NoBaseUrl { .. } | Self::BaseUrl { .. } => Some(Advice::BaseUrl),
            Self::NoModel { .. } => Some(Advice::Model),
            Self::Key { .. } => Some(Advice::ApiKey),
            Self::Header { .. }
            | Self::Certificates { .. }
            | Self::Proxy { .. }
            | Self::Client { .. }
            | Self::NotBuilt { .. } => None,
        }
    }
}
