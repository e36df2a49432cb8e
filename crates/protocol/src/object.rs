//! A line that is one JSON object to everybody, for the dialects that say in their own words what is wrong with one.

use std::borrow::Cow;

use crate::codec::{Bounds, Plain};
use crate::error::DecodeError;
use crate::scan::{self, ScanLimits};
use crate::surrogate;

/// The text of a line that is one unambiguous JSON object.
#[derive(Debug)]
pub(crate) struct Object<'a> {
    pub(crate) text: Cow<'a, str>,
    /// A text held half of a surrogate pair, which became U+FFFD.
    pub(crate) mended: bool,
}

/// A line that is none.
#[derive(Debug)]
pub(crate) struct Refused<'a> {
    /// The line, if it is text: something of it may be told all the same.
    pub(crate) text: Option<Cow<'a, str>>,
    pub(crate) error: DecodeError,
}

/// Looks at one line (without its newline). What is `known` of it must be true of it.
pub(crate) fn checked(line: &[u8], bounds: Bounds, known: Plain) -> Result<Object<'_>, Refused<'_>> {
    if line.len() > bounds.line {
        return Err(Refused { text: None, error: DecodeError::TooLong { limit: bounds.line } });
    }
    let whole = std::str::from_utf8(line).map_err(|_| Refused { text: None, error: DecodeError::NotUtf8 })?;
    // Only JSON's own white space: a line that begins with a no-break space is no JSON for anybody.
    let whole = whole.trim_end_matches(WHITE_SPACE);
    let text = whole.trim_start_matches(WHITE_SPACE);
    let limits = ScanLimits { depth: bounds.depth, nodes: bounds.nodes };
    let known = known.without(whole.len() - text.len());
    let (text, mended) = match scan::overview_knowing(text, limits, known) {
        Some(_) => (Cow::Borrowed(text), false),
        None => {
            let text = surrogate::mend(text);
            if let Err(error) = scan::scan(&text, limits) {
                return Err(Refused { text: Some(text), error });
            }
            let mended = matches!(text, Cow::Owned(_));
            (text, mended)
        }
    };
    match text.starts_with('{') {
        true => Ok(Object { text, mended }),
        false => Err(Refused { text: Some(text), error: DecodeError::NotObject }),
    }
}

const WHITE_SPACE: [char; 4] = [' ', '\t', '\r', '\n'];
