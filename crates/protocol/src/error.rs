//! Errors of a line, with a name for each case.

use crate::ids::RequestId;

/// Why a line is not a frame. [`code`](Self::code) is stable and is what `extension_error` events carry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The line is longer than the receiver takes.
    #[error("line longer than {limit} bytes")]
    TooLong {
        /// The limit that was in force, in bytes.
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
    /// The text is JSON but not an object: a frame never is an array, a string or a number.
    #[error("a frame is a JSON object")]
    NotObject,
    /// Arrays and objects are nested too deep.
    #[error("nested deeper than {limit} levels")]
    TooDeep {
        /// The limit in force.
        limit: usize,
    },
    /// Too many values in one frame.
    #[error("more than {limit} values")]
    TooManyNodes {
        /// The limit in force.
        limit: usize,
    },
    /// One object names a key twice, so two readers may take two values.
    #[error("key {key:?} occurs twice in one object")]
    DuplicateKey {
        /// The key, unescaped.
        key: String,
    },
    /// A number that no 64-bit float can hold (`1e400`): JSON, but unreadable for most languages. A *frame* with
    /// such a number is [`Malformed`](Self::Malformed), so that its `id` is kept.
    #[error("number out of range")]
    NumberOutOfRange,
    /// A frame of a known type whose fields are wrong.
    #[error("bad {kind:?} frame: {detail}")]
    Malformed {
        /// The frame's `type`.
        kind: String,
        /// Its `id`, so that the call it answers can be failed at once.
        id: Option<RequestId>,
        /// Which field, and what is wrong with it.
        detail: String,
    },
}

impl DecodeError {
    /// The stable name of the case.
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

/// The parser's message alone: a frame is one line, and inside a nested text the column would mislead.
pub(crate) fn without_position(error: &serde_json::Error) -> String {
    let message = error.to_string();
    message.rsplit_once(" at line ").map_or(message.as_str(), |(before, _)| before).to_owned()
}
