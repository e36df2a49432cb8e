//! The HTTP client, created at the first request, so that a run without requests loads no certificates.

use std::fmt;
use std::sync::{Arc, OnceLock};

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Url, redirect};
use secrecy::{ExposeSecret, SecretString};

use crate::config::{ApiDialect, ConfigError, ModelConfig};
use crate::timeouts::HttpTimeouts;
use crate::wire::root_cause;

/// Connections and headers of one configuration; clones share them.
#[derive(Clone)]
pub(super) struct HttpClient {
    shared: Arc<ClientState>,
}

struct ClientState {
    headers: HeaderMap,
    loopback: bool,
    timeouts: HttpTimeouts,
    built: OnceLock<Result<reqwest::Client, String>>,
}

impl HttpClient {
    pub(super) fn new(
        config: &ModelConfig,
        base_url: &Url,
        timeouts: &HttpTimeouts,
    ) -> Result<Self, ConfigError> {
        let shared = ClientState {
            headers: build_headers(config)?,
            loopback: is_loopback(base_url),
            timeouts: *timeouts,
            built: OnceLock::new(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Returns the key's header and the user's headers, which override those of a request.
    pub(super) fn default_headers(&self) -> &HeaderMap {
        &self.shared.headers
    }

    /// Returns the client; creates it at the first request.
    pub(super) fn get(&self) -> Result<&reqwest::Client, String> {
        let built = self.shared.built.get_or_init(|| {
            build(self.shared.loopback, &self.shared.timeouts).map_err(|error| root_cause(&error))
        });
        built.as_ref().map_err(Clone::clone)
    }
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("loopback", &self.shared.loopback).finish_non_exhaustive()
    }
}

/// Creates a client for loopback or other addresses.
///
/// Redirects are never followed, because an API has none and a redirect would send the key to another host. A loopback
/// address needs neither certificates nor a proxy.
fn build(loopback: bool, timeouts: &HttpTimeouts) -> Result<reqwest::Client, reqwest::Error> {
    // An error means that the program has already installed a provider.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = reqwest::Client::builder()
        .redirect(redirect::Policy::none())
        .connect_timeout(timeouts.connect)
        .read_timeout(timeouts.idle)
        .user_agent(concat!("haft/", env!("CARGO_PKG_VERSION")));
    if loopback { builder.no_proxy().tls_certs_only([]).build() } else { builder.build() }
}

/// Reads at most `most` bytes of the body; returns the received part if the connection fails.
pub(super) async fn read_body(mut response: reqwest::Response, most: usize) -> Vec<u8> {
    let mut body = Vec::new();
    while body.len() < most {
        match response.chunk().await {
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Ok(None) | Err(_) => break,
        }
    }
    body.truncate(most);
    body
}

/// True if a URL refers to this machine only, without TLS.
fn is_loopback(url: &Url) -> bool {
    let named = url.scheme() == "http" && url.host_str() == Some("localhost");
    let address = url.host_str().map(|host| host.trim_start_matches('[').trim_end_matches(']'));
    let parsed = address.and_then(|host| host.parse::<std::net::IpAddr>().ok());
    named || (url.scheme() == "http" && parsed.is_some_and(|address| address.is_loopback()))
}

fn build_headers(config: &ModelConfig) -> Result<HeaderMap, ConfigError> {
    let mut headers = HeaderMap::new();
    if let Some(key) = &config.api_key {
        let (name, value) = key_header(config.dialect, key);
        let mut value = value.map_err(|_| ConfigError::Key { provider: config.provider.clone() })?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    for (name, value) in &config.headers {
        let wrong = || ConfigError::Header { name: name.clone() };
        let name = HeaderName::from_bytes(name.trim().as_bytes()).map_err(|_| wrong())?;
        let mut value = HeaderValue::from_str(value.trim()).map_err(|_| wrong())?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

type HeaderResult = Result<HeaderValue, reqwest::header::InvalidHeaderValue>;

fn key_header(dialect: ApiDialect, key: &SecretString) -> (HeaderName, HeaderResult) {
    let key = key.expose_secret();
    match dialect {
        ApiDialect::AnthropicMessages => (HeaderName::from_static("x-api-key"), HeaderValue::from_str(key)),
        ApiDialect::Gemini => (HeaderName::from_static("x-goog-api-key"), HeaderValue::from_str(key)),
        ApiDialect::OpenAiChat | ApiDialect::OpenAiResponses | ApiDialect::Ollama => {
            (AUTHORIZATION, HeaderValue::from_str(&format!("Bearer {key}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_loopback_needs_no_certificates() {
        let check = |url: &str| is_loopback(&Url::parse(url).unwrap());
        assert!(check("http://127.0.0.1:8080/v1") && check("http://localhost:1") && check("http://[::1]:1"));
        assert!(!check("https://127.0.0.1") && !check("http://192.168.0.1") && !check("http://example.org"));
    }
}
