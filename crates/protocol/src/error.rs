//! Errors of a line, with a stable code for each case.

use std::fmt;

use crate::ids::RequestId;

/// The reasons why a line is not a frame. [`code`](Self::code) is stable; `extension_error` events
/// carry it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// The line is longer than the receiver allows.
    TooLong {
        /// The limit in bytes.
        limit: usize,
    },
    /// The bytes are not UTF-8.
    NotUtf8,
    /// The text is not JSON.
    NotJson {
        /// The message of the parser.
        detail: String,
    },
    /// The text is JSON but not an object. A frame is never an array, a string or a number.
    NotObject,
    /// Arrays and objects are nested too deeply.
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// One frame contains too many values.
    TooManyNodes {
        /// The limit.
        limit: usize,
    },
    /// One object contains a key twice, so that two readers may use different values.
    DuplicateKey {
        /// The key, unescaped.
        key: String,
    },
    /// A number outside the range of a 64-bit float (`1e400`): valid JSON, but unreadable in most
    /// languages. A *frame* with such a number is [`Malformed`](Self::Malformed), so that its `id`
    /// is kept.
    NumberOutOfRange,
    /// A frame of a known type whose fields are wrong.
    Malformed {
        /// The `type` of the frame.
        kind: String,
        /// The `id` of the frame, so that the open request can fail at once.
        id: Option<RequestId>,
        /// The field and the mistake.
        detail: String,
    },
}

impl DecodeError {
    /// Returns the stable code of the case.
    pub fn code(&self) -> &'static str {
        match self {
            Self::TooLong { .. } => "frame_too_long",
            Self::NotUtf8 => "frame_not_utf8",
            Self::NotJson { .. } => "frame_not_json",
            Self::NotObject => "frame_not_object",
            Self::TooDeep { .. } | Self::TooManyNodes { .. } => "frame_too_deep",
            Self::DuplicateKey { .. } => "frame_duplicate_key",
            Self::NumberOutOfRange | Self::Malformed { .. } => "frame_invalid",
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { limit } => write!(f, "line longer than {limit} bytes"),
            Self::NotUtf8 => f.write_str("line is not UTF-8"),
            Self::NotJson { detail } => write!(f, "not JSON: {detail}"),
            Self::NotObject => f.write_str("a frame is a JSON object"),
            Self::TooDeep { limit } => write!(f, "nested deeper than {limit} levels"),
            Self::TooManyNodes { limit } => write!(f, "more than {limit} values"),
            Self::DuplicateKey { key } => write!(f, "key {key:?} occurs twice in one object"),
            Self::NumberOutOfRange => f.write_str("number out of range"),
            Self::Malformed { kind, detail, .. } => write!(f, "bad {kind:?} frame: {detail}"),
        }
    }
}

impl std::error::Error for DecodeError {}

/// Returns the parser's message without a position: a frame is one line, and in a nested text the
/// column would mislead.
pub fn without_position(error: &serde_json::Error) -> String {
    let message = error.to_string();
    message.rsplit_once(" at line ").map_or(message.as_str(), |(before, _)| before).to_owned()
}
