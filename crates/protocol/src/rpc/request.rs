//! Requests of a client: one command per line.
//!
//! ```json
//! {"id":"1","type":"prompt","message":"hi"}
//! {"id":"2","type":"get_state","session":"0199"}
//! ```

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Command, CommandFailure, CommandKind, ErrorCode, RpcResponse, line};
use crate::codec::{LineLimits, PlainSpan};
use crate::defense::{Defense, is_up};
use crate::error::DecodeError;
use crate::error::without_position;
use crate::limits::{MAX_DEPTH, MAX_NODES};
use crate::object_line::{self, ObjectLine, RejectedLine};
use crate::reader::{CheckedJson, JsonForm};
use crate::surrogate;

/// The longest line of a client: 16 MiB, without the newline.
pub const MAX_LINE: usize = 16 * 1024 * 1024;

/// The limits of a line of a client.
pub const BOUNDS: LineLimits = LineLimits { line: MAX_LINE, depth: MAX_DEPTH, nodes: MAX_NODES };

/// One line of a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RpcRequest {
    /// The id of the command, repeated in the reply. Any text; empty means none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The command.
    #[serde(flatten)]
    pub command: Command,
    /// The session that the command applies to; absent: the current session. `switch_session`
    /// requires it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

impl RpcRequest {
    /// Creates a command without an id, for the default session.
    pub fn new(command: impl Into<Command>) -> Self {
        Self { id: None, command: command.into(), session: None }
    }

    /// Encodes the line, newline included.
    ///
    /// # Errors
    /// None for values that this crate can build; callers must not rely on that.
    pub fn encode(&self) -> Result<String, serde_json::Error> {
        line(self).map(|line| line + "\n")
    }
}

/// A line that is not a request, and the reply to it. `Display` describes the mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableRequest {
    /// The id of the line, if it can be determined.
    pub id: Option<String>,
    /// The name of the command; empty if unknown.
    pub command: String,
    /// The mistake, and what was expected.
    pub failure: CommandFailure,
}

impl UnreadableRequest {
    /// Converts the mistake to the reply to the line.
    pub fn into_response(self) -> RpcResponse {
        RpcResponse { id: self.id, command: self.command, outcome: Err(self.failure) }
    }

    fn from_malformed(id: Option<String>, code: ErrorCode, what: impl fmt::Display) -> Self {
        let failure = CommandFailure::new(code, format!("malformed json: {what}"));
        Self { id, command: String::new(), failure }
    }
}

impl fmt::Display for UnreadableRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.failure.fmt(f)
    }
}

impl std::error::Error for UnreadableRequest {}

/// Reads one line (without its newline; a trailing `\r` is ignored). Unknown fields are ignored,
/// and `null` means absent.
///
/// # Errors
/// [`UnreadableRequest`], which becomes a reply with an error: every line of a client gets a reply.
pub fn read_request(line: &[u8], bounds: LineLimits) -> Result<RpcRequest, UnreadableRequest> {
    let object =
        object_line::read_object_line(line, bounds, PlainSpan::default()).map_err(from_rejected_line)?;
    let head = RequestHead::read(&object.text)?;
    let Some(kind) = CommandKind::from_name(&head.kind) else {
        return Err(unknown_command(head));
    };
    let failed = |id: &Option<String>, error: String| {
        let failure = CommandFailure::new(ErrorCode::BadRequest, error);
        UnreadableRequest { id: id.clone(), command: kind.name().to_owned(), failure }
    };
    let wrong = |id: &Option<String>, detail: &str| {
        failed(id, format!("{kind}: {detail}; expected {}", kind.shape()))
    };
    let session = head.session.map_err(|detail| failed(&head.id, format!("{kind}: session: {detail}")))?;
    if let Some(field) = misplaced_replacement(&object) {
        let id = head.id.filter(|_| field != "id");
        return Err(wrong(&id, &format!("{field}: holds half of a surrogate pair")));
    }
    let text = CheckedJson { text: &object.text, form: JsonForm::Any, longest: PlainSpan::default() };
    let command = Command::read(kind, text)
        .map_err(|detail| wrong(&head.id, &truncate_chars(&detail, LONGEST_DETAIL)))?;
    if kind == CommandKind::SwitchSession && session.is_none() {
        return Err(wrong(&head.id, "missing field `session`"));
    }
    Ok(RpcRequest { id: head.id, command, session })
}

/// The maximum length of a detail about a field, in characters, because it may quote a long text.
const LONGEST_DETAIL: usize = 300;

/// The maximum length of an unknown name in a reply, in characters.
const LONGEST_NAME: usize = 128;

/// Fields with text for people and models. In other fields a repaired text would be a different
/// value.
const TEXTS: &[&str] = &["args", "hint", "instructions", "message", "prefix", "text", "value"];

fn from_rejected_line(RejectedLine { text, error }: RejectedLine<'_>) -> UnreadableRequest {
    let (code, what) = match error {
        DecodeError::TooLong { .. } => (ErrorCode::LineTooLong, error.to_string()),
        DecodeError::NotJson { detail } => (ErrorCode::Malformed, detail),
        DecodeError::NotObject => (ErrorCode::Malformed, "not an object".to_owned()),
        DecodeError::NotUtf8
        | DecodeError::TooDeep { .. }
        | DecodeError::TooManyNodes { .. }
        | DecodeError::DuplicateKey { .. }
        | DecodeError::NumberOutOfRange
        | DecodeError::Malformed { .. } => (ErrorCode::Malformed, error.to_string()),
    };
    UnreadableRequest::from_malformed(
        text.as_deref().and_then(salvaged_id),
        code,
        truncate_chars(&what, LONGEST_DETAIL),
    )
}

fn unknown_command(head: RequestHead) -> UnreadableRequest {
    let command = truncate_chars(&head.kind, LONGEST_NAME);
    let names: Vec<&str> = CommandKind::ALL.iter().map(|kind| kind.name()).collect();
    let error = format!("unknown command {command:?}; use one of {}", names.join(", "));
    UnreadableRequest { id: head.id, command, failure: CommandFailure::new(ErrorCode::UnknownCommand, error) }
}

/// Returns the first field with a repaired text that must not be repaired.
fn misplaced_replacement(object: &ObjectLine<'_>) -> Option<String> {
    let looks = object.repaired && is_up(Defense::MendedNames);
    looks.then(|| surrogate::misplaced_replacement_outside(&object.text, TEXTS)).flatten()
}

fn truncate_chars(text: &str, longest: usize) -> String {
    text.chars().take(longest).collect()
}

/// The common fields of all commands. As in zot, an id that is not a string makes the line
/// unreadable.
struct RequestHead {
    id: Option<String>,
    kind: String,
    session: Result<Option<String>, String>,
}

impl RequestHead {
    fn read(text: &str) -> Result<Self, UnreadableRequest> {
        #[derive(Deserialize)]
        struct RawRequestHead<'a> {
            #[serde(borrow)]
            id: Option<&'a RawValue>,
            #[serde(rename = "type", borrow)]
            kind: Option<&'a RawValue>,
            #[serde(borrow)]
            session: Option<&'a RawValue>,
        }
        let raw: RawRequestHead<'_> = serde_json::from_str(text).map_err(|error| {
            UnreadableRequest::from_malformed(None, ErrorCode::Malformed, without_position(&error))
        })?;
        let malformed = |id: Option<String>, field: &str, what: &str| {
            UnreadableRequest::from_malformed(id, ErrorCode::Malformed, format!("{field}: {what}"))
        };
        let id = text_of(raw.id).map_err(|what| malformed(None, "id", &what))?;
        let kind = text_of(raw.kind).map_err(|what| malformed(id.clone(), "type", &what))?;
        let session = text_of(raw.session);
        Ok(Self { id, kind: kind.unwrap_or_default(), session })
    }
}

/// Returns the text of a field; `None` if it is absent, `null` or empty.
fn text_of(value: Option<&RawValue>) -> Result<Option<String>, String> {
    let Some(value) = value else { return Ok(None) };
    let text: Option<String> = serde_json::from_str(value.get())
        .map_err(|error| truncate_chars(&without_position(&error), LONGEST_DETAIL))?;
    Ok(text.filter(|text| !text.is_empty()))
}

/// Returns the id of a line that is JSON, but ambiguous or too large.
#[cold]
fn salvaged_id(text: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct IdField {
        id: Option<String>,
    }
    // A derived reader would accept the first item of an array as the id.
    let id = text.starts_with('{').then(|| serde_json::from_str::<IdField>(text).ok())??.id;
    id.filter(|id| !id.is_empty())
}
