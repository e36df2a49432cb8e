//! The lines of a client.

use bytes::Bytes;
use haft_host::{Framer, Item};
use haft_protocol::error::DecodeError;
use haft_protocol::rpc::{ErrorCode, Failure, MAX_LINE, Response};
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// What a client said.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// A line, never blank.
    Line(Bytes),
    /// A line that is too long, which this answers.
    TooLong(Response),
    /// Nothing more comes.
    End,
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

impl<R: AsyncRead + Unpin> Input<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input, framer: Framer::default(), ended: false, begun: false }
    }

    /// The next line. Nothing is lost when the future is dropped.
    ///
    /// # Errors
    /// When the input cannot be read.
    pub(crate) async fn next(&mut self) -> std::io::Result<Said> {
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

/// What some programs put before everything that they write in UTF-8. It says nothing.
const MARK: &[u8] = b"\xef\xbb\xbf";

impl<R> Input<R> {
    fn said(&mut self, item: Item) -> Said {
        let is_first = !std::mem::replace(&mut self.begun, true);
        match item {
            Item::Line(line) if is_first && line.starts_with(MARK) => Said::Line(line.slice(MARK.len()..)),
            Item::Line(line) => Said::Line(line),
            Item::TooLong => Said::TooLong(too_long()),
        }
    }
}

fn too_long() -> Response {
    let error = DecodeError::TooLong { limit: MAX_LINE };
    let failure = Failure::new(ErrorCode::LineTooLong, format!("malformed json: {error}"));
    Response { id: None, command: String::new(), outcome: Err(failure) }
}
