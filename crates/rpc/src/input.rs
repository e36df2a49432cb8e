//! Lines of a client.

use haft_host::{LineFramer, FramedLine};
use haft_protocol::error::DecodeError;
use haft_protocol::rpc::{
    BOUNDS, ErrorCode, Failure, MAX_LINE, Request, Response, Unread, line, read_request,
};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::sync::mpsc::UnboundedReceiver;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Request(Request),
    /// Something that is none, which this answers.
    Unread(Response),
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
    framer: LineFramer,
    ended: bool,
    /// True if a line was there already.
    begun: bool,
}

impl<R> Input<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input, framer: LineFramer::default(), ended: false, begun: false }
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
        let said = line(&request)?;
        Ok(match said.len() > MAX_LINE {
            true => unread(request, too_long()),
            false => match read(said.as_bytes()) {
                Said::Unread(reply) => unread(request, reply),
                said @ (Said::Request(_) | Said::End) => said,
            },
        })
    }
}

/// The reply to a request that a line could not say. What it is, and who waits for it, is known here.
fn unread(request: Request, reply: Response) -> Said {
    let id = request.id.filter(|id| !id.is_empty());
    Said::Unread(Response { id, command: request.command.kind().name().to_owned(), ..reply })
}

/// The byte order mark that some programs write before UTF-8. It says nothing.
const MARK: &[u8] = b"\xef\xbb\xbf";

impl<R> Input<R> {
    fn said(&mut self, item: FramedLine) -> Said {
        let is_first = !std::mem::replace(&mut self.begun, true);
        match item {
            FramedLine::Line(line) if is_first && line.starts_with(MARK) => read(&line.slice(MARK.len()..)),
            FramedLine::Line(line) => read(&line),
            FramedLine::TooLong => Said::Unread(too_long()),
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

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use haft_protocol::rpc::{Command, Prompt, SetName};
    use tokio::sync::mpsc;

    use super::*;

    #[track_caller]
    fn check(command: impl Into<Command>, expect: (&str, ErrorCode)) {
        let (says, mut heard) = mpsc::unbounded_channel();
        let request = Request { id: Some("7".into()), command: command.into(), session: None };
        says.send(request).unwrap();
        let said = heard.next().now_or_never().unwrap().unwrap();
        let Said::Unread(reply) = said else { panic!("{said:?}") };
        let code = reply.outcome.unwrap_err().code;
        assert_eq!((reply.id.as_deref(), reply.command.as_str(), code), (Some("7"), expect.0, expect.1));
    }

    #[test]
    fn a_request_that_no_line_could_say_is_answered_by_its_id() {
        let prompt = Prompt { message: "x".repeat(MAX_LINE), images: Vec::new(), plain: None };
        check(prompt, ("prompt", ErrorCode::LineTooLong));
        let name = SetName { name: "a\u{7}b".into() };
        check(name, ("set_name", ErrorCode::BadRequest));
    }
}
