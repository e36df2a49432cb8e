//! What a client says.

use haft_host::{Framer, Item};
use haft_protocol::error::DecodeError;
use haft_protocol::rpc::{
    BOUNDS, ErrorCode, Failure, MAX_LINE, Request, Response, Unread, line, read_request,
};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::sync::mpsc::UnboundedReceiver;

/// What a client said.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// A command.
    Request(Request),
    /// Something that is none, which this answers.
    Unread(Response),
    /// Nothing more comes.
    End,
}

/// Where the commands of a client come from.
pub(crate) trait Source {
    /// The next one. Nothing is lost when the future is dropped.
    ///
    /// # Errors
    /// When the client cannot be heard.
    async fn next(&mut self) -> std::io::Result<Said>;
}

/// Cuts what a client says into lines.
#[derive(Debug)]
pub(crate) struct Input<R> {
    input: R,
    framer: Framer,
    ended: bool,
    /// Whether a line was there already.
    begun: bool,
}

impl<R> Input<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input, framer: Framer::default(), ended: false, begun: false }
    }
}

impl<R: AsyncRead + Unpin> Source for Input<R> {
    async fn next(&mut self) -> std::io::Result<Said> {
        loop {
            if let Some(item) = self.framer.next(MAX_LINE) {
                return Ok(self.said(item));
            }
            if self.ended {
                let last = self.framer.finish(MAX_LINE);
                return Ok(last.map_or(Said::End, |item| self.said(item)));
            }
            self.ended = self.input.read_buf(self.framer.space()).await? == 0;
        }
    }
}

/// A client in the same process. What it says is read like the line that another one would send, so that no command gets in
/// that a line could not say; there are few of them, and all but prompts are short.
impl Source for UnboundedReceiver<Request> {
    async fn next(&mut self) -> std::io::Result<Said> {
        let Some(request) = self.recv().await else { return Ok(Said::End) };
        Ok(read(line(&request)?.as_bytes()))
    }
}

/// What some programs put before everything that they write in UTF-8. It says nothing.
const MARK: &[u8] = b"\xef\xbb\xbf";

impl<R> Input<R> {
    fn said(&mut self, item: Item) -> Said {
        let is_first = !std::mem::replace(&mut self.begun, true);
        match item {
            Item::Line(line) if is_first && line.starts_with(MARK) => read(&line.slice(MARK.len()..)),
            Item::Line(line) => read(&line),
            Item::TooLong => Said::Unread(too_long()),
        }
    }
}

fn read(line: &[u8]) -> Said {
    read_request(line, BOUNDS)
        .map_or_else(|unread| Said::Unread(Unread::into_response(unread)), Said::Request)
}

fn too_long() -> Response {
    let error = DecodeError::TooLong { limit: MAX_LINE };
    let failure = Failure::new(ErrorCode::LineTooLong, format!("malformed json: {error}"));
    Response { id: None, command: String::new(), outcome: Err(failure) }
}
