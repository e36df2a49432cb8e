//! An extension with a tool whose results are long: blocking IO, no JSON library, one result for all calls.

use std::io::{self, BufRead, BufReader, Write};

const OPENING: &str = concat!(
    r#"{"type":"hello","name":"long","version":"1.0.0","capabilities":["tools"]}"#,
    "\n",
    r#"{"type":"register_tool","name":"long","description":"x","schema":{"type":"object"}}"#,
    "\n",
    r#"{"type":"ready"}"#,
    "\n"
);

/// The beginning of a picture of 64 by 64 pixels, in base64; any bytes may follow.
const PICTURE: &str = "iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAuLi4u";

/// The content of a result.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ResultPayload {
    /// A block of an unknown kind, of which the host only notes that it arrived.
    Other,
    /// Text: lines of a log.
    Text,
    /// A picture, which the model receives unchanged.
    Image,
}

impl ResultPayload {
    /// Returns the role of a child that answers with this payload; its number is the kilobytes.
    pub(crate) const fn role(self) -> &'static str {
        match self {
            Self::Other => "long-other",
            Self::Text => "long-text",
            Self::Image => "long-image",
        }
    }

    /// Returns the payload of a role.
    pub(crate) fn from_role(role: &str) -> Option<Self> {
        [Self::Other, Self::Text, Self::Image].into_iter().find(|payload| payload.role() == role)
    }

    /// Returns the answer after its id.
    fn answer_tail(self, bytes: usize) -> String {
        let (before, payload, after) = match self {
            Self::Other => (r#"{"type":"bench","data":""#, "x".repeat(bytes), r#""}"#),
            Self::Text => {
                let line = r"12:00:00 INFO  the quick brown fox jumps over the lazy dog, 12345 times\n";
                (r#"{"type":"text","text":""#, line.repeat(bytes / line.len()), r#""}"#)
            }
            Self::Image => {
                let more = (bytes - PICTURE.len()) / 4 * 4;
                let data = [PICTURE, &"x".repeat(more)].concat();
                (r#"{"type":"image","mime_type":"image/png","data":""#, data, r#""}"#)
            }
        };
        [r#"","content":["#, before, &payload, after, "]}\n"].concat()
    }
}

/// Answers each call with this payload.
pub(super) fn answer(payload: ResultPayload, bytes: usize) -> io::Result<()> {
    let mut input = BufReader::with_capacity(64 * 1024, io::stdin().lock());
    let mut output = io::stdout().lock();
    output.write_all(OPENING.as_bytes())?;
    let rest = payload.answer_tail(bytes);
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if let Some(after) = line.strip_prefix(br#"{"type":"tool_call","id":""#) {
            let id = after.split(|&byte| byte == b'"').next().unwrap_or_default();
            output.write_all(&[br#"{"type":"tool_result","id":""#, id].concat())?;
            // The payload bypasses the buffer, which is only for lines.
            output.write_all(rest.as_bytes())?;
            output.flush()?;
        } else if line.starts_with(br#"{"type":"shutdown""#) {
            return output.write_all(b"{\"type\":\"shutdown_ack\"}\n");
        }
    }
}
