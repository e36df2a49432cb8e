//! Reads the requests of a client.

use haft_host::{FramedLine, LineFramer};
use haft_protocol::error::DecodeError;
use haft_protocol::rpc::{
    BOUNDS, CommandFailure, ErrorCode, MAX_LINE, RpcRequest, RpcResponse, UnreadableRequest, line,
    read_request,
};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::sync::mpsc::UnboundedReceiver;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum IncomingLine {
    Request(RpcRequest),
    /// An unreadable line, with its reply.
    Unreadable(RpcResponse),
    End,
}

/// The source of a client's requests.
pub(crate) trait RequestSource {
    /// Waits for the next request. Dropping the future loses nothing.
    ///
    /// # Errors
    /// If the input of the client cannot be read.
    async fn next(&mut self) -> std::io::Result<IncomingLine>;
}

/// Splits the input of a client into lines.
#[derive(Debug)]
pub(crate) struct LineRequestSource<R> {
    input: R,
    framer: LineFramer,
    ended: bool,
    /// True after the first line.
    begun: bool,
}

impl<R> LineRequestSource<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input, framer: LineFramer::default(), ended: false, begun: false }
    }
}

impl<R: AsyncRead + Unpin> RequestSource for LineRequestSource<R> {
    async fn next(&mut self) -> std::io::Result<IncomingLine> {
        loop {
            if let Some(item) = self.framer.next(MAX_LINE) {
                return Ok(self.read_item(item));
            }
            if self.ended {
                let last = self.framer.finish(MAX_LINE);
                return Ok(last.map_or(IncomingLine::End, |item| self.read_item(item)));
            }
            self.ended = self.input.read_buf(self.framer.space()).await? == 0;
        }
    }
}

/// A client in the same process. Its requests are checked like lines, so that no request gets in
/// that a line cannot express. Such requests are few, and all but prompts are short.
impl RequestSource for UnboundedReceiver<RpcRequest> {
    async fn next(&mut self) -> std::io::Result<IncomingLine> {
        let Some(request) = self.recv().await else { return Ok(IncomingLine::End) };
        let said = line(&request)?;
        Ok(match said.len() > MAX_LINE {
            true => unreadable_reply(request, too_long()),
            false => match read_line(said.as_bytes()) {
                IncomingLine::Unreadable(reply) => unreadable_reply(request, reply),
                said @ (IncomingLine::Request(_) | IncomingLine::End) => said,
            },
        })
    }
}

/// Returns the reply to a request that no line can express, with the command and id of the request.
fn unreadable_reply(request: RpcRequest, reply: RpcResponse) -> IncomingLine {
    let id = request.id.filter(|id| !id.is_empty());
    IncomingLine::Unreadable(RpcResponse { id, command: request.command.kind().name().to_owned(), ..reply })
}

/// The byte order mark that some programs write before UTF-8; ignored.
const MARK: &[u8] = b"\xef\xbb\xbf";

impl<R> LineRequestSource<R> {
    fn read_item(&mut self, item: FramedLine) -> IncomingLine {
        let is_first = !std::mem::replace(&mut self.begun, true);
        match item {
            FramedLine::Line(line) if is_first && line.starts_with(MARK) => {
                read_line(&line.slice(MARK.len()..))
            }
            FramedLine::Line(line) => read_line(&line),
            FramedLine::TooLong => IncomingLine::Unreadable(too_long()),
        }
    }
}

fn read_line(line: &[u8]) -> IncomingLine {
    read_request(line, BOUNDS).map_or_else(
        |unread| IncomingLine::Unreadable(UnreadableRequest::into_response(unread)),
        IncomingLine::Request,
    )
}

fn too_long() -> RpcResponse {
    let error = DecodeError::TooLong { limit: MAX_LINE };
    let failure = CommandFailure::new(ErrorCode::LineTooLong, format!("malformed json: {error}"));
    RpcResponse { id: None, command: String::new(), outcome: Err(failure) }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use haft_protocol::rpc::{Command, PromptCommand, SetName};
    use tokio::sync::mpsc;

    use super::*;

    #[track_caller]
    fn check(command: impl Into<Command>, expect: (&str, ErrorCode)) {
        let (says, mut heard) = mpsc::unbounded_channel();
        let request = RpcRequest { id: Some("7".into()), command: command.into(), session: None };
        says.send(request).unwrap();
        let said = heard.next().now_or_never().unwrap().unwrap();
        let IncomingLine::Unreadable(reply) = said else { panic!("{said:?}") };
        let code = reply.outcome.unwrap_err().code;
        assert_eq!((reply.id.as_deref(), reply.command.as_str(), code), (Some("7"), expect.0, expect.1));
    }

    #[test]
    fn invalid_typed_request_is_answered_by_id() {
        let prompt = PromptCommand { message: "x".repeat(MAX_LINE), images: Vec::new(), plain: None };
        check(prompt, ("prompt", ErrorCode::LineTooLong));
        let name = SetName { name: "a\u{7}b".into() };
        check(name, ("set_name", ErrorCode::BadRequest));
    }
}
