//! The HTTP client, created at the first request, so that a run without requests loads no certificates.

use std::fmt;
use std::sync::{Arc, OnceLock};

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Proxy, Url, redirect};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;
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
    setup: ClientSetup,
    built: OnceLock<Result<reqwest::Client, String>>,
}

/// The settings of a client that is not created yet.
#[derive(Debug)]
pub(super) struct ClientSetup {
    loopback: bool,
    timeouts: HttpTimeouts,
    certificates: Vec<CertificateDer<'static>>,
    proxy: Option<Proxy>,
}

impl HttpClient {
    pub(super) fn new(
        config: &ModelConfig,
        base_url: &Url,
        timeouts: &HttpTimeouts,
    ) -> Result<Self, ConfigError> {
        let provider = || config.provider.clone();
        let certificates =
            config.ca_certificates.as_deref().map(read_certificates).unwrap_or(Some(Vec::new()));
        let proxy = config.proxy.as_deref().map(Proxy::all).transpose();
        let setup = ClientSetup {
            certificates: certificates.ok_or_else(|| ConfigError::Certificates { provider: provider() })?,
            proxy: proxy.map_err(|_| ConfigError::Proxy { provider: provider() })?,
            ..ClientSetup::for_address(base_url, timeouts)
        };
        let shared = ClientState { headers: build_headers(config)?, setup, built: OnceLock::new() };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Uses this client instead of an own one.
    pub(super) fn with_client(self, client: reqwest::Client) -> Self {
        // An error means that there is a client, which cannot be before the first request.
        let _ = self.shared.built.set(Ok(client));
        self
    }

    /// Returns the key's header and the user's headers, which override those of a request.
    pub(super) fn default_headers(&self) -> &HeaderMap {
        &self.shared.headers
    }

    /// Returns the client; creates it at the first request.
    pub(super) fn get(&self) -> Result<&reqwest::Client, String> {
        let built = self.shared.built.get_or_init(|| self.shared.setup.create_client());
        built.as_ref().map_err(Clone::clone)
    }
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("loopback", &self.shared.setup.loopback).finish_non_exhaustive()
    }
}

impl ClientSetup {
    /// Returns settings with the certificates and the proxies of the system.
    pub(super) fn for_address(url: &Url, timeouts: &HttpTimeouts) -> Self {
        Self { loopback: is_loopback(url), timeouts: *timeouts, certificates: Vec::new(), proxy: None }
    }

    /// Creates a client for loopback or other addresses.
    ///
    /// A loopback address needs neither certificates nor a proxy.
    pub(super) fn create_client(&self) -> Result<reqwest::Client, String> {
        let tls = self.tls_config().map_err(|error| error.to_string())?;
        let builder = set_limits(reqwest::Client::builder(), &self.timeouts)
            .user_agent(concat!("haft/", env!("CARGO_PKG_VERSION")))
            .tls_backend_preconfigured(tls);
        let builder = match &self.proxy {
            Some(proxy) => builder.proxy(proxy.clone()),
            None if self.loopback => builder.no_proxy(),
            None => builder,
        };
        builder.build().map_err(|error| root_cause(&error))
    }

    /// Returns the TLS settings of this client. The TLS provider of the process stays as the program has set it.
    fn tls_config(&self) -> Result<ClientConfig, rustls::Error> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder =
            ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions()?;
        if self.loopback {
            return Ok(builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth());
        }
        let verifier = Verifier::new_with_extra_roots(self.certificates.clone(), provider)?;
        Ok(builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth())
    }
}

/// Sets the time limits of a client, and turns redirects off: no API has them, and a redirect would send the key to
/// another host.
pub(super) fn set_limits(builder: reqwest::ClientBuilder, timeouts: &HttpTimeouts) -> reqwest::ClientBuilder {
    builder.redirect(redirect::Policy::none()).connect_timeout(timeouts.connect).read_timeout(timeouts.idle)
}

/// Reads all certificates of a PEM text; `None` if it is not PEM or has no certificate.
fn read_certificates(pem: &str) -> Option<Vec<CertificateDer<'static>>> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    read.ok().filter(|certificates| !certificates.is_empty())
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
