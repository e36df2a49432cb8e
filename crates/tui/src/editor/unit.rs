//! Units: the steps of the cursor. A unit is a grapheme, a newline, or an atom.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use super::atom::is_atom;
use crate::clean::grapheme_columns;

/// Columns from one tab stop to the next.
const TAB: usize = 4;

/// True for a character that is always a unit of its own.
fn is_single(c: char) -> bool {
    c == '\n' || is_atom(c)
}

/// Returns the units of a part of the text, with their positions. The part begins and ends between two units.
pub(super) fn units(part: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = part.get(at..).filter(|rest| !rest.is_empty())?;
        let unit = rest.get(..first_unit_len(rest))?;
        let begins = at;
        at += unit.len();
        Some((begins, unit))
    })
}

fn first_unit_len(text: &str) -> usize {
    let Some(c) = text.chars().next() else { return 0 };
    if is_single(c) {
        return c.len_utf8();
    }
    let grapheme = text.graphemes(true).next().unwrap_or_default();
    // An atom never joins another character, even where Unicode would join them.
    grapheme.find(is_single).unwrap_or(grapheme.len())
}

pub(super) fn next(text: &str, at: usize) -> usize {
    at + text.get(at..).map_or(0, first_unit_len)
}

/// Returns the beginning of the previous unit.
pub(super) fn previous(text: &str, at: usize) -> usize {
    let Some(before) = text.get(..at) else { return 0 };
    let Some(c) = before.chars().next_back() else { return 0 };
    if is_single(c) {
        return at - c.len_utf8();
    }
    let grapheme = before.graphemes(true).next_back().unwrap_or_default();
    at - (grapheme.len() - run_start(grapheme))
}

/// Returns the beginning of the run of graphemes at the end of a text.
fn run_start(text: &str) -> usize {
    let mut before = text.char_indices().rev();
    before.find(|(_, c)| is_single(*c)).map_or(0, |(at, c)| at + c.len_utf8())
}

/// Returns the first boundary between two units that is not before `at`.
pub(super) fn next_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    let Some(before) = text.get(..at) else { return text.len() };
    let start = run_start(before);
    let Some(run) = text.get(start..) else { return at };
    let inside = units(run).map(|(begins, _)| start + begins).find(|begins| *begins >= at);
    inside.unwrap_or(text.len())
}

pub(super) fn line_start(text: &str, at: usize) -> usize {
    text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |newline| newline + 1)
}

/// Returns the end of the line, before its newline.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    text.get(at..).and_then(|behind| behind.find('\n')).map_or(text.len(), |newline| at + newline)
}

/// Returns the lines of a text as ranges without newlines. A newline at the end begins another line.
pub(super) fn lines(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = Some(0);
    std::iter::from_fn(move || {
        let start = at?;
        let end = line_end(text, start);
        at = (end < text.len()).then_some(end + 1);
        Some(start..end)
    })
}

/// Returns the width of a grapheme that begins in a column of its row.
pub(super) fn columns_at(grapheme: &str, column: usize) -> usize {
    match grapheme {
        "\t" => TAB - column % TAB,
        _ => grapheme_columns(grapheme),
    }
}

/// Returns the width of a one-row text, as the editor counts it.
pub fn columns(text: &str) -> usize {
    units(text).fold(0, |column, (_, unit)| column + columns_at(unit, column))
}

/// Returns the end of the word at or after a position. An atom is a word.
pub(super) fn word_end(text: &str, from: usize) -> usize {
    let mut at = from;
    let mut in_word = false;
    for (_, unit) in units(text.get(from..).unwrap_or_default()) {
        match unit_kind(unit) {
            UnitKind::Between if in_word => break,
            UnitKind::Between => {}
            UnitKind::Atom if in_word => break,
            UnitKind::Atom => return at + unit.len(),
            UnitKind::Word => in_word = true,
        }
        at += unit.len();
    }
    at
}

/// Returns the beginning of the word at or before a position.
pub(super) fn word_start(text: &str, from: usize) -> usize {
    let mut at = from;
    let mut in_word = false;
    while at > 0 {
        let before = previous(text, at);
        match unit_kind(text.get(before..at).unwrap_or_default()) {
            UnitKind::Between if in_word => break,
            UnitKind::Between => {}
            UnitKind::Atom if in_word => break,
            UnitKind::Atom => return before,
            UnitKind::Word => in_word = true,
        }
        at = before;
    }
    at
}

enum UnitKind {
    Word,
    Between,
    Atom,
}

fn unit_kind(unit: &str) -> UnitKind {
    match unit.chars().next() {
        Some(c) if is_atom(c) => UnitKind::Atom,
        Some(c) if c.is_alphanumeric() || c == '_' => UnitKind::Word,
        _ => UnitKind::Between,
    }
}
