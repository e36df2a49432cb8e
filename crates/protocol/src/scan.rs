//! One pass over a line before anything is built from it: depth, size, duplicate keys, numbers.
//!
//! Parsers disagree about duplicate keys, deep nesting and huge numbers, so a guard in one language could
//! approve what a tool in another executes differently. What is ambiguous is refused here, once, for everybody.
//!
//! [`scan_overview`] is quick and knows only "all is well": what it cannot vouch for, good or bad, is left to [`scan`],
//! which is many times slower and names what is wrong.

mod careful;
mod keys;
mod strings;
#[cfg(test)]
mod tests;
mod walk;

pub(crate) use careful::scan;
pub(crate) use strings::{plain_end, unescape};
pub(crate) use walk::{scan_overview, scan_overview_with_plain_span};

/// The greatest depth and size of one JSON text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ScanLimits {
    /// Nested arrays and objects, the outermost counted as 1.
    pub(crate) depth: usize,
    /// Values and keys in all.
    pub(crate) nodes: usize,
}

impl Default for ScanLimits {
    fn default() -> Self {
        Self { depth: crate::limits::MAX_DEPTH, nodes: crate::limits::MAX_NODES }
    }
}

/// A part of a line in which every byte simply stands for itself wherever it is within a string: no quote, no backslash
/// and no control character, so no end of the line, either. Nothing for sure about any line when it is empty.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PlainSpan {
    pub(crate) from: usize,
    pub(crate) end: usize,
}

impl PlainSpan {
    /// Looks at what has come of a line since `at`, and keeps the longest part that is known. Returns where the first
    /// byte is that may end the line, at or behind `at`; the length when there is none.
    pub fn grow(&mut self, line: &[u8], at: usize) -> usize {
        let end = plain_end(line, at);
        if self.end == at {
            self.end = end;
        } else if end - at > self.end - self.from {
            *self = Self { from: at, end };
        }
        end
    }

    /// True if it holds what it says, as far as the text goes.
    pub(crate) fn holds_for(self, text: &[u8]) -> bool {
        let part = text.get(self.from..self.end.min(text.len())).unwrap_or_default();
        plain_end(part, 0) == part.len()
    }

    /// The same part of the line without so many bytes at its beginning.
    pub(crate) fn shifted_back(self, bytes: usize) -> Self {
        Self { from: self.from.saturating_sub(bytes), end: self.end.saturating_sub(bytes) }
    }
}

/// The overview that a pass over a well-formed text gives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ScanOverview<'a> {
    /// The value of the field `type`, as JSON; only of the outermost object.
    pub(crate) kind: Option<&'a str>,
    /// The value of the field `id`, likewise.
    pub(crate) id: Option<&'a str>,
    /// There is no white space between tokens.
    pub(crate) tight: bool,
    /// The longest part of a string, from its quote on, in which every byte stands for itself.
    pub(crate) longest: PlainSpan,
}
