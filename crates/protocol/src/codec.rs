//! Converts between lines and frames in two steps, which keep *known*, *unknown* and *malformed*
//! apart.

use std::borrow::Cow;

use bytes::Bytes;
use bytestring::ByteString;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::compact;
use crate::defense::{Defense, is_up};
use crate::error::{DecodeError, without_position};
use crate::ids::RequestId;
use crate::limits::{MAX_DEPTH, MAX_LINE, MAX_NODES};
use crate::reader::JsonForm;
use crate::scan::{self, ScanLimits};
use crate::shared_line;
use crate::surrogate;

pub use crate::reader::CheckedJson;
pub use crate::scan::PlainSpan;

/// All frames of one direction. Only the `frames!` registry in [`ext`](crate::ext) implements this
/// trait.
pub trait FrameSet: Serialize + Sized {
    /// Every `type` of the set, in registry order.
    const KINDS: &'static [&'static str];

    /// The `type` of this frame.
    fn kind(&self) -> &'static str;

    /// Reads the fields of a frame whose `type` is `kind`. Returns `None` if the set has no such
    /// frame. The error names the field and the mistake.
    fn read(kind: &str, line: CheckedJson<'_>) -> Option<Result<Self, String>>;
}

/// A line that is a frame: a known type, or a type that only newer peers know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DecodedFrame<F> {
    /// A frame of the set.
    Known(F),
    /// A JSON object whose `type` is missing or not in the set.
    Unknown {
        /// The `type` of the frame; empty if absent.
        kind: String,
        /// The `id` of the frame, if present.
        id: Option<RequestId>,
    },
}

/// The maximum length, depth and size of one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineLimits {
    /// The length in bytes, without the newline.
    pub line: usize,
    /// The nesting of arrays and objects, with the frame as 1. Above 127 the limit of the JSON
    /// parser applies.
    pub depth: usize,
    /// The number of values and keys.
    pub nodes: usize,
}

impl Default for LineLimits {
    fn default() -> Self {
        Self { line: MAX_LINE, depth: MAX_DEPTH, nodes: MAX_NODES }
    }
}

/// A decoded line, and whether the decoder had to repair it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeOutcome<F> {
    /// The frame of the line.
    pub frame: DecodedFrame<F>,
    /// True if half of a surrogate pair in a text was replaced by U+FFFD.
    pub repaired: bool,
}

/// Reads one line (without its newline; a trailing `\r` is ignored) of at most [`MAX_LINE`] bytes.
///
/// # Errors
/// The kind of the mistake: see [`DecodeError`]. A frame of a known type with wrong fields is
/// [`DecodeError::Malformed`] and carries its `id`.
pub fn decode<F: FrameSet>(line: &[u8]) -> Result<DecodedFrame<F>, DecodeError> {
    decode_with_limit(line, MAX_LINE)
}

/// Reads one line like [`decode`], with another limit on the length in bytes.
///
/// # Errors
/// As [`decode`].
pub fn decode_with_limit<F: FrameSet>(line: &[u8], limit: usize) -> Result<DecodedFrame<F>, DecodeError> {
    read(line, LineLimits { line: limit, ..LineLimits::default() }).map(|reading| reading.frame)
}

/// Reads one line like [`decode`], with other limits, and reports whether the line was repaired.
///
/// # Errors
/// As [`decode`].
pub fn read<F: FrameSet>(line: &[u8], bounds: LineLimits) -> Result<DecodeOutcome<F>, DecodeError> {
    if line.len() > bounds.line {
        return Err(DecodeError::TooLong { limit: bounds.line });
    }
    read_text(std::str::from_utf8(line).map_err(|_| DecodeError::NotUtf8)?, bounds, PlainSpan::default())
}

/// Reads a line like [`read`] without copying a large image: the image shares the memory of the
/// line.
///
/// # Errors
/// As [`read`].
pub fn read_shared<F: FrameSet>(line: &Bytes, bounds: LineLimits) -> Result<DecodeOutcome<F>, DecodeError> {
    read_with_plain_span(line, bounds, PlainSpan::default())
}

/// Reads a line like [`read_shared`] without scanning its known plain part again. If the plain part
/// is wrong, the result is meaningless.
///
/// # Errors
/// As [`read`].
pub fn read_with_plain_span<F: FrameSet>(
    line: &Bytes,
    bounds: LineLimits,
    known: PlainSpan,
) -> Result<DecodeOutcome<F>, DecodeError> {
    if line.len() < shared_line::LEAST || line.len() > bounds.line {
        return read(line, bounds);
    }
    let line = ByteString::try_from(line.clone()).map_err(|_| DecodeError::NotUtf8)?;
    shared_line::while_reading(&line, || read_text(&line, bounds, known))
}

fn read_text<F: FrameSet>(
    line: &str,
    bounds: LineLimits,
    known: PlainSpan,
) -> Result<DecodeOutcome<F>, DecodeError> {
    // Only JSON's own white space: a line that begins with a no-break space is not JSON.
    let whole = line.trim_end_matches(WHITE_SPACE);
    let line = whole.trim_start_matches(WHITE_SPACE);
    let known = known.shifted_back(whole.len() - line.len());
    let limits = ScanLimits { depth: bounds.depth, nodes: bounds.nodes };
    if let Some(seen) = scan::scan_overview_with_plain_span(line, limits, known)
        && let Some(kind) = seen.kind.and_then(plain_string_value)
    {
        let form = if seen.tight { JsonForm::Tight } else { JsonForm::Any };
        let frame = read_typed_frame(kind, CheckedJson { text: line, form, longest: seen.longest }, || {
            seen.id.and_then(request_id)
        })?;
        return Ok(DecodeOutcome { frame, repaired: false });
    }
    read_carefully(line, limits)
}

/// Reads rare and wrong lines like [`read`], with a named error.
#[cold]
fn read_carefully<F: FrameSet>(line: &str, limits: ScanLimits) -> Result<DecodeOutcome<F>, DecodeError> {
    let line = surrogate::replace_lone_surrogates(line);
    let scanned = scan::scan(&line, limits);
    // Derived structs also read arrays (`["hello","x"]`), so the shape is checked by hand.
    if scanned.is_ok() && !line.starts_with('{') {
        return Err(DecodeError::NotObject);
    }
    if let Err(DecodeError::NumberOutOfRange) = scanned {
        let FrameHead { kind, id } = FrameHead::read(&line)?;
        return Err(DecodeError::Malformed { kind, id, detail: DecodeError::NumberOutOfRange.to_string() });
    }
    scanned?;
    let mended = matches!(line, Cow::Owned(_));
    if mended && is_up(Defense::MendedNames) {
        reject_repaired_names(&line)?;
    }
    let FrameHead { kind, id } = FrameHead::read(&line)?;
    let frame = read_typed_frame(
        &kind,
        CheckedJson { text: &line, form: JsonForm::Any, longest: PlainSpan::default() },
        || id,
    )?;
    Ok(DecodeOutcome { frame, repaired: mended })
}

/// True if a line contains only white space. Readers skip such lines silently.
pub fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|&byte| WHITE_SPACE.contains(&char::from(byte)))
}

/// Writes one frame as a compact line, newline included: `type` first, then `id`.
///
/// Characters that some languages treat as the end of a line (U+0085, U+2028, U+2029) are escaped,
/// so that Node's `readline` and Python's `splitlines` see one line.
///
/// # Errors
/// If the frame holds a read-only value: a block of a tool result of an unknown kind.
pub fn encode<F: FrameSet>(frame: &F) -> Result<String, serde_json::Error> {
    let mut line = compact::escape_line_ends(serde_json::to_string(frame)?);
    line.push('\n');
    Ok(line)
}

/// Writes one frame like [`encode`] to the end of a buffer. After an error the buffer is unchanged.
pub fn encode_into<F: FrameSet>(frame: &F, lines: &mut Vec<u8>) -> Result<(), serde_json::Error> {
    let from = lines.len();
    let written = serde_json::to_writer(&mut *lines, frame);
    if written.is_err() {
        lines.truncate(from);
        return written;
    }
    if compact::has_line_ends(lines.get(from..).unwrap_or_default()) {
        let line = String::from_utf8(lines.split_off(from)).expect("serde_json writes UTF-8");
        lines.extend_from_slice(compact::escape_line_ends(line).as_bytes());
    }
    lines.push(b'\n');
    Ok(())
}

const WHITE_SPACE: [char; 4] = [' ', '\t', '\r', '\n'];

/// Reads the frame from a line that is one unambiguous JSON object.
fn read_typed_frame<F: FrameSet>(
    kind: &str,
    line: CheckedJson<'_>,
    id: impl FnOnce() -> Option<RequestId>,
) -> Result<DecodedFrame<F>, DecodeError> {
    match F::read(kind, line) {
        Some(Ok(frame)) => Ok(DecodedFrame::Known(frame)),
        Some(Err(detail)) => Err(DecodeError::Malformed { kind: kind.to_owned(), id: id(), detail }),
        None => Ok(DecodedFrame::Unknown { kind: kind.to_owned(), id: id() }),
    }
}

/// Returns the value of a JSON string without escapes.
fn plain_string_value(json: &str) -> Option<&str> {
    json.strip_prefix('"')?.strip_suffix('"').filter(|text| !text.contains('\\'))
}

fn request_id(json: &str) -> Option<RequestId> {
    serde_json::from_str(json).ok()
}

fn reject_repaired_names(line: &str) -> Result<(), DecodeError> {
    let Some(field) = surrogate::misplaced_replacement(line) else { return Ok(()) };
    let FrameHead { kind, id } = FrameHead::read(line)?;
    // A repaired id is not the id that the peer sent.
    let id = id.filter(|_| field != "id");
    Err(DecodeError::Malformed { kind, id, detail: format!("{field}: holds half of a surrogate pair") })
}

/// The two fields that every reader needs first.
struct FrameHead {
    kind: String,
    id: Option<RequestId>,
}

impl FrameHead {
    fn read(line: &str) -> Result<Self, DecodeError> {
        /// The head of a frame. Any value of `id` is accepted, so that a frame with a wrong `id`
        /// still has its type.
        #[derive(Deserialize)]
        struct RawFrameHead<'a> {
            #[serde(rename = "type", default, borrow)]
            kind: Option<&'a RawValue>,
            #[serde(default, borrow)]
            id: Option<&'a RawValue>,
        }
        let raw: RawFrameHead<'_> = serde_json::from_str(line)
            .map_err(|error| DecodeError::NotJson { detail: without_position(&error) })?;
        let id = raw.id.and_then(|id| request_id(id.get()));
        match raw.kind.map_or(Ok(String::new()), |kind| serde_json::from_str(kind.get())) {
            Ok(kind) => Ok(Self { kind, id }),
            Err(error) => {
                let detail = format!("type: {}", without_position(&error));
                Err(DecodeError::Malformed { kind: String::new(), id, detail })
            }
        }
    }
}
