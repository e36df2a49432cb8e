//! A single `GET` request outside the conversation, with the headers of a configuration.

use std::time::Duration;

use reqwest::Url;

use super::client::{HttpClient, read_body};
use super::endpoint;
use crate::config::ModelConfig;
use crate::timeouts::HttpTimeouts;
use crate::wire::root_cause;

/// The answer to a request.
#[derive(Debug)]
pub(crate) struct PlainResponse {
    pub(crate) status: u16,
    pub(crate) body: String,
}

/// The limits of a request: time, and bytes of the answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestLimits {
    pub(crate) wait: Duration,
    pub(crate) body: usize,
}

/// Sends a `GET` request with key and headers. `address` derives its URL from the provider's address.
///
/// # Errors
/// The reason why there was no answer, without secrets.
pub(crate) async fn send_get(
    config: &ModelConfig,
    timeouts: &HttpTimeouts,
    bounds: RequestLimits,
    address: impl FnOnce(&Url) -> String,
) -> Result<PlainResponse, String> {
    let base_url = endpoint::base_url(config).map_err(|error| error.to_string())?;
    let client = HttpClient::new(config, &base_url, timeouts).map_err(|error| error.to_string())?;
    let url: Url = address(&base_url).parse().map_err(|_| "the address is not a valid URL".to_owned())?;
    let mut request = client.get()?.get(url).timeout(bounds.wait).header("anthropic-version", "2023-06-01");
    for (name, value) in client.default_headers() {
        request = request.header(name, value.clone());
    }
    let response = request.send().await.map_err(|error| root_cause(&error.without_url()))?;
    let status = response.status().as_u16();
    let body = read_body(response, bounds.body).await;
    Ok(PlainResponse { status, body: String::from_utf8_lossy(&body).into_owned() })
}
