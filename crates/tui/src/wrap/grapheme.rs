//! What a reader takes for one character, with its style and width.

use ratatui_core::style::Style;
use ratatui_core::text::Span;
use unicode_segmentation::UnicodeSegmentation;

use crate::clean::columns_of;

/// One of a line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grapheme<'l> {
    pub(super) text: &'l str,
    pub(super) style: Style,
    pub(super) width: usize,
}

impl Grapheme<'_> {
    /// Itself, or what stands for it where not even one of its kind fits.
    pub(super) fn within(self, room: usize) -> Self {
        if self.width > room { Self { text: "\u{fffd}", width: 1, ..self } } else { self }
    }
}

/// Those of a line, which may be of several spans.
pub(super) fn graphemes<'l>(line: &'l [Span<'static>]) -> Vec<Grapheme<'l>> {
    let of = |span: &'l Span<'static>| {
        let style = span.style;
        span.content.graphemes(true).map(move |text| Grapheme { text, style, width: columns_of(text) })
    };
    line.iter().flat_map(of).collect()
}

pub(super) fn width(part: &[Grapheme<'_>]) -> usize {
    part.iter().map(|grapheme| grapheme.width).sum()
}

pub(super) fn is_blank(grapheme: &Grapheme<'_>) -> bool {
    matches!(grapheme.text, " " | "\u{3000}")
}

/// A line in the pieces between which it may be divided: blanks, and words. A wide grapheme is a word of its own, unless
/// it may not begin a row.
pub(super) fn pieces<'g, 'l>(line: &'g [Grapheme<'l>]) -> impl Iterator<Item = &'g [Grapheme<'l>]> {
    line.chunk_by(|before, after| match (is_blank(before), is_blank(after)) {
        (true, true) => true,
        (false, false) => !(before.width > 1 || after.width > 1) || stays(after) || after.width == 0,
        (true, false) | (false, true) => false,
    })
}

/// Punctuation that no row begins with.
fn stays(grapheme: &Grapheme<'_>) -> bool {
    let closing = "、。，．！？：；）」』】》〉”’.,!?:;)]}%";
    grapheme.text.chars().next().is_some_and(|first| closing.contains(first))
}
