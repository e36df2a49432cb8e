//! The text in rows of a width.

use std::ops::Range;

use super::atom::{AtomTable, EditorAtom};
use super::unit::{columns, columns_at, lines, units};

/// The minimum width. Smaller widths count as this one.
pub const NARROWEST: u16 = 3;

/// The text in rows of a width, with the position of the cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditorLayout {
    width: usize,
    rows: Vec<Range<usize>>,
    /// The row of the cursor.
    pub row: usize,
    /// The column of the cursor, always less than the width.
    pub column: usize,
}

/// A piece of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowPiece {
    /// The text to show: no control characters, tabs as spaces.
    pub text: String,
    /// The kind.
    pub kind: PieceKind,
}

/// The kind of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PieceKind {
    /// Typed text.
    Text,
    /// The label of a paste.
    Paste,
    /// The label of an image.
    Image,
}

/// A text with its atoms.
#[derive(Debug, Clone, Copy)]
pub(super) struct TextWithAtoms<'t> {
    pub(super) text: &'t str,
    pub(super) atoms: &'t AtomTable,
}

impl EditorLayout {
    /// Returns the number of rows, at least one.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Always false: there is at least one row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn row_range(&self, row: usize) -> Option<Range<usize>> {
        self.rows.get(row).cloned()
    }
}

impl<'t> TextWithAtoms<'t> {
    pub(super) fn layout(self, width: u16, cursor: usize) -> EditorLayout {
        let width = usize::from(width.max(NARROWEST));
        let mut rows = Vec::new();
        lines(self.text).for_each(|line| self.wrap(line, width, &mut rows));
        // The last row that begins at or before the cursor: the end of a full row belongs to the next row.
        let row = rows.partition_point(|row| row.start <= cursor).saturating_sub(1);
        let start = rows.get(row).map_or(0, |row| row.start);
        let column = self.columns(start..cursor, width);
        EditorLayout { width, rows, row, column: column.min(width - 1) }
    }

    /// Wraps a line. One column is reserved for the cursor behind the last character, and for a blank at the end of a
    /// row.
    fn wrap(self, line: Range<usize>, width: usize, rows: &mut Vec<Range<usize>>) {
        let room = width - 1;
        let mut start = line.start;
        let mut column = 0;
        // A possible end of the row: after blanks, and around a unit that is a word of its own.
        let mut break_at = None;
        for (begins, unit) in units(self.text.get(line.clone()).unwrap_or_default()) {
            let at = line.start + begins;
            let alone = self.stands_alone(unit);
            if alone && at > start {
                break_at = Some(at);
            }
            let mut columns = self.unit_columns(unit, column, width);
            while column + columns > room && at > start && !(unit == " " && column == room) {
                let end = break_at.take().unwrap_or(at);
                rows.push(start..end);
                start = end;
                column = self.columns(start..at, width);
                columns = self.unit_columns(unit, column, width);
            }
            column += columns;
            let end = at + unit.len();
            if column > room {
                rows.push(start..end);
                (start, column, break_at) = (end, 0, None);
            } else if alone || matches!(unit, " " | "\t" | "\u{3000}") {
                break_at = Some(end);
            }
        }
        rows.push(start..line.end);
    }

    fn stands_alone(self, unit: &str) -> bool {
        self.atom_of(unit).is_some() || (unit != "\t" && columns_at(unit, 0) > 1)
    }

    fn atom_of(self, unit: &str) -> Option<&'t EditorAtom> {
        unit.chars().next().and_then(|c| self.atoms.get(c))
    }

    /// Returns the width of a unit, at most the width of a row.
    fn unit_columns(self, unit: &str, column: usize, width: usize) -> usize {
        let columns = match self.atom_of(unit) {
            Some(atom) => columns(&atom.label()),
            None => columns_at(unit, column),
        };
        columns.min(width - 1)
    }

    /// Returns the width of a part that begins its row.
    fn columns(self, part: Range<usize>, width: usize) -> usize {
        let units = units(self.text.get(part).unwrap_or_default());
        units.fold(0, |column, (_, unit)| column + self.unit_columns(unit, column, width))
    }

    /// Returns the place in a row that is nearest to a column without passing it.
    pub(super) fn offset_at(self, layout: &EditorLayout, row: usize, column: usize) -> Option<usize> {
        let range = layout.row_range(row)?;
        // The end of a wrapped row is the beginning of the next row.
        let continues = layout.row_range(row + 1).is_some_and(|next| next.start == range.end);
        let mut at = 0;
        let (mut place, mut place_column) = (range.start, 0);
        for (begins, unit) in units(self.text.get(range.clone())?) {
            let end = range.start + begins + unit.len();
            at += self.unit_columns(unit, at, layout.width);
            if at > column || (continues && end == range.end) {
                break;
            }
            // A zero-width unit does not add a column.
            if at > place_column {
                (place, place_column) = (end, at);
            }
        }
        Some(place)
    }

    pub(super) fn row_pieces(self, layout: &EditorLayout, row: usize) -> Vec<RowPiece> {
        let Some(range) = layout.row_range(row) else { return Vec::new() };
        let mut pieces: Vec<RowPiece> = Vec::new();
        let mut column = 0;
        for (_, unit) in units(self.text.get(range).unwrap_or_default()) {
            let columns = self.unit_columns(unit, column, layout.width);
            column += columns;
            let (text, kind) = match self.atom_of(unit) {
                Some(atom @ EditorAtom::Paste { .. }) => {
                    (shorten_label(&atom.label(), columns), PieceKind::Paste)
                }
                Some(atom @ EditorAtom::Image { .. }) => {
                    (shorten_label(&atom.label(), columns), PieceKind::Image)
                }
                None if unit == "\t" => (" ".repeat(columns), PieceKind::Text),
                None => (unit.to_owned(), PieceKind::Text),
            };
            match pieces.last_mut() {
                Some(last) if last.kind == PieceKind::Text && kind == PieceKind::Text => {
                    last.text.push_str(&text)
                }
                _ => pieces.push(RowPiece { text, kind }),
            }
        }
        pieces
    }
}

fn shorten_label(label: &str, most: usize) -> String {
    if columns(label) <= most {
        return label.to_owned();
    }
    let mut left = most.saturating_sub(1);
    let fits = |(_, unit): &(usize, &str)| match left.checked_sub(columns_at(unit, 0)) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    };
    let mut short: String = units(label).take_while(fits).map(|(_, unit)| unit).collect();
    short.push('…');
    short
}
