//! The endpoint of a server: its format and its address.

use std::sync::Arc;

use reqwest::Url;

#[cfg(feature = "openai")]
use crate::catalog;
use crate::config::{ApiDialect, ConfigError, ModelConfig};
use crate::presets::find_preset;
use crate::wire::WireFormat;

/// One endpoint of one server. It contains no keys; [`super::client::HttpClient`] adds them to each request.
#[derive(Debug, Clone)]
pub(super) struct ApiEndpoint {
    pub(super) format: Arc<dyn WireFormat>,
    /// The address of the API, without the path of the endpoint.
    base: Url,
    model: String,
}

impl ApiEndpoint {
    pub(super) fn new(config: &ModelConfig, base_url: &Url) -> Result<Self, ConfigError> {
        let format = dialect_format(config, base_url)
            .map_err(|feature| ConfigError::NotBuilt { provider: config.provider.clone(), feature })?;
        Ok(Self { format, base: base_url.clone(), model: config.model.clone() })
    }

    /// Returns the address of requests.
    pub(super) fn request_url(&self) -> Url {
        let mut url = self.base.clone();
        let path = self.format.path(url.path(), &self.model);
        let (path, query) =
            path.split_once('?').map_or((path.as_str(), None), |(path, query)| (path, Some(query)));
        url.set_path(path);
        url.set_query(query);
        url
    }
}

/// Evaluates to a format, or returns the name of the feature that this program was built without.
macro_rules! format_with {
    ($feature:tt, $format:expr) => {{
        #[cfg(feature = $feature)]
        let format: Arc<dyn WireFormat> = Arc::new($format);
        #[cfg(not(feature = $feature))]
        return Err($feature);
        #[cfg(feature = $feature)]
        Ok(format)
    }};
}

/// Returns the format of the configured API.
///
/// # Errors
/// The name of the feature that this program was built without.
fn dialect_format(config: &ModelConfig, base_url: &Url) -> Result<Arc<dyn WireFormat>, &'static str> {
    match config.dialect {
        ApiDialect::AnthropicMessages => format_with!("anthropic", crate::wire::AnthropicMessages),
        ApiDialect::OpenAiChat => format_with!("openai", chat_format(config, base_url)),
        ApiDialect::OpenAiResponses => format_with!("openai", crate::wire::OpenAiResponses),
        ApiDialect::Gemini => format_with!("gemini", crate::wire::GeminiContent::new(&config.model)),
        ApiDialect::Ollama => format_with!("ollama", crate::wire::OllamaChat),
    }
}

#[cfg(feature = "openai")]
fn chat_format(config: &ModelConfig, base_url: &Url) -> crate::wire::ChatCompletions {
    let spec = catalog::find_spec(&config.provider, &config.model);
    let entry = crate::wire::CatalogEntry {
        reads_images: config.facts.images.or(spec.as_ref().map(|spec| spec.images)),
        thinks: spec.as_ref().map(|spec| spec.thinking.is_some()),
        tools_need_thinking_off: spec.is_some_and(|spec| {
            let thinks = spec.notes.default_effort.is_some() && spec.can_disable_thinking();
            thinks && spec.notes.chat_tools_need_thinking_off
        }),
    };
    crate::wire::ChatCompletions::new(
        &config.provider,
        base_url.host_str().unwrap_or_default(),
        &config.model,
        entry,
    )
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
