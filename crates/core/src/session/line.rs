//! Lines of a session file: conversion of entries to text and back.

use haft_protocol::message::Rfc3339Time;
use serde::Deserialize;

use super::SessionError;
use super::entry::{EntryBody, Fields, SessionEntry, SessionHeader, Unknown};
use super::id::EntryId;

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
    /// [`SessionError::Unwritable`].
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
        line.push(b'\n');
        Ok(line)
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
    let line = std::str::from_utf8(line).map_err(|_| NO_TEXT.to_owned())?;
    let head = EntryHead::read(line).map_err(|error| describe_error(&error))?;
    match head.kind == HEADER {
        true => Err("duplicate session header".to_owned()),
        false => Ok(head.with_body(line)),
    }
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
    let line = std::str::from_utf8(line).map_err(|_| NO_TEXT.to_owned())?;
    let LineType { kind } = serde_json::from_str(line).map_err(|error| describe_error(&error))?;
    if kind != HEADER {
        return Err("the file does not begin with a session header".to_owned());
    }
    serde_json::from_str(line).map_err(|error| describe_error(&error))
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
    use super::*;

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
