//! The wire library's endpoints behind one type.

use reqwest::Url;
use rig_core::completion::CompletionRequest;
use rig_core::driver::Transport;
use rig_core::error::ProviderError;
use rig_core::providers::anthropic::wire::{ANTHROPIC, AnthropicConfig, Messages};
use rig_core::providers::gemini::GeminiConfig;
use rig_core::providers::gemini::completion::GenerateContent;
use rig_core::providers::ollama::{self, OllamaConfig};
use rig_core::providers::openai::OpenAIConfig;
use rig_core::providers::openai::responses_api::wire::Responses;
use rig_core::providers::openai::wire::{self, Chat, LLAMACPP, OLLAMA, OPENAI};
use rig_core::streaming::CompletionStream;

use crate::config::{ApiDialect, ConfigError, ModelConfig};
use crate::presets::find_preset;

/// One endpoint of one server. It contains no keys; [`super::client::HttpClient`] adds them to each request.
#[derive(Debug, Clone)]
pub(super) enum ApiEndpoint {
    Messages(Box<Messages>),
    Chat(Box<Chat>),
    Responses(Box<Responses>),
    Gemini(Box<GenerateContent>),
    Ollama(Box<ollama::Chat>),
}

impl ApiEndpoint {
    pub(super) fn new(config: &ModelConfig, base_url: &Url) -> Self {
        let address = base_url.as_str().trim_end_matches('/');
        match config.dialect {
            ApiDialect::AnthropicMessages => Self::Messages(Box::new(messages(config, address))),
            ApiDialect::OpenAiChat => {
                let provider = OpenAIConfig::with_key(&chat_dialect(&config.provider), "");
                Self::Chat(Box::new(provider.with_base_url(address).chat(&config.model)))
            }
            ApiDialect::OpenAiResponses => {
                let provider = OpenAIConfig::with_key(&OPENAI, "").with_base_url(address);
                Self::Responses(Box::new(Responses::new(provider, &config.model)))
            }
            ApiDialect::Gemini => {
                let provider = GeminiConfig::new("").with_base_url(address);
                Self::Gemini(Box::new(GenerateContent::new(provider, &config.model)))
            }
            ApiDialect::Ollama => {
                let provider = OllamaConfig::new().with_base_url(address);
                Self::Ollama(Box::new(ollama::Chat::new(provider, &config.model)))
            }
        }
    }

    /// Encodes the request. Nothing is sent before the stream is polled.
    pub(super) fn stream<T>(
        &self,
        transport: T,
        request: CompletionRequest,
    ) -> Result<CompletionStream, ProviderError>
    where
        T: Transport<Messages>
            + Transport<Chat>
            + Transport<Responses>
            + Transport<GenerateContent>
            + Transport<ollama::Chat>,
    {
        match self {
            Self::Messages(wire) => rig_core::Model::new((**wire).clone(), transport).stream(request),
            Self::Chat(wire) => rig_core::Model::new((**wire).clone(), transport).stream(request),
            Self::Responses(wire) => rig_core::Model::new((**wire).clone(), transport).stream(request),
            Self::Gemini(wire) => rig_core::Model::new((**wire).clone(), transport).stream(request),
            Self::Ollama(wire) => rig_core::Model::new((**wire).clone(), transport).stream(request),
        }
    }
}

fn messages(config: &ModelConfig, address: &str) -> Messages {
    let provider = AnthropicConfig::with_key(&ANTHROPIC, "").with_base_url(address);
    Messages {
        default_max_tokens: None,
        tool_input_streaming: provider.dialect.quirks.tool_input_streaming,
        provider,
        model: config.model.clone(),
        prompt_caching: true,
        static_prefix_cache_ttl: None,
        strict_tools: false,
    }
}

/// Returns the dialect of a Chat Completions server; a generic one for an unknown server.
fn chat_dialect(provider: &str) -> wire::Dialect {
    known_dialect(provider).unwrap_or_else(|| wire::Dialect::gateway("compatible", "", "HAFT_API_KEY"))
}

fn known_dialect(provider: &str) -> Option<wire::Dialect> {
    match provider {
        "openai" | "openai-chat" => Some(OPENAI),
        "ollama" => Some(OLLAMA),
        "llama.cpp" => Some(LLAMACPP),
        other => wire::by_name(other).copied(),
    }
}

/// True if the wire library does not know this server and therefore sends it no thinking options.
pub(super) fn is_unknown(provider: &str) -> bool {
    known_dialect(provider).is_none()
}

/// Returns the address of the API from the configuration or the preset. An included endpoint path is removed, and `/v1`
/// is added if there is only a host.
pub(super) fn base_url(config: &ModelConfig) -> Result<Url, ConfigError> {
    let given = config.base_url.as_deref();
    let text = given.or_else(|| find_preset(&config.provider).and_then(|preset| preset.base_url));
    let Some(text) = text else {
        return Err(ConfigError::NoBaseUrl { provider: config.provider.clone() });
    };
    let mut text = text.trim().trim_end_matches('/');
    // The paths that the dialect adds itself.
    let endpoints: &[&str] = match config.dialect {
        ApiDialect::AnthropicMessages | ApiDialect::OpenAiChat | ApiDialect::OpenAiResponses => {
            &["/chat/completions", "/responses", "/messages"]
        }
        ApiDialect::Gemini => &["/models", "/v1beta"],
        // Many users configure the address of Ollama's other API.
        ApiDialect::Ollama => &["/chat", "/api", "/v1"],
    };
    for endpoint in endpoints {
        text = text.strip_suffix(endpoint).unwrap_or(text);
    }
    let wrong = || ConfigError::BaseUrl { provider: config.provider.clone() };
    let mut url = Url::parse(text).map_err(|_| wrong())?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err(wrong());
    }
    if url.path() == "/" && matches!(config.dialect, ApiDialect::OpenAiChat | ApiDialect::OpenAiResponses) {
        url.set_path("/v1");
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(dialect: ApiDialect, provider: &str, given: Option<&str>, expect: Result<&str, ConfigError>) {
        let mut config = ModelConfig::new(dialect, provider, "m");
        config.base_url = given.map(str::to_owned);
        let url = base_url(&config);
        assert_eq!(url.as_ref().map(Url::as_str), expect.as_ref().map(|text| *text));
    }

    #[test]
    fn addresses_are_completed() {
        let chat = ApiDialect::OpenAiChat;
        check(chat, "ollama", None, Ok("http://127.0.0.1:11434/v1"));
        check(chat, "x", Some("http://host:1"), Ok("http://host:1/v1"));
        check(chat, "x", Some("http://host:1/"), Ok("http://host:1/v1"));
        check(chat, "x", Some("http://host/v1/chat/completions"), Ok("http://host/v1"));
        check(chat, "x", Some("https://host/api/v3/"), Ok("https://host/api/v3"));
        check(ApiDialect::AnthropicMessages, "anthropic", None, Ok("https://api.anthropic.com/"));
        check(ApiDialect::AnthropicMessages, "x", Some("http://h/v1/messages"), Ok("http://h/v1"));
        check(ApiDialect::OpenAiResponses, "openai", Some("http://h/v1/responses"), Ok("http://h/v1"));
    }

    #[test]
    fn rejects_invalid_addresses() {
        let chat = ApiDialect::OpenAiChat;
        check(chat, "x", None, Err(ConfigError::NoBaseUrl { provider: "x".into() }));
        for given in ["ftp://host", "host:80", "http://", "nonsense", ""] {
            check(chat, "x", Some(given), Err(ConfigError::BaseUrl { provider: "x".into() }));
        }
    }
}
