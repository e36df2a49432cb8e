//! Errors of a line, with a stable code for each case.

use crate::ids::RequestId;

/// The reasons why a line is not a frame. [`code`](Self::code) is stable; `extension_error` events
/// carry it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The line is longer than the receiver allows.
    #[error("line longer than {limit} bytes")]
    TooLong {
        /// The limit in bytes.
        limit: usize,
    },
    /// The bytes are not UTF-8.
    #[error("line is not UTF-8")]
    NotUtf8,
    /// The text is not JSON.
    #[error("not JSON: {detail}")]
    NotJson {
        /// The message of the parser.
        detail: String,
    },
    /// The text is JSON but not an object. A frame is never an array, a string or a number.
    #[error("a frame is a JSON object")]
    NotObject,
    /// Arrays and objects are nested too deeply.
    #[error("nested deeper than {limit} levels")]
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// One frame contains too many values.
    #[error("more than {limit} values")]
    TooManyNodes {
        /// The limit.
        limit: usize,
    },
    /// One object contains a key twice, so that two readers may use different values.
    #[error("key {key:?} occurs twice in one object")]
    DuplicateKey {
        /// The key, unescaped.
        key: String,
    },
    /// A number outside the range of a 64-bit float (`1e400`): valid JSON, but unreadable in most
    /// languages. A *frame* with such a number is [`Malformed`](Self::Malformed), so that its `id`
    /// is kept.
    #[error("number out of range")]
    NumberOutOfRange,
    /// A frame of a known type whose fields are wrong.
    #[error("bad {kind:?} frame: {detail}")]
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

/// Returns the parser's message without a position: a frame is one line, and in a nested text the
/// column would mislead.
pub fn without_position(error: &serde_json::Error) -> String {
    let message = error.to_string();
    message.rsplit_once(" at line ").map_or(message.as_str(), |(before, _)| before).to_owned()
}
