//! Sanitized text from outside, and the only place where spans are made.
//!
//! Every text of a model, a tool, an extension or a file becomes a [`CleanText`] or a [`CleanLine`] first. Only the
//! sanitizer makes those, and a [`span`] takes nothing else. So text that was not sanitized does not compile.
//!
//! Invariant: no span holds a control character, a newline or a tab. Enforced by `tests/it/clean.rs` and, for the one
//! place where spans are made, by `cargo xtask tidy`.

use std::borrow::Cow;
use std::fmt;

use haft_core::sanitize::{Sanitizer, sanitize};
use ratatui_core::buffer::CellWidth;
use ratatui_core::style::Style;
use ratatui_core::text::Span;
use unicode_segmentation::UnicodeSegmentation;

/// Columns from one tab stop to the next. Markdown also counts with four.
const TAB: usize = 4;

/// Sanitized text of several lines: only printable characters and newlines. Tabs become spaces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CleanText(String);

impl CleanText {
    /// Sanitizes a whole text.
    pub fn new(outside: &str) -> Self {
        Self(StreamCleaner::default().push(outside).0)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the lines without their line ends. A newline at the end does not begin another line.
    pub fn lines(&self) -> impl Iterator<Item = CleanLine> {
        self.0.lines().map(CleanLine::from_clean_part)
    }

    /// Appends the next piece.
    pub fn push(&mut self, next: &Self) {
        self.0.push_str(&next.0);
    }
}

/// Sanitized text of one line: only printable characters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CleanLine(Cow<'static, str>);

impl CleanLine {
    /// Sanitizes a text for one line. Newlines and tabs become spaces.
    pub fn new(outside: &str) -> Self {
        Self(Cow::Owned(sanitize(outside).replace(['\n', '\t'], " ")))
    }

    /// Makes a line from a sanitized part: cut out between two graphemes, or joined from such parts.
    pub(crate) fn from_clean_part(clean: &str) -> Self {
        debug_assert!(!clean.contains(char::is_control) || cfg!(not(test)), "{clean:?} is not a clean line");
        Self(Cow::Owned(clean.to_owned()))
    }

    pub(crate) fn from_repeated_char(c: char, times: usize) -> Self {
        Self(Cow::Owned(std::iter::repeat_n(c, times).collect()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the width in columns.
    pub fn columns(&self) -> usize {
        columns(&self.0)
    }

    /// Truncates the line to `most` columns, with `…` in place of the rest.
    #[must_use]
    pub fn truncate_to_width(self, most: usize) -> Self {
        if self.columns() <= most { self } else { self.truncate_with_ellipsis(most) }
    }

    /// Truncates the line so that it and a `…` behind it fit into `most` columns.
    pub(crate) fn truncate_with_ellipsis(self, most: usize) -> Self {
        let mut left = most.saturating_sub(1);
        let fits =
            |grapheme: &&str| left.checked_sub(grapheme_columns(grapheme)).map(|rest| left = rest).is_some();
        let mut text: String = self.0.graphemes(true).take_while(fits).collect();
        if most > 0 {
            text.push('…');
        }
        Self(Cow::Owned(text))
    }
}

/// Text of haft's own. It is `'static`, so it cannot come from outside.
impl From<&'static str> for CleanLine {
    fn from(own: &'static str) -> Self {
        debug_assert!(!own.contains(char::is_control), "{own:?} is not a clean line");
        Self(Cow::Borrowed(own))
    }
}

impl fmt::Display for CleanLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Sanitizes a text that arrives in pieces. The result does not depend on where the pieces are cut.
#[derive(Debug, Clone, Default)]
pub struct StreamCleaner {
    sanitizer: Sanitizer,
    /// Columns since the beginning of the line, for tab stops.
    column: usize,
}

impl StreamCleaner {
    /// Returns the sanitized part of the next piece.
    pub fn push(&mut self, piece: &str) -> CleanText {
        let safe = self.sanitizer.push(piece);
        let mut text = String::with_capacity(safe.len());
        for c in safe.chars() {
            match c {
                '\n' => self.column = 0,
                '\t' => {
                    let spaces = TAB - self.column % TAB;
                    self.column += spaces;
                    text.extend(std::iter::repeat_n(' ', spaces));
                    continue;
                }
                // The width of one character at a time: a later piece may join the grapheme, which is not known yet.
                _ => self.column += grapheme_columns(c.encode_utf8(&mut [0; 4])),
            }
            text.push(c);
        }
        CleanText(text)
    }
}

/// Makes a span. No other function makes one.
pub fn span(text: impl Into<CleanLine>, style: Style) -> Span<'static> {
    Span { content: text.into().0, style }
}

/// Returns the width of a sanitized text in columns: the sum of its graphemes, as they are drawn.
pub(crate) fn columns(clean: &str) -> usize {
    clean.graphemes(true).map(grapheme_columns).sum()
}

pub(crate) fn span_columns(spans: &[Span<'_>]) -> usize {
    spans.iter().map(|span| columns(&span.content)).sum()
}

pub(crate) fn grapheme_columns(grapheme: &str) -> usize {
    match grapheme.len() {
        0 | 1 => grapheme.len(),
        _ => usize::from(grapheme.cell_width()),
    }
}
