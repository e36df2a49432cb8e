//! Text from outside that may be shown, and the only place where spans are made.
//!
//! Everything that a model, a tool, an extension or a file says becomes a [`CleanText`] or a [`CleanLine`] first, and those
//! are made by the sanitiser alone. A [`span`] takes nothing else. So a text that nobody cleaned does not compile.
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

/// Columns from one tab stop to the next; Markdown counts with four, too.
const TAB: usize = 4;

/// A text of several lines that may be shown: nothing but printable characters and newlines. Tabs are spaces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CleanText(String);

impl CleanText {
    /// Cleans a whole text.
    pub fn new(outside: &str) -> Self {
        Self(StreamCleaner::default().push(outside).0)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its lines, without what ends them. A newline at the end begins no further line.
    pub fn lines(&self) -> impl Iterator<Item = CleanLine> {
        self.0.lines().map(CleanLine::from_clean_part)
    }

    /// Adds what comes next.
    pub fn push(&mut self, next: &Self) {
        self.0.push_str(&next.0);
    }
}

/// One line that may be shown: nothing but printable characters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CleanLine(Cow<'static, str>);

impl CleanLine {
    /// Cleans a text for one line; newlines and tabs become spaces.
    pub fn new(outside: &str) -> Self {
        Self(Cow::Owned(sanitize(outside).replace(['\n', '\t'], " ")))
    }

    /// A part of what is clean: cut out between two graphemes, or put together of such parts.
    pub(crate) fn from_clean_part(clean: &str) -> Self {
        debug_assert!(!clean.contains(char::is_control) || cfg!(not(test)), "{clean:?} is no clean line");
        Self(Cow::Owned(clean.to_owned()))
    }

    pub(crate) fn from_repeated_char(c: char, times: usize) -> Self {
        Self(Cow::Owned(std::iter::repeat_n(c, times).collect()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The number of columns it takes.
    pub fn columns(&self) -> usize {
        columns(&self.0)
    }

    /// The beginning that fits into some columns, with `…` for what is left out.
    #[must_use]
    pub fn truncate_to_width(self, most: usize) -> Self {
        if self.columns() <= most { self } else { self.truncate_with_ellipsis(most) }
    }

    /// The beginning that fits into some columns with `…` behind it.
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

/// Text of haft's own. `'static`, so that it can be nothing that came from outside.
impl From<&'static str> for CleanLine {
    fn from(own: &'static str) -> Self {
        debug_assert!(!own.contains(char::is_control), "{own:?} is no clean line");
        Self(Cow::Borrowed(own))
    }
}

impl fmt::Display for CleanLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Cleans a text that comes in pieces: where it is cut makes no difference.
#[derive(Debug, Clone, Default)]
pub struct StreamCleaner {
    sanitizer: Sanitizer,
    /// Columns since the line began, for tab stops.
    column: usize,
}

impl StreamCleaner {
    /// The clean part of the next piece.
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
                // One character at a time: what follows may join it, and that is not known yet.
                _ => self.column += grapheme_columns(c.encode_utf8(&mut [0; 4])),
            }
            text.push(c);
        }
        CleanText(text)
    }
}

/// A span. There is no other way to one.
pub fn span(text: impl Into<CleanLine>, style: Style) -> Span<'static> {
    Span { content: text.into().0, style }
}

/// The number of columns a clean text takes: what its graphemes take, one by one, as they are drawn.
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
