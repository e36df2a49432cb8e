//! The part of HTTP that agents need: requests with a length or in chunks, answers with a length.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use memchr::memmem;

/// The answer to all requests other than those for an answer: a list of models, a count of tokens.
const OTHER: &[u8] = br#"{"data":[],"models":[],"object":"list","input_tokens":1,"totalTokens":1}"#;

/// The bytes of a connection, one request at a time.
#[derive(Debug, Default)]
pub(super) struct RequestReader {
    held: Vec<u8>,
}

/// One request.
#[derive(Debug)]
pub(super) struct HttpRequest {
    pub(super) bytes: Vec<u8>,
    head: usize,
}

impl HttpRequest {
    pub(super) fn path(&self) -> &str {
        let line = self.bytes.split(|&byte| byte == b'\r').next().unwrap_or_default();
        std::str::from_utf8(line).ok().and_then(|line| line.split(' ').nth(1)).unwrap_or_default()
    }

    /// Returns the body as received, including the chunk headers of a chunked body.
    pub(super) fn body(&self) -> &[u8] {
        self.bytes.get(self.head..).unwrap_or_default()
    }

    /// Returns the answer to requests that do not concern the model.
    #[expect(clippy::unused_self, reason = "a method of what is answered")]
    pub(super) fn fallback_body(&self) -> &'static [u8] {
        OTHER
    }
}

impl RequestReader {
    /// Returns the next request, or `None` when the client is done.
    pub(super) fn next(&mut self, stream: &mut TcpStream) -> io::Result<Option<HttpRequest>> {
        let head = loop {
            if let Some(end) = memmem::find(&self.held, b"\r\n\r\n") {
                break end + 4;
            }
            if !self.read_more(stream)? {
                return Ok(None);
            }
        };
        let text = String::from_utf8_lossy(self.held.get(..head).unwrap_or_default()).to_ascii_lowercase();
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name).map(str::trim));
        if field("expect:") == Some("100-continue") {
            stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        let end = match field("transfer-encoding:") {
            Some(_) => self.find_chunked_end(stream, head)?,
            None => head + field("content-length:").and_then(|length| length.parse().ok()).unwrap_or(0),
        };
        while self.held.len() < end {
            if !self.read_more(stream)? {
                return Ok(None);
            }
        }
        let rest = self.held.split_off(end);
        Ok(Some(HttpRequest { bytes: std::mem::replace(&mut self.held, rest), head }))
    }

    /// Returns the end of a chunked body. A JSON body never contains the terminator.
    fn find_chunked_end(&mut self, stream: &mut TcpStream, head: usize) -> io::Result<usize> {
        loop {
            let body = self.held.get(head..).unwrap_or_default();
            if body.starts_with(b"0\r\n\r\n") {
                return Ok(head + 5);
            }
            if let Some(at) = memmem::find(body, b"\r\n0\r\n\r\n") {
                return Ok(head + at + 7);
            }
            if !self.read_more(stream)? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    fn read_more(&mut self, stream: &mut TcpStream) -> io::Result<bool> {
        let filled = self.held.len();
        self.held.resize(filled + 64 * 1024, 0);
        let read = stream.read(self.held.get_mut(filled..).unwrap_or_default())?;
        self.held.truncate(filled + read);
        Ok(read > 0)
    }
}

/// Answers with this body in one write: a stream of events, or JSON.
pub(super) fn write(stream: &mut TcpStream, body: &[u8]) -> io::Result<()> {
    let kind = if body.starts_with(b"{") { "application/json" } else { "text/event-stream" };
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all(&[head.as_bytes(), body].concat())
}
