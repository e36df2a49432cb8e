//! Requests of a client: a command a line.
//!
//! ```json
//! {"id":"1","type":"prompt","message":"hi"}
//! {"id":"2","type":"get_state","session":"0199"}
//! ```

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Command, CommandKind, ErrorCode, Failure, Response, line};
use crate::codec::{Bounds, Plain};
use crate::defence::{Defence, is_up};
use crate::error::DecodeError;
use crate::error::without_position;
use crate::limits::{MAX_DEPTH, MAX_NODES};
use crate::object::{self, Object, Refused};
use crate::reader::{Checked, Form};
use crate::surrogate;

/// The longest line of a client: 16 MiB, the newline not counted.
pub const MAX_LINE: usize = 16 * 1024 * 1024;

/// The bounds of a line of a client.
pub const BOUNDS: Bounds = Bounds { line: MAX_LINE, depth: MAX_DEPTH, nodes: MAX_NODES };

/// One line of a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Request {
    /// Given back in the reply. Any text; empty is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The command.
    #[serde(flatten)]
    pub command: Command,
    /// The session that it is about; absent: the one that was switched to last, or the first one. `switch_session` needs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

impl Request {
    /// A command without an id, for the session that is meant when none is named.
    pub fn new(command: impl Into<Command>) -> Self {
        Self { id: None, command: command.into(), session: None }
    }

    /// The line, newline included.
    ///
    /// # Errors
    /// None for what this crate can build; kept, so that no caller has to assume it.
    pub fn encode(&self) -> Result<String, serde_json::Error> {
        line(self).map(|line| line + "\n")
    }
}

/// A line that is no request, and how it is answered. `Display` says what is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    /// Its id, as far as it can be told.
    pub id: Option<String>,
    /// The command that was meant; empty when that is not known.
    pub command: String,
    /// The mistake, and what was expected.
    pub failure: Failure,
}

impl Unread {
    /// The reply to the line.
    pub fn into_response(self) -> Response {
        Response { id: self.id, command: self.command, outcome: Err(self.failure) }
    }

    fn malformed(id: Option<String>, code: ErrorCode, what: impl fmt::Display) -> Self {
        let failure = Failure::new(code, format!("malformed json: {what}"));
        Self { id, command: String::new(), failure }
    }
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.failure.fmt(f)
    }
}

impl std::error::Error for Unread {}

/// Reads one line (without its newline; a trailing `\r` is ignored). Fields that the command does not have are ignored,
/// and `null` is what a field is when it is absent.
///
/// # Errors
/// [`Unread`], which is answered like a command that failed: nothing a client sends is left without a reply.
pub fn read_request(line: &[u8], bounds: Bounds) -> Result<Request, Unread> {
    let object = object::checked(line, bounds, Plain::default()).map_err(refused)?;
    let head = Head::read(&object.text)?;
    let Some(kind) = CommandKind::from_name(&head.kind) else {
        return Err(unknown(head));
    };
    let failed = |id: &Option<String>, error: String| {
        let failure = Failure::new(ErrorCode::BadRequest, error);
        Unread { id: id.clone(), command: kind.name().to_owned(), failure }
    };
    let wrong = |id: &Option<String>, detail: &str| {
        failed(id, format!("{kind}: {detail}; expected {}", kind.shape()))
    };
    let session = head.session.map_err(|detail| failed(&head.id, format!("{kind}: session: {detail}")))?;
    if let Some(field) = mended_name(&object) {
        let id = head.id.filter(|_| field != "id");
        return Err(wrong(&id, &format!("{field}: holds half of a surrogate pair")));
    }
    let text = Checked { text: &object.text, form: Form::Any, longest: Plain::default() };
    let command =
        Command::read(kind, text).map_err(|detail| wrong(&head.id, &cut(&detail, LONGEST_DETAIL)))?;
    if kind == CommandKind::SwitchSession && session.is_none() {
        return Err(wrong(&head.id, "missing field `session`"));
    }
    Ok(Request { id: head.id, command, session })
}

/// Characters of what is said about a field. What it quotes may be long.
const LONGEST_DETAIL: usize = 300;

/// Characters of a name that is given back although nobody knows it.
const LONGEST_NAME: usize = 128;

/// Fields that hold text for people and models. In any other one a text that was mended would be another one.
const TEXTS: &[&str] = &["args", "hint", "instructions", "message", "prefix", "text", "value"];

fn refused(Refused { text, error }: Refused<'_>) -> Unread {
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
    Unread::malformed(text.as_deref().and_then(salvaged_id), code, cut(&what, LONGEST_DETAIL))
}

fn unknown(head: Head) -> Unread {
    let command = cut(&head.kind, LONGEST_NAME);
    let names: Vec<&str> = CommandKind::ALL.iter().map(|kind| kind.name()).collect();
    let error = format!("unknown command {command:?}; use one of {}", names.join(", "));
    Unread { id: head.id, command, failure: Failure::new(ErrorCode::UnknownCommand, error) }
}

/// A field that was mended and must not be.
fn mended_name(object: &Object<'_>) -> Option<String> {
    let looks = object.mended && is_up(Defence::MendedNames);
    looks.then(|| surrogate::misplaced_but(&object.text, TEXTS)).flatten()
}

fn cut(text: &str, longest: usize) -> String {
    text.chars().take(longest).collect()
}

/// The fields that every command may have. An id that is no text spoils the line, as it does for zot.
struct Head {
    id: Option<String>,
    kind: String,
    session: Result<Option<String>, String>,
}

impl Head {
    fn read(text: &str) -> Result<Self, Unread> {
        #[derive(Deserialize)]
        struct Raw<'a> {
            #[serde(borrow)]
            id: Option<&'a RawValue>,
            #[serde(rename = "type", borrow)]
            kind: Option<&'a RawValue>,
            #[serde(borrow)]
            session: Option<&'a RawValue>,
        }
        let raw: Raw<'_> = serde_json::from_str(text)
            .map_err(|error| Unread::malformed(None, ErrorCode::Malformed, without_position(&error)))?;
        let malformed = |id: Option<String>, field: &str, what: &str| {
            Unread::malformed(id, ErrorCode::Malformed, format!("{field}: {what}"))
        };
        let id = text_of(raw.id).map_err(|what| malformed(None, "id", &what))?;
        let kind = text_of(raw.kind).map_err(|what| malformed(id.clone(), "type", &what))?;
        let session = text_of(raw.session);
        Ok(Self { id, kind: kind.unwrap_or_default(), session })
    }
}

/// The text of a field; none when it is absent, `null` or empty.
fn text_of(value: Option<&RawValue>) -> Result<Option<String>, String> {
    let Some(value) = value else { return Ok(None) };
    let text: Option<String> =
        serde_json::from_str(value.get()).map_err(|error| cut(&without_position(&error), LONGEST_DETAIL))?;
    Ok(text.filter(|text| !text.is_empty()))
}

/// The id of a line that is JSON, but ambiguous or too large in some place.
#[cold]
fn salvaged_id(text: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Id {
        id: Option<String>,
    }
    // A derived reader would take the first item of an array for the id.
    let id = text.starts_with('{').then(|| serde_json::from_str::<Id>(text).ok())??.id;
    id.filter(|id| !id.is_empty())
}
