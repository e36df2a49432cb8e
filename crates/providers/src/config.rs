//! The configuration of a model over HTTP.

use std::fmt;

use haft_core::model::ModelFacts;
use secrecy::SecretString;
use serde::Deserialize;

/// The API a server speaks.
/// In files it is written `anthropic`, `openai-chat`, `openai-responses`, `gemini`, `ollama`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
pub enum ApiDialect {
    /// Anthropic Messages, `POST /v1/messages`.
    #[serde(rename = "anthropic")]
    AnthropicMessages,
    /// OpenAI Chat Completions, `POST /chat/completions`: what compatible and local servers speak.
    #[serde(rename = "openai-chat")]
    OpenAiChat,
    /// OpenAI Responses, `POST /responses`.
    #[serde(rename = "openai-responses")]
    OpenAiResponses,
    /// Gemini, `POST /v1beta/models/MODEL:streamGenerateContent`.
    #[serde(rename = "gemini")]
    Gemini,
    /// Ollama's own, `POST /api/chat`.
    #[serde(rename = "ollama")]
    Ollama,
}

/// One model at one server.
#[derive(Clone)]
pub struct ModelConfig {
    /// The API.
    pub dialect: ApiDialect,
    /// The name of the provider, as in [`crate::PRESETS`] or any name of your own; part of
    /// [`ModelInfo`](haft_core::model::ModelInfo) and of what a session may replay.
    pub provider: String,
    /// The model's id there.
    pub model: String,
    /// Where the API is; [`None`] is the preset's own address. With or without a trailing `/v1`.
    pub base_url: Option<String>,
    /// The key; [`None`] sends none.
    pub api_key: Option<SecretString>,
    /// The variable that holds the key, for what is said when the key is missing or refused.
    pub key_env: Option<String>,
    /// Headers of every request; they win over what the dialect sends by itself. Their values are treated as
    /// secrets.
    pub headers: Vec<(String, String)>,
    /// The longest answer in tokens; [`None`] leaves it to the provider, or to what the catalogue knows.
    pub max_output_tokens: Option<u64>,
    /// The facts of the model, in place of those of the catalogue.
    pub facts: ModelFacts,
}

impl ModelConfig {
    /// A configuration with nothing optional set.
    pub fn new(dialect: ApiDialect, provider: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            dialect,
            provider: provider.into(),
            model: model.into(),
            base_url: None,
            api_key: None,
            key_env: None,
            headers: Vec::new(),
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

/// Why a configuration cannot work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// Neither the configuration nor a preset says where the server is.
    #[error("no server address for provider {provider:?}; pass --base-url")]
    NoBaseUrl {
        /// The provider.
        provider: String,
    },
    /// The address is no `http://` or `https://` URL.
    #[error("the base URL of provider {provider:?} is not an http or https URL; check --base-url")]
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
    /// The model's id is empty.
    #[error("no model selected for provider {provider:?}; pass --model")]
    NoModel {
        /// The provider.
        provider: String,
    },
}
