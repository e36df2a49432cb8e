//! A line that is one unambiguous JSON object, for the dialects that describe mistakes themselves.

use std::borrow::Cow;

use crate::codec::{LineLimits, PlainSpan};
use crate::error::DecodeError;
use crate::scan::{self, ScanLimits};
use crate::surrogate;

/// The text of a line that is one unambiguous JSON object.
#[derive(Debug)]
pub struct ObjectLine<'a> {
    /// The text, repaired.
    pub text: Cow<'a, str>,
    /// True if half of a surrogate pair in a text was replaced by U+FFFD.
    pub repaired: bool,
}

/// A line that is not an unambiguous JSON object.
#[derive(Debug)]
pub struct RejectedLine<'a> {
    /// The line, if it is text: some of its fields may still be readable.
    pub text: Option<Cow<'a, str>>,
    /// The mistake.
    pub error: DecodeError,
}

/// Checks one line (without its newline). The plain span `known` must be correct for the line.
///
/// # Errors
/// [`RejectedLine`] if the line is not one unambiguous JSON object within the limits.
pub fn read_object_line(
    line: &[u8],
    bounds: LineLimits,
    known: PlainSpan,
) -> Result<ObjectLine<'_>, RejectedLine<'_>> {
    if line.len() > bounds.line {
        return Err(RejectedLine { text: None, error: DecodeError::TooLong { limit: bounds.line } });
    }
    let whole =
        std::str::from_utf8(line).map_err(|_| RejectedLine { text: None, error: DecodeError::NotUtf8 })?;
    // Only JSON's own white space: a line that begins with a no-break space is not JSON.
    let whole = whole.trim_end_matches(WHITE_SPACE);
    let text = whole.trim_start_matches(WHITE_SPACE);
    let limits = ScanLimits { depth: bounds.depth, nodes: bounds.nodes };
    let known = known.shifted_back(whole.len() - text.len());
    let (text, mended) = match scan::scan_overview_with_plain_span(text, limits, known) {
        Some(_) => (Cow::Borrowed(text), false),
        None => {
            let text = surrogate::replace_lone_surrogates(text);
            if let Err(error) = scan::scan(&text, limits) {
                return Err(RejectedLine { text: Some(text), error });
            }
            let mended = matches!(text, Cow::Owned(_));
            (text, mended)
        }
    };
    match text.starts_with('{') {
        true => Ok(ObjectLine { text, repaired: mended }),
        false => Err(RejectedLine { text: Some(text), error: DecodeError::NotObject }),
    }
}

const WHITE_SPACE: [char; 4] = [' ', '\t', '\r', '\n'];
