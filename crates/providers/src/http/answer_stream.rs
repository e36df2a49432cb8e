//! One attempt at a request: sends it, and reads its answer.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use haft_core::model::{ModelEvent, ModelResponse};
use haft_protocol::message::{NativeMessage, StopCause};
use http_body::{Frame, SizeHint};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};

use super::HttpSetup;
use super::client::read_body;
use crate::limits::MAX_ERROR_BODY;
use crate::wire::{
    AnswerBuilder, AnswerDecoder, AnswerError, ConnectionFailure, ErrorResponse, EventFraming, EventReader,
    RequestBody,
};

/// A request as it is sent. A clone shares the body.
#[derive(Debug, Clone)]
pub(super) struct EncodedRequest {
    pub(super) url: Url,
    /// The headers that the API requires.
    pub(super) headers: Vec<(&'static str, &'static str)>,
    /// The headers that hooks added. All others override them.
    pub(super) added_headers: HeaderMap,
    pub(super) body: RequestBody,
    /// The name of the tool whose arguments are the answer.
    pub(super) answer_tool: Option<String>,
}

/// The answer of one attempt while it arrives.
pub(super) struct AnswerStream {
    source: AnswerSource,
    reader: EventReader,
    decoder: Box<dyn AnswerDecoder>,
    answer: AnswerBuilder,
    /// The error that follows the events before it.
    failed: Option<AnswerError>,
    setup: Arc<HttpSetup>,
}

/// The origin of the bytes.
enum AnswerSource {
    /// The request has not been sent.
    Request(Box<EncodedRequest>),
    Response(Box<reqwest::Response>),
    /// The pieces of a recorded answer, for tests.
    Recorded(VecDeque<Vec<u8>>),
    /// All bytes have been read, and the answer is complete.
    Complete,
    Ended,
}

impl AnswerStream {
    pub(super) fn new(setup: Arc<HttpSetup>, request: EncodedRequest) -> Self {
        Self::from_source(setup, AnswerSource::Request(Box::new(request)))
    }

    /// Reads an answer from these pieces instead of a server.
    pub(super) fn from_recording(setup: Arc<HttpSetup>, pieces: Vec<Vec<u8>>) -> Self {
        Self::from_source(setup, AnswerSource::Recorded(pieces.into()))
    }

    fn from_source(setup: Arc<HttpSetup>, source: AnswerSource) -> Self {
        let format = &setup.endpoint.format;
        Self {
            source,
            reader: EventReader::new(format.framing()),
            decoder: format.decoder(),
            answer: AnswerBuilder::default(),
            failed: None,
            setup,
        }
    }

    /// Returns the next event; [`None`] after [`ModelEvent::Done`] or an error.
    pub(super) async fn next(&mut self) -> Option<Result<ModelEvent, AnswerError>> {
        loop {
            if let Some(event) = self.answer.next_event() {
                return Some(Ok(event));
            }
            if let Some(event) = self.reader.next_event() {
                if let Err(error) = self.decoder.read_event(&event, &mut self.answer) {
                    self.fail_with(error);
                }
                continue;
            }
            if let Some(error) = self.failed.take() {
                return Some(Err(error));
            }
            match &self.source {
                AnswerSource::Ended => return None,
                AnswerSource::Complete => {
                    self.source = AnswerSource::Ended;
                    return Some(Ok(self.done_event()));
                }
                AnswerSource::Request(_) | AnswerSource::Response(_) | AnswerSource::Recorded(_) => {}
            }
            match self.receive_bytes().await {
                Ok(Some(bytes)) => {
                    if let Err(error) = self.reader.read(&bytes) {
                        self.source = AnswerSource::Ended;
                        self.failed = Some(error);
                    }
                }
                Ok(None) => {
                    if let Err(error) = self.complete() {
                        self.fail_with(error);
                    }
                }
                Err(error) => self.fail_with(error),
            }
        }
    }

    /// Ends the answer with an error behind the events that were decoded before it.
    fn fail_with(&mut self, error: AnswerError) {
        self.source = AnswerSource::Ended;
        self.reader = EventReader::new(EventFraming::EventStream);
        self.failed = Some(error);
    }

    /// Returns the next piece of the answer; sends the request first.
    async fn receive_bytes(&mut self) -> Result<Option<Bytes>, AnswerError> {
        loop {
            match &mut self.source {
                AnswerSource::Request(request) => {
                    let response = send(&self.setup, request, self.reader.event_framing()).await?;
                    self.source = AnswerSource::Response(Box::new(response));
                }
                AnswerSource::Response(response) => return response.chunk().await.map_err(connection_error),
                AnswerSource::Recorded(pieces) => return Ok(pieces.pop_front().map(Bytes::from)),
                AnswerSource::Complete | AnswerSource::Ended => return Ok(None),
            }
        }
    }

    /// Reads the end of the answer. Its last events may come before [`ModelEvent::Done`].
    fn complete(&mut self) -> Result<(), AnswerError> {
        self.source = AnswerSource::Complete;
        self.reader.finish()?;
        while let Some(event) = self.reader.next_event() {
            self.decoder.read_event(&event, &mut self.answer)?;
        }
        self.decoder.finish(&mut self.answer)?;
        self.answer.end_calls();
        Ok(())
    }

    fn done_event(&mut self) -> ModelEvent {
        let setup = &self.setup;
        let counted = self.answer.usage;
        let usage = counted.with_cost_usd(setup.answer_cost(&counted, self.answer.cost_usd));
        let native = self.answer.native.take();
        ModelEvent::Done(
            ModelResponse::new(self.answer.take_blocks(), self.answer.stop.unwrap_or(StopCause::End))
                .with_usage(usage)
                .with_native(native.map(|data| NativeMessage::new(setup.origin(), data))),
        )
    }
}

async fn send(
    setup: &HttpSetup,
    request: &EncodedRequest,
    framing: EventFraming,
) -> Result<reqwest::Response, AnswerError> {
    let client = setup.client.get().map_err(AnswerError::Unreachable)?;
    let mut headers = request.added_headers.clone();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static(content_types(framing)[0]));
    for (name, value) in &request.headers {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    for (name, value) in setup.client.default_headers() {
        headers.insert(name, value.clone());
    }
    // A name and password in the address become a header, which the key's header and the user's headers override.
    let body = reqwest::Body::wrap(BodyPieces::new(&request.body));
    let sent = client.request(Method::POST, request.url.clone()).headers(headers).body(body);
    let response = client.execute(sent.build().map_err(connection_error)?).await.map_err(connection_error)?;
    let status = response.status();
    if !status.is_success() || !is_stream(framing, response.headers().get(CONTENT_TYPE)) {
        let headers = response.headers().clone();
        let body = String::from_utf8_lossy(&read_body(response, MAX_ERROR_BODY).await).into_owned();
        let error = ErrorResponse { status: Some(status.as_u16()), headers, code: None, body };
        return Err(AnswerError::Response(Box::new(error)));
    }
    Ok(response)
}

/// Returns the content types of a stream; the first one is asked for.
fn content_types(framing: EventFraming) -> [&'static str; 2] {
    match framing {
        EventFraming::EventStream => ["text/event-stream"; 2],
        EventFraming::JsonLines => ["application/x-ndjson", "application/json"],
    }
}

/// True for a stream. A missing content type is accepted; any other type is not a stream.
fn is_stream(framing: EventFraming, content_type: Option<&HeaderValue>) -> bool {
    content_type.is_none_or(|value| {
        let value = value.as_bytes().to_ascii_lowercase();
        content_types(framing).iter().any(|expected| value.trim_ascii().starts_with(expected.as_bytes()))
    })
}

/// Converts an error without its address, which may contain a password.
fn connection_error(error: reqwest::Error) -> AnswerError {
    AnswerError::Connection(ConnectionFailure::new(&error.without_url()))
}

/// A body in pieces, so that they are sent without a copy.
struct BodyPieces {
    pieces: VecDeque<Bytes>,
    left: u64,
}

impl BodyPieces {
    fn new(body: &RequestBody) -> Self {
        Self {
            pieces: body.pieces.iter().filter(|piece| !piece.is_empty()).cloned().collect(),
            left: body.len() as u64,
        }
    }
}

impl http_body::Body for BodyPieces {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let piece = self.pieces.pop_front();
        self.left -= piece.as_ref().map_or(0, |piece| piece.len() as u64);
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.is_empty()
    }

    /// The exact length lets the request have a `content-length`, which some servers require.
    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
