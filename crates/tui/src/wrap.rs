//! Wrapping of styled lines to a width.
//!
//! Widths are terminal columns. A grapheme (a letter with its marks, a combined emoji) is never divided.

use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;

use crate::clean::{CleanLine, columns, grapheme_columns, span, span_columns};

/// The way to divide a line that is too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrapMode {
    /// Between words, and where Chinese and Japanese text may be divided; inside a word only if it is longer than a
    /// row. Blanks at the end of a row are dropped.
    Words,
    /// At the last column, without dropping any text.
    Columns,
}

/// The prefixes of the rows of a line.
#[derive(Debug, Clone, Default)]
pub struct RowPrefixes {
    /// The prefix of the first row, for example a bullet.
    pub first: Vec<Span<'static>>,
    /// The prefix of every further row.
    pub rest: Vec<Span<'static>>,
}

impl RowPrefixes {
    /// Uses the same prefix for each row.
    pub fn repeated(prefix: Vec<Span<'static>>) -> Self {
        Self { first: prefix.clone(), rest: prefix }
    }

    /// Uses a mark for the first row, and blanks of the same width for further rows.
    pub(crate) fn with_mark(mark: &'static str, style: Style) -> Self {
        let blank = CleanLine::from_repeated_char(' ', columns(mark));
        Self { first: vec![span(mark, style)], rest: vec![span(blank, style)] }
    }
}

/// Wraps several lines, with the prefixes of a single line.
pub(crate) fn wrap_lines(
    lines: impl IntoIterator<Item = Vec<Span<'static>>>,
    at: u16,
    mut hang: RowPrefixes,
    mode: WrapMode,
) -> Vec<Line<'static>> {
    let mut rows = Vec::new();
    for line in lines {
        rows.extend(wrap(&line, at, &hang, mode));
        hang.first.clone_from(&hang.rest);
    }
    rows
}

/// Wraps a line. Further rows have the indentation of the line. No row is wider than `width`; a width of 0 counts as
/// 1. There is at least one row.
pub fn wrap(line: &[Span<'static>], at: u16, hang: &RowPrefixes, mode: WrapMode) -> Vec<Line<'static>> {
    let at = usize::from(at).max(1);
    let [first, rest] = [&hang.first, &hang.rest].map(|prefix| fit_prefix(prefix, at));
    let widths = RowWidths { first: at - span_columns(&first), rest: at - span_columns(&rest) };
    let line = split_graphemes(line);
    let rows = match mode {
        WrapMode::Words => wrap_words(&line, widths),
        WrapMode::Columns => wrap_columns(&line, widths),
    };
    let prefixes = std::iter::once(first).chain(std::iter::repeat(rest));
    prefixes
        .zip(rows)
        .map(|(prefix, row)| Line::from_iter(prefix.into_iter().chain(join_spans(&row))))
        .collect()
}

/// The room beside the prefixes.
#[derive(Debug, Clone, Copy)]
struct RowWidths {
    first: usize,
    rest: usize,
}

/// Returns the part of a prefix that fits: at least half of the width, and one column, is reserved for the text.
fn fit_prefix(prefix: &[Span<'static>], at: usize) -> Vec<Span<'static>> {
    let mut left = at / 2;
    let fits =
        |grapheme: &StyledGrapheme<'_>| left.checked_sub(grapheme.width).map(|rest| left = rest).is_some();
    let kept: Vec<StyledGrapheme<'_>> = split_graphemes(prefix).into_iter().take_while(fits).collect();
    join_spans(&kept)
}

/// Returns the part of a line's indentation that can be repeated on further rows.
fn indentation<'g, 'l>(line: &'g [StyledGrapheme<'l>], room: usize) -> &'g [StyledGrapheme<'l>] {
    let blanks = line.iter().take_while(|grapheme| is_blank(grapheme)).count();
    // A blank line has no indentation.
    let blanks = if blanks == line.len() { 0 } else { blanks.min(room / 2) };
    line.get(..blanks).unwrap_or_default()
}

fn wrap_columns<'l>(line: &[StyledGrapheme<'l>], widths: RowWidths) -> Vec<Vec<StyledGrapheme<'l>>> {
    let mut rows = RowBuilder::new(widths, indentation(line, widths.rest));
    rows.push_graphemes(line);
    rows.done
}

fn wrap_words<'l>(line: &[StyledGrapheme<'l>], widths: RowWidths) -> Vec<Vec<StyledGrapheme<'l>>> {
    let indent = indentation(line, widths.rest.min(widths.first));
    let mut rows = RowBuilder::new(widths, indent);
    let (lead, text) = line.split_at(indent.len());
    rows.push_graphemes(lead);
    // Blanks are added once a word follows them on the row.
    let mut blanks: &[StyledGrapheme<'_>] = &[];
    for piece in split_pieces(text) {
        if piece.iter().all(is_blank) {
            blanks = piece;
            continue;
        }
        if rows.has_room(width(blanks) + width(piece)) {
            rows.push_graphemes(blanks);
        } else if rows.has_word {
            rows.start_row();
        }
        rows.push_graphemes(piece);
        rows.has_word = true;
        blanks = &[];
    }
    rows.done
}

struct RowBuilder<'g, 'l> {
    widths: RowWidths,
    indent: &'g [StyledGrapheme<'l>],
    done: Vec<Vec<StyledGrapheme<'l>>>,
    /// The used columns of the last row.
    used: usize,
    has_word: bool,
}

impl<'g, 'l> RowBuilder<'g, 'l> {
    fn new(widths: RowWidths, indent: &'g [StyledGrapheme<'l>]) -> Self {
        Self { widths, indent, done: vec![Vec::new()], used: 0, has_word: false }
    }

    fn has_room(&self, columns: usize) -> bool {
        let room = if self.done.len() == 1 { self.widths.first } else { self.widths.rest };
        self.used + columns <= room
    }

    fn start_row(&mut self) {
        self.done.push(self.indent.to_vec());
        self.used = width(self.indent);
        self.has_word = false;
    }

    fn push_graphemes(&mut self, piece: &[StyledGrapheme<'l>]) {
        for grapheme in piece {
            let grapheme = grapheme.fit_within(self.widths.first.min(self.widths.rest));
            if !self.has_room(grapheme.width) {
                self.start_row();
            }
            if !self.has_room(grapheme.width) {
                // It fits on a row without anything before it.
                self.done.last_mut().into_iter().for_each(Vec::clear);
                self.used = 0;
            }
            self.used += grapheme.width;
            self.done.last_mut().into_iter().for_each(|row| row.push(grapheme));
        }
    }
}

/// Joins neighbors with the same style.
fn join_spans(row: &[StyledGrapheme<'_>]) -> Vec<Span<'static>> {
    let chunks = row.chunk_by(|a, b| a.style == b.style);
    let joined = chunks.map(|chunk| {
        let text: String = chunk.iter().map(|grapheme| grapheme.text).collect();
        let style = chunk.first().map_or_else(Style::default, |grapheme| grapheme.style);
        span(CleanLine::from_clean_part(&text), style)
    });
    joined.collect()
}

#[derive(Debug, Clone, Copy)]
struct StyledGrapheme<'l> {
    text: &'l str,
    style: Style,
    width: usize,
}

impl StyledGrapheme<'_> {
    /// Returns the grapheme, or a replacement if it is wider than the room.
    fn fit_within(self, room: usize) -> Self {
        if self.width > room { Self { text: "\u{fffd}", width: 1, ..self } } else { self }
    }
}

fn split_graphemes<'l>(line: &'l [Span<'static>]) -> Vec<StyledGrapheme<'l>> {
    let of = |span: &'l Span<'static>| {
        let style = span.style;
        span.content.graphemes(true).map(move |text| StyledGrapheme {
            text,
            style,
            width: grapheme_columns(text),
        })
    };
    line.iter().flat_map(of).collect()
}

fn width(part: &[StyledGrapheme<'_>]) -> usize {
    part.iter().map(|grapheme| grapheme.width).sum()
}

fn is_blank(grapheme: &StyledGrapheme<'_>) -> bool {
    matches!(grapheme.text, " " | "\u{3000}")
}

/// Splits a line into pieces between which it may be divided: blanks, and words. A wide grapheme is a word of its
/// own, unless it may not begin a row.
fn split_pieces<'g, 'l>(line: &'g [StyledGrapheme<'l>]) -> impl Iterator<Item = &'g [StyledGrapheme<'l>]> {
    line.chunk_by(|before, after| match (is_blank(before), is_blank(after)) {
        (true, true) => true,
        (false, false) => {
            !(before.width > 1 || after.width > 1) || cannot_begin_row(after) || after.width == 0
        }
        (true, false) | (false, true) => false,
    })
}

/// True for punctuation that may not begin a row.
fn cannot_begin_row(grapheme: &StyledGrapheme<'_>) -> bool {
    let closing = "、。，．！？：；）」』】》〉”’.,!?:;)]}%";
    grapheme.text.chars().next().is_some_and(|first| closing.contains(first))
}
