//! Requests for web pages, with the certificates and proxies of requests to models.

use reqwest::header::ACCEPT;
use reqwest::{Response, Url};

use super::client::ClientSetup;
use crate::timeouts::HttpTimeouts;
use crate::wire::root_cause;

/// The formats that are asked for; a server may send others.
const ACCEPTED: &str = "text/html, text/plain, text/markdown, application/json;q=0.9, */*;q=0.1";

/// Asks for a web page as text. Follows no redirect. The headers and keys of models are not sent.
///
/// # Errors
/// The reason why there was no answer.
pub async fn get_page(url: Url) -> Result<Response, String> {
    let client = ClientSetup::for_address(&url, &HttpTimeouts::default()).create_client()?;
    let sent = client.get(url).header(ACCEPT, ACCEPTED).send().await;
    sent.map_err(|error| root_cause(&error.without_url()))
}
