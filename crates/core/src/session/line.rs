//! Lines of a session file: conversion of entries to text and back.

use haft_protocol::message::Rfc3339Time;
use serde::Deserialize;
use serde::ser::Error as _;

use super::SessionError;
use super::entry::{EntryBody, Fields, SessionEntry, SessionHeader, Unknown};
use super::id::EntryId;
use crate::json_shape::{ShapeLimits, check_shape};
use crate::limits::{MAX_SESSION_LINE, SESSION_LINE_SHAPE};

/// The `type` of the first line.
pub(super) const HEADER: &str = "session";

impl SessionHeader {
    /// Returns the line, including the newline.
    ///
    /// # Errors
    /// [`SessionError::Unwritable`].
    pub fn to_line(&self) -> Result<Vec<u8>, SessionError> {
        // The id is the first field of the header; the parent, which a header does not have, is the second.
        let fields = serde_json::to_string(self)?;
        let id = self.id;
        let rest = fields.split_once(',').map_or("}", |(_, rest)| rest);
        Ok(format!("{{\"type\":\"{HEADER}\",\"id\":\"{id}\",\"parent\":null,{rest}\n").into_bytes())
    }
}

impl SessionEntry {
    /// Returns the line, including the newline. The line of an [unknown](EntryBody::Unknown) type is returned as it was
    /// read, with its original id and parent.
    ///
    /// # Errors
    /// [`SessionError::Unwritable`], also for a line that exceeds the limits of a reader.
    pub fn to_line(&self) -> Result<Vec<u8>, SessionError> {
        let Self { id, parent, time, body } = self;
        let fields = match body.fields()? {
            Fields::Own(fields) => fields,
            Fields::Line(line) => return Ok(format!("{line}\n").into_bytes()),
        };
        let parent = parent.map_or("null".to_owned(), |parent| format!("\"{parent}\""));
        let (kind, time) = (body.kind(), serde_json::to_string(time)?);
        let head = format!("{{\"type\":\"{kind}\",\"id\":\"{id}\",\"parent\":{parent},\"time\":{time}");
        let mut line = head.into_bytes();
        if fields.len() > b"{}".len() {
            line.push(b',');
            line.extend_from_slice(fields.get(1..).unwrap_or_default());
        } else {
            line.push(b'}');
        }
        let excess = (line.len() > MAX_SESSION_LINE)
            .then(|| format!("is longer than {} MiB", MAX_SESSION_LINE / (1024 * 1024)))
            .or_else(|| check_shape(&line, SESSION_LINE_SHAPE).err().map(|excess| excess.to_string()));
        if let Some(excess) = excess {
            return Err(serde_json::Error::custom(format_args!("a {kind} entry {excess}")).into());
        }
        line.push(b'\n');
        Ok(line)
    }
}

/// The limits of a line that another program reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
// Closed: the three measures of a line.
pub struct EntryLineLimits {
    /// The bytes of the line.
    pub bytes: usize,
    /// The nesting, with the entry as 1.
    pub depth: usize,
    /// The values and keys.
    pub values: usize,
}

impl SessionEntry {
    /// Returns the line without its newline. Where it exceeds the limits, another entry takes its place: of the type
    /// `omitted`, with the same id, parent and time, the type in `of` and the length in `bytes`.
    ///
    /// # Errors
    /// [`SessionError::Unwritable`], as [`to_line`](Self::to_line).
    pub fn to_line_within(&self, limits: EntryLineLimits) -> Result<Vec<u8>, SessionError> {
        let mut line = self.to_line()?;
        line.pop();
        let shape = ShapeLimits { depth: limits.depth, values: limits.values };
        if line.len() <= limits.bytes && check_shape(&line, shape).is_ok() {
            return Ok(line);
        }
        let Self { id, parent, time, body } = self;
        let parent = parent.map_or("null".to_owned(), |parent| format!("\"{parent}\""));
        let (time, of) = (serde_json::to_string(time)?, serde_json::to_string(body.kind())?);
        let bytes = line.len();
        let omitted = format!(
            r#"{{"type":"omitted","id":"{id}","parent":{parent},"time":{time},"of":{of},"bytes":{bytes}}}"#
        );
        Ok(omitted.into_bytes())
    }
}

/// The fields of every entry, whatever its type.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct EntryHead {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) id: EntryId,
    pub(super) parent: Option<EntryId>,
    #[serde(default = "never")]
    pub(super) time: Rfc3339Time,
}

fn never() -> Rfc3339Time {
    Rfc3339Time(String::new())
}

impl EntryHead {
    pub(super) fn read(line: &str) -> serde_json::Result<Self> {
        serde_json::from_str(line)
    }

    /// Reads the rest of the line. A line of a known type that cannot be read is also kept, so that the entries after
    /// it keep their place.
    pub(super) fn with_body(self, line: &str) -> ParsedEntry {
        let Self { kind, id, parent, time } = self;
        let (body, unread) = match EntryBody::read(&kind, line) {
            Some(Ok(body)) => (body, None),
            other => {
                let unread = other.and_then(Result::err).map(|error| describe_error(&error));
                (EntryBody::Unknown(Unknown { kind, line: line.into() }), unread)
            }
        };
        ParsedEntry { entry: SessionEntry { id, parent, time, body }, unread }
    }
}

#[derive(Debug)]
pub(super) struct ParsedEntry {
    pub(super) entry: SessionEntry,
    /// The reason why a line of a known type is kept without reading it.
    pub(super) unread: Option<String>,
}

/// Reads one line, without its newline.
///
/// # Errors
/// The reason why the line is not an entry.
pub(super) fn read(line: &[u8]) -> Result<ParsedEntry, String> {
    let line = checked_text(line)?;
    let head = EntryHead::read(line).map_err(|error| describe_error(&error))?;
    match head.kind == HEADER {
        true => Err("duplicate session header".to_owned()),
        false => Ok(head.with_body(line)),
    }
}

/// Returns the id of a line without its newline. Does not read the rest of a line that begins in haft's form.
pub(super) fn line_id(line: &[u8]) -> Option<EntryId> {
    let begins = line.strip_prefix(br#"{"type":""#).and_then(|rest| {
        let behind = rest.get(memchr::memchr(b'"', rest)?..)?.strip_prefix(br#"","id":""#)?;
        let digits = behind.get(..memchr::memchr(b'"', behind)?)?;
        EntryId::parse(std::str::from_utf8(digits).ok()?)
    });
    begins.or_else(|| EntryHead::read(checked_text(line).ok()?).ok().map(|head| head.id))
}

/// Reads the first line, without its newline.
///
/// # Errors
/// The reason why the line is not a header.
pub(super) fn read_header(line: &[u8]) -> Result<SessionHeader, String> {
    #[derive(Deserialize)]
    struct LineType {
        #[serde(rename = "type")]
        kind: String,
    }
    let line = checked_text(line)?;
    let LineType { kind } = serde_json::from_str(line).map_err(|error| describe_error(&error))?;
    if kind != HEADER {
        return Err("the file does not begin with a session header".to_owned());
    }
    serde_json::from_str(line).map_err(|error| describe_error(&error))
}

/// Returns the text of a line after a check of its shape. Nothing is parsed before this check.
///
/// # Errors
/// The reason why the line must not be parsed.
pub(super) fn checked_text(line: &[u8]) -> Result<&str, String> {
    let text = std::str::from_utf8(line).map_err(|_| NO_TEXT.to_owned())?;
    check_shape(line, SESSION_LINE_SHAPE).map_err(|excess| format!("the line {excess}"))?;
    Ok(text)
}

/// The error for bytes that are not text.
const NO_TEXT: &str = "not valid UTF-8 text";

/// Returns the error in a line, without its position: readers refer to lines by number.
fn describe_error(error: &serde_json::Error) -> String {
    if !error.is_data() {
        return "not valid JSON".to_owned();
    }
    let text = error.to_string();
    text.rfind(" at line ").and_then(|at| text.get(..at)).unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use haft_protocol::content::ContentBlock;
    use haft_protocol::message::Message;

    use super::*;

    fn message(blocks: usize) -> String {
        let block = r#",{"type":"text","text":"a"}"#.repeat(blocks);
        let content = block.strip_prefix(',').unwrap_or_default();
        let id = EntryId::new();
        format!(
            r#"{{"type":"message","id":"{id}","parent":null,"time":"t","message":{{"role":"user","content":[{content}],"time":"t"}}}}"#
        )
    }

    #[test]
    fn line_with_too_many_values_is_neither_read_nor_written() {
        let most = SESSION_LINE_SHAPE.values / 7;
        let parsed = read(message(most - 10).as_bytes()).unwrap();
        assert_eq!(parsed.unread, None);
        parsed.entry.to_line().unwrap();
        assert_eq!(read(message(most + 10).as_bytes()).unwrap_err(), "the line has more than 400000 values");
        let deep = format!(r#"{{"type":"label","x":{}"#, "[".repeat(SESSION_LINE_SHAPE.depth));
        assert_eq!(read_header(deep.as_bytes()).unwrap_err(), "the line is nested more than 128 levels deep");
        let written = |content: Vec<ContentBlock>| {
            let message = Message::User { content, time: Rfc3339Time("t".into()) };
            let entry = SessionEntry { body: message.into(), ..parsed.entry.clone() };
            entry.to_line().unwrap_err().to_string()
        };
        let error = written(vec![ContentBlock::text("a"); most + 10]);
        assert!(error.contains("a message entry has more than 400000 values"), "{error}");
        let error = written(vec![ContentBlock::text("a".repeat(MAX_SESSION_LINE))]);
        assert!(error.contains("a message entry is longer than 32 MiB"), "{error}");
    }

    #[test]
    fn line_errors_contain_no_position() {
        for (line, expect) in [
            (&b"garbage"[..], "not valid JSON"),
            (br#"{"type":"label","id"#, "not valid JSON"),
            (b"\xff", "not valid UTF-8 text"),
            (br#"{"id":"x"}"#, "missing field `type`"),
        ] {
            let (entry, header) = (read(line).unwrap_err(), read_header(line).unwrap_err());
            assert_eq!(header, expect);
            // For an entry, the missing id is reported before the missing type.
            assert!(
                entry == expect || expect.starts_with("missing") && !entry.contains(" at line "),
                "{entry}"
            );
        }
    }
}
