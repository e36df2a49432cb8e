//! `Browsing`: the keyboard in the transcript, with its cursor.

use super::document::Document;
use super::select::Point;
use super::view::View;
use crate::keys::Browse;

/// The cursor while the keyboard is in the transcript.
#[derive(Debug)]
pub(super) struct Browsing {
    pub(super) cursor: Point,
    /// The column that going up and down keeps to.
    column: usize,
    /// Whether the end was followed before.
    pub(super) followed: bool,
}

impl Browsing {
    /// Begins at the last row that is seen.
    pub(super) fn begin(doc: &mut Document, view: &mut View) -> Self {
        let followed = view.follow;
        if followed {
            view.top = view.top(doc);
            view.follow = false;
        }
        view.look(doc, view.height);
        let at = view.last_seen().unwrap_or_default();
        let column = doc.rows(at.item).get(at.row).map_or(0, |row| row.first_column());
        Self { cursor: Point { at, column }, column, followed }
    }

    pub(super) fn clamp(&mut self, doc: &mut Document) {
        self.cursor.at = doc.clamped(self.cursor.at);
    }

    /// Moves the cursor. Other keys change nothing.
    pub(super) fn go(&mut self, doc: &mut Document, action: Browse) {
        match action {
            Browse::Up => self.cursor = self.vertical(doc, -1),
            Browse::Down => self.cursor = self.vertical(doc, 1),
            Browse::Left => self.cursor = self.horizontal(doc, false),
            Browse::Right => self.cursor = self.horizontal(doc, true),
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

    fn vertical(&self, doc: &mut Document, rows: i64) -> Point {
        let at = doc.walk(self.cursor.at, rows);
        let row = doc.rows(at.item).get(at.row);
        let within = |column: usize| row.map_or(0, |row| column.clamp(row.first_column(), row.last_column()));
        Point { at, column: within(self.column) }
    }

    /// One grapheme on or back, over the ends of rows.
    fn horizontal(&self, doc: &mut Document, on: bool) -> Point {
        let cursor = self.cursor;
        let row = doc.rows(cursor.at.item).get(cursor.at.row);
        let next = row.and_then(|row| match on {
            true => row.cells().find(|cell| cell.from > cursor.column && cell.columns > 0),
            false => row.cells().filter(|cell| cell.from < cursor.column && cell.columns > 0).last(),
        });
        if let Some(cell) = next {
            return Point { column: cell.from, ..cursor };
        }
        let at = doc.walk(cursor.at, if on { 1 } else { -1 });
        if at == cursor.at {
            return cursor;
        }
        let row = doc.rows(at.item).get(at.row);
        let column = row.map_or(0, |row| if on { row.first_column() } else { row.last_column() });
        Point { at, column }
    }
}
