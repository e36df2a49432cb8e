//! Lines of a hook: replies only.
//!
//! ```json
//! {"jsonrpc":"2.0","id":1,"result":{"ok":true}}
//! {"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"no disk"}}
//! ```
//!
//! PicoClaw skips unreadable lines. A line is therefore a [`HookReply`], or an [`UnreadableLine`]
//! with the reason. If an unreadable line has an id, the call of that id fails at once instead of
//! at its deadline.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fold::{self, ObjectFields};
use haft_protocol::RawJson;
use haft_protocol::codec::{LineLimits, PlainSpan};
use haft_protocol::defense::{Defense, is_up};
use haft_protocol::error::DecodeError;
use haft_protocol::foreign::{ObjectLine, RejectedLine, escape_line_ends, read_object_line};
use haft_protocol::limits::{MAX_DEPTH, MAX_NODES, MAX_RESULT_LINE};

/// The limits of a line of a hook: 8 MiB at any time, because replies repeat the conversation.
pub const BOUNDS: LineLimits = LineLimits { line: MAX_RESULT_LINE, depth: MAX_DEPTH, nodes: MAX_NODES };

/// The version of JSON-RPC.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum JsonRpcVersion {
    /// Version 2.0, the only supported one.
    #[default]
    #[serde(rename = "2.0")]
    Two,
}

/// A line of a hook: the reply to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookReply {
    /// The id of the request, never 0.
    pub id: u64,
    /// The result, `{}` if it is absent or `null`; or the error of the hook.
    pub outcome: Result<RawJson, RpcError>,
    /// True if half of a surrogate pair in a text was replaced by U+FFFD.
    pub repaired: bool,
}

/// The error of a hook, `error` on the wire.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, expecting = "an object")]
#[error("{}", self.message_or_code())]
pub struct RpcError {
    /// The JSON-RPC code; -32000 for errors of the hook itself.
    pub code: i64,
    /// The error message.
    pub message: String,
}

impl RpcError {
    fn message_or_code(&self) -> Cow<'_, str> {
        match self.message.trim() {
            "" => format!("error {} without a message", self.code).into(),
            message => message.into(),
        }
    }
}

/// The code of a line that resembles a reply.
const INVALID_FRAME: &str = "frame_invalid";

/// The reason why a line is not a reply. `Display` describes the mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableLine {
    /// The id of the call, if it can be determined.
    pub id: Option<u64>,
    /// The stable code of the case, as in [`DecodeError::code`].
    pub code: &'static str,
    /// The mistake in the line.
    pub detail: String,
}

impl fmt::Display for UnreadableLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

impl std::error::Error for UnreadableLine {}

impl UnreadableLine {
    /// True if the line resembles a reply, so that its author probably expects an effect.
    pub fn resembles_reply(&self) -> bool {
        self.code == INVALID_FRAME
    }

    pub(super) fn invalid_frame(id: Option<u64>, detail: impl Into<String>) -> Self {
        Self { id, code: INVALID_FRAME, detail: detail.into() }
    }

    fn from_decode_error(id: Option<u64>, error: &DecodeError) -> Self {
        Self { id, code: error.code(), detail: error.to_string() }
    }
}

impl From<String> for UnreadableLine {
    /// Converts the error of `ObjectFields`, which finds duplicate keys.
    fn from(detail: String) -> Self {
        Self { id: None, code: "frame_duplicate_key", detail }
    }
}

impl HookReply {
    /// Encodes the line, newline included, for implementations of hooks.
    ///
    /// # Errors
    /// None for values that this crate can build; callers must not rely on that.
    pub fn encode(&self) -> Result<String, serde_json::Error> {
        #[derive(Serialize)]
        struct ReplyWire<'a> {
            jsonrpc: JsonRpcVersion,
            id: u64,
            #[serde(skip_serializing_if = "Option::is_none")]
            result: Option<&'a RawJson>,
            #[serde(skip_serializing_if = "Option::is_none")]
            error: Option<&'a RpcError>,
        }
        let (result, error) = (self.outcome.as_ref().ok(), self.outcome.as_ref().err());
        encode_line(&ReplyWire { jsonrpc: JsonRpcVersion::Two, id: self.id, result, error })
    }
}

/// Reads one line (without its newline). Field names are matched without regard to case, as in
/// PicoClaw. The plain span `known` must be correct for the line.
///
/// # Errors
/// [`UnreadableLine`], for the log; never a reason to end the hook.
pub fn read_reply(line: &[u8], bounds: LineLimits, known: PlainSpan) -> Result<HookReply, UnreadableLine> {
    let line = check_line(line, bounds, known)?;
    let fields = line_fields(&line)?;
    let given = fields.get("id")?;
    let Some(id) = given.and_then(parse_id) else {
        let what = given.map_or("no id", |_| "the id is not a whole number above 0");
        return Err(UnreadableLine::invalid_frame(None, what));
    };
    let owned = |error: String| UnreadableLine { id: Some(id), ..UnreadableLine::from(error) };
    let (result, error) = (fields.get("result").map_err(owned)?, fields.get("error").map_err(owned)?);
    if result.is_none() && error.is_none() && fields.has("method") && !fields.has("result") {
        return Err(UnreadableLine::invalid_frame(None, "a call: a hook only replies"));
    }
    let outcome = match (error, result) {
        (Some(error), _) => Err(fold::read_field("error", error)
            .map_err(|detail| UnreadableLine::invalid_frame(Some(id), format!("{detail}; {ERROR_SHAPE}")))?),
        (None, Some(result)) => Ok(RawJson::from_checked_text(result)),
        (None, None) => Ok(RawJson::empty_object()),
    };
    if line.repaired && is_up(Defense::MendedNames) && has_misplaced_replacement(&line.text) {
        return Err(UnreadableLine::invalid_frame(
            Some(id),
            "a name or an argument holds half of a surrogate pair",
        ));
    }
    Ok(HookReply { id, outcome, repaired: line.repaired })
}

const ERROR_SHAPE: &str = r#"expected {"code":-32000,"message":"…"}"#;

/// Reads an id as PicoClaw's reader does: digits, and not 0.
pub(super) fn parse_id(json: &str) -> Option<u64> {
    json.bytes().all(|byte| byte.is_ascii_digit()).then(|| json.parse().ok())?.filter(|id| *id > 0)
}

pub(super) fn line_fields<'a>(line: &'a ObjectLine<'_>) -> Result<ObjectFields<'a>, UnreadableLine> {
    ObjectFields::parse(&line.text).map_err(|error| UnreadableLine::invalid_frame(None, error.to_string()))
}

pub(super) fn check_line(
    line: &[u8],
    bounds: LineLimits,
    known: PlainSpan,
) -> Result<ObjectLine<'_>, UnreadableLine> {
    read_object_line(line, bounds, known).map_err(|RejectedLine { text, error }| {
        UnreadableLine::from_decode_error(text.as_deref().and_then(salvaged_id), &error)
    })
}

/// Returns the id of a line that is JSON, but ambiguous or too large.
#[cold]
fn salvaged_id(text: &str) -> Option<u64> {
    let fields = ObjectFields::parse_leniently(text)?;
    fields.get("id").ok()?.and_then(parse_id)
}

/// True if a repaired text is anything but text for people and models.
fn has_misplaced_replacement(line: &str) -> bool {
    serde_json::from_str(line).is_ok_and(|value| holds_replacement(&value, TEXT))
}

/// Fields that hold text for people and models.
const TEXT: &[&str] = &[
    "content",
    "description",
    "for_llm",
    "for_user",
    "message",
    "reason",
    "reasoning",
    "reasoning_content",
    "text",
];

/// Fields with keys of any name.
const FREE: &[&str] = &["arguments", "options", "parameters"];

fn holds_replacement(value: &Value, texts: &[&str]) -> bool {
    match value {
        Value::Object(fields) => fields.iter().any(|(name, value)| {
            let known = name.to_ascii_lowercase();
            let texts = if FREE.contains(&&*known) { &[] } else { texts };
            let is_text = value.is_string() && texts.contains(&&*known);
            name.contains(char::REPLACEMENT_CHARACTER) || !is_text && holds_replacement(value, texts)
        }),
        Value::Array(items) => items.iter().any(|item| holds_replacement(item, texts)),
        Value::String(text) => text.contains(char::REPLACEMENT_CHARACTER),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

pub(super) fn encode_line<T: Serialize>(value: &T) -> Result<String, serde_json::Error> {
    let mut line = escape_line_ends(serde_json::to_string(value)?);
    line.push('\n');
    Ok(line)
}
