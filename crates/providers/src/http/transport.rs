//! Sends one encoded request and forwards its event stream frame by frame.

use std::sync::Arc;

use futures::{Stream, StreamExt, stream};
use reqwest::Url;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use rig_core::driver::{self, Exchange, Opened, Opening};
use rig_core::error::ProviderError;
use rig_core::http_client;
use rig_core::http_client::framing::{Framing, SseFramer};
use rig_core::wire::{Body, Encoded, Wire, WireFrame};

use super::answer_reader::{AnswerFramer, AnswerReader};
use super::call_ids::CallIds;
use super::client::{HttpClient, read_body};
use crate::limits::MAX_ERROR_BODY;

/// The transport of one attempt. It also collects the provider's ids of tool calls, because the wire library reports
/// them only when a call is complete.
#[derive(Debug, Clone)]
pub(super) struct HttpTransport {
    pub(super) client: HttpClient,
    pub(super) call_ids: Arc<CallIds>,
}

impl<W: Wire<Payload = Encoded, Frame = WireFrame>> driver::Transport<W> for HttpTransport {
    fn send(&self, payload: Encoded, _exchange: Exchange) -> Opening<WireFrame> {
        let transport = self.clone();
        Opening::new(async move { transport.open(payload).await })
    }
}

impl HttpTransport {
    async fn open(self, payload: Encoded) -> Result<Opened<WireFrame>, ProviderError> {
        let client = self.client.get().map_err(ProviderError::Provider)?;
        let framing = payload.framing;
        let request = self.request(client, payload)?;
        let response = client.execute(request).await.map_err(transport_error)?;
        let status = response.status();
        let headers = response.headers().clone();
        if !status.is_success() || !is_stream(framing, headers.get(CONTENT_TYPE)) {
            let body = read_body(response, MAX_ERROR_BODY).await;
            let body = String::from_utf8_lossy(&body).into_owned();
            let error = ProviderError::from_http_response(status, body);
            return Err(error.with_response_headers(Some(headers)));
        }
        let request_id = ["request-id", "x-request-id"].iter().find_map(|name| headers.get(*name));
        let request_id = request_id.and_then(|id| id.to_str().ok()).map(str::to_owned);
        let chunks = response.bytes_stream().map(|chunk| chunk.map_err(transport_error));
        Ok(Opened::new(wire_frames(chunks, framing, self.call_ids)).with_request_id(request_id))
    }

    fn request(&self, client: &reqwest::Client, payload: Encoded) -> Result<reqwest::Request, ProviderError> {
        let (mut parts, body) = payload.request.into_parts();
        let Body::Bytes(bytes) = body else {
            return Err(ProviderError::request("a conversation is never sent as a form"));
        };
        // The wire library has no key, so its own authorization header is empty.
        parts.headers.remove(AUTHORIZATION);
        parts.headers.remove("x-api-key");
        let accepted = if payload.framing == Framing::Ndjson { NDJSON } else { EVENTS };
        parts.headers.insert(ACCEPT, HeaderValue::from_static(accepted));
        for (name, value) in self.client.headers() {
            parts.headers.insert(name, value.clone());
        }
        // Gemini's key would be a query parameter, which is empty too.
        let url = parts.uri.to_string();
        let url: Url = url.strip_suffix("&key=").unwrap_or(&url).parse().map_err(ProviderError::Url)?;
        // A name and password in the address become a header, which the key's header and the user's headers override.
        let request = client.request(parts.method, url).headers(parts.headers).body(bytes);
        request.build().map_err(transport_error)
    }
}

const EVENTS: &str = "text/event-stream";
const NDJSON: &str = "application/x-ndjson";

/// True for a stream. A missing content type is accepted; any other type is not a stream.
fn is_stream(framing: Framing, content_type: Option<&HeaderValue>) -> bool {
    let expected: &[&str] = match framing {
        Framing::Sse | Framing::Whole => &[EVENTS],
        Framing::Ndjson => &[NDJSON, "application/json"],
    };
    content_type.is_none_or(|value| {
        let value = value.as_bytes().to_ascii_lowercase();
        expected.iter().any(|expected| value.trim_ascii().starts_with(expected.as_bytes()))
    })
}

/// The transport of a test: the answer to each request is this body, in these pieces.
#[derive(Debug, Clone)]
pub(super) struct ReplayTransport {
    pub(super) pieces: Arc<[Vec<u8>]>,
    pub(super) call_ids: Arc<CallIds>,
}

impl<W: Wire<Payload = Encoded, Frame = WireFrame>> driver::Transport<W> for ReplayTransport {
    fn send(&self, payload: Encoded, _exchange: Exchange) -> Opening<WireFrame> {
        let Self { pieces, call_ids } = self.clone();
        let chunks = (0..pieces.len()).map(move |at| Ok(pieces.get(at).cloned().unwrap_or_default()));
        let frames = wire_frames(stream::iter(chunks), payload.framing, call_ids);
        Opening::new(async move { Ok(Opened::new(frames)) })
    }
}

/// The events of an answer as the wire library expects them. Every event passes the meter of the answer first.
fn wire_frames(
    chunks: impl Stream<Item = Result<impl AsRef<[u8]> + Send + 'static, ProviderError>> + Send + 'static,
    framing: Framing,
    call_ids: Arc<CallIds>,
) -> impl Stream<Item = Result<WireFrame, ProviderError>> + Send + 'static {
    let framer = match framing {
        Framing::Ndjson => AnswerFramer::JsonLines,
        Framing::Sse | Framing::Whole => AnswerFramer::EventStream(SseFramer::new()),
    };
    let chunks = chunks.map(Some).chain(stream::once(async { None }));
    let mut reader = AnswerReader::new(framer);
    chunks.flat_map(move |chunk| {
        let mut frames = Vec::new();
        let read = match chunk {
            Some(Ok(bytes)) => reader.read(bytes.as_ref(), &call_ids, &mut frames),
            Some(Err(error)) => Err(error),
            None => reader.finish(&call_ids, &mut frames),
        };
        stream::iter(frames.into_iter().map(Ok).chain(read.err().map(Err)))
    })
}

fn transport_error(error: reqwest::Error) -> ProviderError {
    ProviderError::from_transport_error(http_client::Error::instance(error.without_url()))
}
