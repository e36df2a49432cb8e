//! Lines to frames and back, in two steps, so that *known*, *unknown* and *malformed* stay three things.

use serde::{Deserialize, Serialize};

use crate::error::DecodeError;
use crate::ids::RequestId;
use crate::limits::MAX_LINE;
use crate::scan::{self, ScanLimits};

/// All frames of one direction. Implemented by the `frames!` registry in [`ext`](crate::ext), nowhere else.
pub trait FrameSet: Serialize + Sized {
    /// Every `type` of the set, in registry order.
    const KINDS: &'static [&'static str];

    /// The `type` of this frame.
    fn kind(&self) -> &'static str;

    /// Reads the fields of a frame whose `type` is `kind`; `None` when the set has no such frame.
    fn read(kind: &str, line: &str) -> Option<Result<Self, serde_json::Error>>;
}

/// A line that is a frame: one we know, or one a newer peer may know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decoded<F> {
    /// A frame of the set.
    Known(F),
    /// A JSON object whose `type` is missing or not in the set.
    Unknown {
        /// Its `type`, empty when missing.
        kind: String,
        /// Its `id`, when it has one.
        id: Option<RequestId>,
    },
}

/// Reads one line (without its newline; a trailing `\r` is ignored) of at most [`MAX_LINE`] bytes.
///
/// # Errors
/// The name of what is wrong: see [`DecodeError`]. A frame of a known type whose fields are wrong is
/// [`DecodeError::Malformed`] and carries its `id`.
pub fn decode<F: FrameSet>(line: &[u8]) -> Result<Decoded<F>, DecodeError> {
    decode_within(line, MAX_LINE)
}

/// [`decode`] with another limit on the line's length, in bytes.
///
/// # Errors
/// As [`decode`].
pub fn decode_within<F: FrameSet>(line: &[u8], limit: usize) -> Result<Decoded<F>, DecodeError> {
    if line.len() > limit {
        return Err(DecodeError::TooLong { limit });
    }
    let line = std::str::from_utf8(line).map_err(|_| DecodeError::NotUtf8)?.trim();
    scan::scan(line, ScanLimits::default())?;
    // Derived structs also read arrays (`["hello","x"]`), so the shape is checked by hand.
    if !line.starts_with('{') {
        return Err(DecodeError::NotObject);
    }
    let head = Head::read(line)?;
    match F::read(&head.kind, line) {
        Some(Ok(frame)) => Ok(Decoded::Known(frame)),
        Some(Err(error)) => {
            Err(DecodeError::Malformed { kind: head.kind, id: head.id, detail: error.to_string() })
        }
        None => Ok(Decoded::Unknown { kind: head.kind, id: head.id }),
    }
}

/// Writes one frame as a compact line, newline included: `type` first, then `id`.
///
/// # Errors
/// None for the frames of this crate; the signature leaves room for foreign frame sets.
pub fn encode<F: FrameSet>(frame: &F) -> Result<String, serde_json::Error> {
    let mut line = serde_json::to_string(frame)?;
    line.push('\n');
    Ok(line)
}

/// The two fields that every reader looks at first. Lenient, so that a wrong `id` still names its frame.
#[derive(Deserialize)]
struct RawHead<'a> {
    #[serde(rename = "type", default, borrow)]
    kind: Option<&'a serde_json::value::RawValue>,
    #[serde(default, borrow)]
    id: Option<&'a serde_json::value::RawValue>,
}

struct Head {
    kind: String,
    id: Option<RequestId>,
}

impl Head {
    fn read(line: &str) -> Result<Self, DecodeError> {
        let raw: RawHead<'_> =
            serde_json::from_str(line).map_err(|error| DecodeError::NotJson { detail: error.to_string() })?;
        let kind = raw.kind.and_then(|kind| serde_json::from_str(kind.get()).ok()).unwrap_or_default();
        let id = raw.id.and_then(|id| serde_json::from_str(id.get()).ok());
        Ok(Self { kind, id })
    }
}
