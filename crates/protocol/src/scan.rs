//! Checks a line before anything is built from it: depth, size, duplicate keys, numbers.
//!
//! Parsers disagree about duplicate keys, deep nesting and huge numbers. A gate in one language
//! could approve a call that a tool in another language executes differently. This module therefore
//! rejects ambiguous lines for all readers.
//!
//! [`scan_overview`] is quick and recognizes only correct lines. All others go to [`scan`], which
//! is many times slower and names the mistake.

mod careful;
mod keys;
mod strings;
#[cfg(test)]
mod tests;
mod walk;

pub(crate) use careful::scan;
pub(crate) use strings::{plain_end, unescape};
pub(crate) use walk::{scan_overview, scan_overview_with_plain_span};

/// The maximum depth and size of one JSON text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ScanLimits {
    /// The maximum nesting of arrays and objects, with the outermost as 1.
    pub(crate) depth: usize,
    /// The maximum number of values and keys in total.
    pub(crate) nodes: usize,
}

impl Default for ScanLimits {
    fn default() -> Self {
        Self { depth: crate::limits::MAX_DEPTH, nodes: crate::limits::MAX_NODES }
    }
}

/// A plain part of a line: no quote, no backslash, and no control character, so no line end either.
/// An empty span is valid for every line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PlainSpan {
    pub(crate) from: usize,
    pub(crate) end: usize,
}

impl PlainSpan {
    /// Scans a line from `at` on and keeps the longest plain part. Returns the index of the first
    /// byte at or after `at` that may end the line, or the length of the line.
    pub fn grow(&mut self, line: &[u8], at: usize) -> usize {
        let end = plain_end(line, at);
        if self.end == at {
            self.end = end;
        } else if end - at > self.end - self.from {
            *self = Self { from: at, end };
        }
        end
    }

    /// True if the span is plain within the text.
    pub(crate) fn holds_for(self, text: &[u8]) -> bool {
        let part = text.get(self.from..self.end.min(text.len())).unwrap_or_default();
        plain_end(part, 0) == part.len()
    }

    /// Returns the span for the line without its first `bytes` bytes.
    pub(crate) fn shifted_back(self, bytes: usize) -> Self {
        Self { from: self.from.saturating_sub(bytes), end: self.end.saturating_sub(bytes) }
    }
}

/// The result of a scan of a well-formed text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ScanOverview<'a> {
    /// The value of the field `type` of the outermost object, as JSON.
    pub(crate) kind: Option<&'a str>,
    /// The value of the field `id` of the outermost object, as JSON.
    pub(crate) id: Option<&'a str>,
    /// True if there is no white space between tokens.
    pub(crate) tight: bool,
    /// The longest plain part of a string, from its quote on.
    pub(crate) longest: PlainSpan,
}
