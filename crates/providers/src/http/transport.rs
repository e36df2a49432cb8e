//! Sends one encoded request and hands its event stream on, frame by frame.

use std::sync::Arc;

use futures::{Stream, StreamExt, stream};
use reqwest::Url;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use rig_core::driver::{self, Exchange, Opened, Opening};
use rig_core::error::ProviderError;
use rig_core::http_client;
use rig_core::http_client::framing::SseFramer;
use rig_core::wire::{Body, Encoded, Wire, WireFrame};

use super::call_ids::CallIds;
use super::client::Client;

/// The way of one attempt to the server. The provider's names for tool calls are noted in passing, since the wire
/// library tells them only when a call is complete.
#[derive(Debug, Clone)]
pub(super) struct Transport {
    pub(super) client: Client,
    pub(super) call_ids: Arc<CallIds>,
}

impl<W: Wire<Payload = Encoded, Frame = WireFrame>> driver::Transport<W> for Transport {
    fn send(&self, payload: Encoded, _exchange: Exchange) -> Opening<WireFrame> {
        let transport = self.clone();
        Opening::new(async move { transport.open(payload).await })
    }
}

impl Transport {
    async fn open(self, payload: Encoded) -> Result<Opened<WireFrame>, ProviderError> {
        let client = self.client.get().map_err(ProviderError::Provider)?;
        let request = self.request(client, payload)?;
        let response = client.execute(request).await.map_err(broken)?;
        let status = response.status();
        let headers = response.headers().clone();
        if !status.is_success() || !is_event_stream(headers.get(CONTENT_TYPE)) {
            let body = read_limited(response).await;
            let error = ProviderError::from_http_response(status, body);
            return Err(error.with_response_headers(Some(headers)));
        }
        let request_id = ["request-id", "x-request-id"].iter().find_map(|name| headers.get(*name));
        let request_id = request_id.and_then(|id| id.to_str().ok()).map(str::to_owned);
        Ok(Opened::new(frames(response, self.call_ids)).with_request_id(request_id))
    }

    fn request(&self, client: &reqwest::Client, payload: Encoded) -> Result<reqwest::Request, ProviderError> {
        let (mut parts, body) = payload.request.into_parts();
        let Body::Bytes(bytes) = body else {
            return Err(ProviderError::request("a conversation is never sent as a form"));
        };
        // The wire library was given no key, so its own authorization is empty.
        parts.headers.remove(AUTHORIZATION);
        parts.headers.remove("x-api-key");
        parts.headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        for (name, value) in self.client.headers() {
            parts.headers.insert(name, value.clone());
        }
        let url: Url = parts.uri.to_string().parse().map_err(ProviderError::Url)?;
        // A name and password in the address become a header, which gives way to the key's and the user's own.
        let request = client.request(parts.method, url).headers(parts.headers).body(bytes);
        request.build().map_err(broken)
    }
}

/// A missing content type is forgiven; anything else but an event stream is an answer of another kind.
fn is_event_stream(content_type: Option<&HeaderValue>) -> bool {
    content_type.is_none_or(|value| {
        value.as_bytes().to_ascii_lowercase().trim_ascii().starts_with(b"text/event-stream")
    })
}

/// How much of a failed request's body is kept.
const BODY_LIMIT: usize = 64 * 1024;

async fn read_limited(mut response: reqwest::Response) -> String {
    let mut body = Vec::new();
    while body.len() < BODY_LIMIT {
        match response.chunk().await {
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Ok(None) | Err(_) => break,
        }
    }
    body.truncate(BODY_LIMIT);
    String::from_utf8_lossy(&body).into_owned()
}

fn frames(
    response: reqwest::Response,
    call_ids: Arc<CallIds>,
) -> impl Stream<Item = Result<WireFrame, ProviderError>> + Send + 'static {
    let mut framer = SseFramer::new();
    response.bytes_stream().flat_map(move |chunk| {
        let frames: Vec<_> = match chunk {
            Ok(bytes) => framer
                .push(&bytes)
                .filter(|event| !event.data.trim().is_empty())
                .inspect(|event| call_ids.note(&event.data))
                .map(|event| Ok(WireFrame::Text(event.data)))
                .collect(),
            Err(error) => vec![Err(broken(error))],
        };
        stream::iter(frames)
    })
}

fn broken(error: reqwest::Error) -> ProviderError {
    ProviderError::from_transport_error(http_client::Error::instance(error.without_url()))
}
