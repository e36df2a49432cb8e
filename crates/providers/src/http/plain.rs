//! A request beside the conversation: a `GET` with the headers of a configuration.

use reqwest::Url;

use super::client::{Client, root_cause};
use super::endpoint;
use crate::config::ModelConfig;
use crate::timeouts::Timeouts;

/// What came back.
#[derive(Debug)]
pub(crate) struct Plain {
    pub(crate) status: u16,
    /// Its beginning.
    pub(crate) body: String,
}

/// Sends a `GET` to what `address` makes of the provider's address, with key and headers.
///
/// # Errors
/// Why there was no answer, without any secret.
pub(crate) async fn ask_plainly(
    config: &ModelConfig,
    address: impl FnOnce(&Url) -> String,
) -> Result<Plain, String> {
    let timeouts = Timeouts::default();
    let base_url = endpoint::base_url(config).map_err(|error| error.to_string())?;
    let client = Client::new(config, &base_url, &timeouts).map_err(|error| error.to_string())?;
    let url: Url = address(&base_url).parse().map_err(|_| "its address cannot be used".to_owned())?;
    let mut request =
        client.get()?.get(url).timeout(timeouts.probe_key).header("anthropic-version", "2023-06-01");
    for (name, value) in client.headers() {
        request = request.header(name, value.clone());
    }
    let mut response = request.send().await.map_err(|error| root_cause(&error.without_url()))?;
    let status = response.status().as_u16();
    let mut body = Vec::new();
    while body.len() < BODY_LIMIT {
        match response.chunk().await {
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Ok(None) | Err(_) => break,
        }
    }
    body.truncate(BODY_LIMIT);
    Ok(Plain { status, body: String::from_utf8_lossy(&body).into_owned() })
}

/// How much of an answer is kept.
const BODY_LIMIT: usize = 16 * 1024;
