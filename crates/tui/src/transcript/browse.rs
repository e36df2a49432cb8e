//! The keyboard cursor in the transcript, and the selection by keyboard or mouse.

use super::document::{CellPosition, RowPosition, TranscriptDocument};
use super::view::TranscriptView;
use crate::keys::Browse;

/// The maximum number of bytes for a terminal's clipboard. Text beyond it is not laid out.
const LONGEST: usize = 100_000;

/// The cursor while the transcript has keyboard focus.
#[derive(Debug)]
pub(super) struct BrowseCursor {
    pub(super) cursor: CellPosition,
    /// The column that vertical movement keeps.
    column: usize,
    /// True if the view followed the end before.
    pub(super) followed: bool,
}

impl BrowseCursor {
    pub(super) fn begin(doc: &mut TranscriptDocument, view: &mut TranscriptView) -> Self {
        let followed = view.top.is_none();
        if followed {
            view.top = Some(view.top_position(doc));
        }
        view.update_visible(doc, view.height);
        let at = view.last_seen().unwrap_or_default();
        let column = doc.rows(at.item).get(at.row).map_or(0, |row| row.first_column());
        Self { cursor: CellPosition { at, column }, column, followed }
    }

    pub(super) fn clamp(&mut self, doc: &mut TranscriptDocument) {
        self.cursor.at = doc.clamp_position(self.cursor.at);
    }

    pub(super) fn move_cursor(&mut self, doc: &mut TranscriptDocument, action: Browse) {
        match action {
            Browse::Up => self.cursor = self.vertical_target(doc, -1),
            Browse::Down => self.cursor = self.vertical_target(doc, 1),
            Browse::Left => self.cursor = self.horizontal_target(doc, false),
            Browse::Right => self.cursor = self.horizontal_target(doc, true),
            Browse::LineStart | Browse::LineEnd => {
                let row = doc.rows(self.cursor.at.item).get(self.cursor.at.row);
                let end = action == Browse::LineEnd;
                self.cursor.column =
                    row.map_or(0, |row| if end { row.last_column() } else { row.first_column() });
            }
            Browse::Mark | Browse::MarkLines | Browse::Copy | Browse::Expand | Browse::Close => {}
            Browse::NextMatch | Browse::PreviousMatch => {}
        }
        if matches!(action, Browse::Left | Browse::Right | Browse::LineStart | Browse::LineEnd) {
            self.column = self.cursor.column;
        }
    }

    fn vertical_target(&self, doc: &mut TranscriptDocument, rows: i64) -> CellPosition {
        let at = doc.move_by_rows(self.cursor.at, rows);
        let row = doc.rows(at.item).get(at.row);
        let within = |column: usize| row.map_or(0, |row| column.clamp(row.first_column(), row.last_column()));
        CellPosition { at, column: within(self.column) }
    }

    fn horizontal_target(&self, doc: &mut TranscriptDocument, on: bool) -> CellPosition {
        let cursor = self.cursor;
        let row = doc.rows(cursor.at.item).get(cursor.at.row);
        let next = row.and_then(|row| match on {
            true => row.cells().find(|cell| cell.from > cursor.column && cell.columns > 0),
            false => row.cells().filter(|cell| cell.from < cursor.column && cell.columns > 0).last(),
        });
        if let Some(cell) = next {
            return CellPosition { column: cell.from, ..cursor };
        }
        let at = doc.move_by_rows(cursor.at, if on { 1 } else { -1 });
        if at == cursor.at {
            return cursor;
        }
        let row = doc.rows(at.item).get(at.row);
        let column = row.map_or(0, |row| if on { row.first_column() } else { row.last_column() });
        CellPosition { at, column }
    }
}

/// A selection from one cell to another, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Selection {
    mark: CellPosition,
    pub(super) to: CellPosition,
    /// True if whole lines are selected.
    lines: bool,
}

impl Selection {
    fn ordered_ends(&self) -> (CellPosition, CellPosition) {
        (self.mark.min(self.to), self.mark.max(self.to))
    }

    pub(super) fn columns_on_row(&self, at: RowPosition) -> Option<(usize, usize)> {
        let (from, to) = self.ordered_ends();
        if at < from.at || at > to.at {
            return None;
        }
        let first = if at == from.at && !self.lines { from.column } else { 0 };
        let last = if at == to.at && !self.lines { to.column } else { usize::MAX };
        Some((first, last))
    }
}

/// The selection, and the mouse button that makes one.
#[derive(Debug, Default)]
pub(super) struct SelectionTracker {
    pub(super) selection: Option<Selection>,
    pub(super) pressed: Option<CellPosition>,
}

impl SelectionTracker {
    pub(super) fn toggle_mark(&mut self, cursor: CellPosition, lines: bool) {
        let new = Selection { mark: cursor, to: cursor, lines };
        let again = self.selection.is_some_and(|selection| selection.lines == lines);
        self.selection = (!again).then_some(new);
    }

    pub(super) fn start_drag(&mut self, at: Option<CellPosition>) {
        self.selection = None;
        self.pressed = at;
    }

    pub(super) fn drag_to(&mut self, to: Option<CellPosition>) {
        if let (Some(mark), Some(to)) = (self.pressed, to) {
            self.selection = Some(Selection { mark, to, lines: false });
        }
    }

    /// Returns the selected text, without frames. A text that is too long for a clipboard is truncated.
    pub(super) fn selected_text(&self, doc: &mut TranscriptDocument) -> Option<String> {
        let selection = self.selection?;
        let (from, to) = selection.ordered_ends();
        let mut text: Vec<String> = Vec::new();
        let mut length = 0;
        for item in from.at.item..=to.at.item.min(doc.items.len().saturating_sub(1)) {
            let rows = doc.rows(item);
            let first = if item == from.at.item { from.at.row } else { 0 };
            let after = if item == to.at.item { to.at.row + 1 } else { rows.len() };
            for row in first..after.min(rows.len()) {
                let columns = selection.columns_on_row(RowPosition { item, row });
                if let (Some(shown), Some((from, to))) = (rows.get(row), columns) {
                    let row = shown.text(from, to);
                    length += row.len() + 1;
                    text.push(row);
                }
            }
            if length > LONGEST {
                break;
            }
        }
        let text = text.join("\n");
        (!text.trim().is_empty()).then_some(text)
    }
}
