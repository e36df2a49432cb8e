//! The keyboard and the mouse in the transcript.

use super::select::{Point, Selection};
use super::view::Position;
use super::{Browsed, Transcript};
use crate::app::MouseKind;
use crate::keys::Browse;

/// The keyboard is here.
#[derive(Debug)]
pub(super) struct Browsing {
    pub(super) cursor: Point,
    /// The column that going up and down keeps to.
    column: usize,
    /// Whether the end was followed before.
    followed: bool,
}

impl Transcript {
    pub(super) fn start_browsing(&mut self) {
        let followed = self.view.follow;
        if followed {
            self.view.top = self.top();
            self.view.follow = false;
        }
        self.look(self.view.height);
        let looked_at = self.view.shown.get(self.page() - 1).or(self.view.shown.last());
        let at = looked_at.copied().unwrap_or_default();
        let column = self.rows(at.item).get(at.row).map_or(0, |row| row.first_column());
        self.browse = Some(Browsing { cursor: Point { at, column }, column, followed });
        self.selection = None;
    }

    pub(super) fn browse_key(&mut self, action: Browse) -> Browsed {
        let Some(Browsing { cursor, column, followed }) = self.browse.take() else { return Browsed::Leave };
        if !matches!(action, Browse::NextMatch | Browse::PreviousMatch) {
            self.stop_hunt();
        }
        let cursor = Point { at: self.clamped(cursor.at), ..cursor };
        let mut browse = Browsing { cursor, column, followed };
        match action {
            Browse::Up => browse.cursor = self.vertical(&browse, -1),
            Browse::Down => browse.cursor = self.vertical(&browse, 1),
            Browse::Left => browse.cursor = self.horizontal(cursor, false),
            Browse::Right => browse.cursor = self.horizontal(cursor, true),
            Browse::LineStart | Browse::LineEnd => {
                let row = self.rows(cursor.at.item).get(cursor.at.row);
                let end = action == Browse::LineEnd;
                let column = row.map_or(0, |row| if end { row.last_column() } else { row.first_column() });
                browse.cursor = Point { column, ..cursor };
            }
            Browse::Mark | Browse::MarkLines => {
                let lines = action == Browse::MarkLines;
                let new = Selection { mark: cursor, to: cursor, lines };
                let again = self.selection.is_some_and(|selection| selection.lines == lines);
                self.selection = (!again).then_some(new);
            }
            Browse::Copy => return self.copy(browse),
            Browse::NextMatch | Browse::PreviousMatch => {
                self.browse = Some(browse);
                self.other_match(action == Browse::PreviousMatch);
                self.extend_selection();
                return Browsed::Done;
            }
            Browse::Expand => {
                self.toggle(cursor.at.item);
                browse.cursor.at = self.clamped(cursor.at);
            }
            Browse::Close => {
                self.selection = None;
                if followed {
                    self.view.follow = true;
                }
                return Browsed::Leave;
            }
        }
        let moves = matches!(action, Browse::Left | Browse::Right | Browse::LineStart | Browse::LineEnd);
        if moves {
            browse.column = browse.cursor.column;
        }
        self.reveal(browse.cursor.at);
        self.browse = Some(browse);
        self.extend_selection();
        Browsed::Done
    }

    /// What is selected, or the item under the cursor.
    fn copy(&mut self, browse: Browsing) -> Browsed {
        let at = browse.cursor.at.item;
        let text = match self.selection {
            Some(_) => self.selected(),
            None => self.items.get(at).map(super::item::Item::copied).filter(|text| !text.is_empty()),
        };
        self.selection = None;
        self.browse = Some(browse);
        text.map_or(Browsed::Done, Browsed::Copy)
    }

    fn extend_selection(&mut self) {
        if let (Some(selection), Some(browse)) = (&mut self.selection, &self.browse) {
            selection.to = browse.cursor;
        }
    }

    fn vertical(&mut self, browse: &Browsing, rows: i64) -> Point {
        let at = self.walk(browse.cursor.at, rows);
        let row = self.rows(at.item).get(at.row);
        let within = |column: usize| row.map_or(0, |row| column.clamp(row.first_column(), row.last_column()));
        Point { at, column: within(browse.column) }
    }

    /// One grapheme on or back, over the ends of rows.
    fn horizontal(&mut self, cursor: Point, on: bool) -> Point {
        let row = self.rows(cursor.at.item).get(cursor.at.row);
        let next = row.and_then(|row| match on {
            true => row.cells().find(|cell| cell.from > cursor.column && cell.columns > 0),
            false => row.cells().filter(|cell| cell.from < cursor.column && cell.columns > 0).last(),
        });
        if let Some(cell) = next {
            return Point { column: cell.from, ..cursor };
        }
        let at = self.walk(cursor.at, if on { 1 } else { -1 });
        if at == cursor.at {
            return cursor;
        }
        let row = self.rows(at.item).get(at.row);
        let column = row.map_or(0, |row| if on { row.first_column() } else { row.last_column() });
        Point { at, column }
    }

    /// Moves what is seen so that a row is seen.
    pub(super) fn reveal(&mut self, at: Position) {
        self.look(self.view.height);
        let page = self.page();
        let first = self.view.shown.first().copied().unwrap_or_default();
        let last = self.view.shown.get(page - 1).or(self.view.shown.last()).copied().unwrap_or_default();
        let top = if at < first {
            at
        } else if at > last {
            // At the end there is one more row, which what is seen is moved by then.
            self.walk(at, 2 - i64::try_from(self.view.height.max(2)).unwrap_or(2))
        } else {
            return;
        };
        (self.view.top, self.view.follow) = (top, false);
        self.look(self.view.height);
    }

    /// Unfolds one item, or folds it.
    pub(super) fn toggle(&mut self, at: usize) {
        let folds = self.folds;
        if let Some(item) = self.items.get_mut(at).filter(|item| item.folds()) {
            item.unfolded = Some(!item.is_open(folds));
        }
    }

    pub(super) fn moused(&mut self, kind: MouseKind, column: u16, row: u16) -> Option<String> {
        match kind {
            // What it turns is not always this.
            MouseKind::WheelUp | MouseKind::WheelDown => {}
            MouseKind::Press => {
                self.selection = None;
                self.pressed = self.point(column, row);
            }
            MouseKind::Drag => {
                if let (Some(mark), Some(to)) = (self.pressed, self.point(column, row)) {
                    self.selection = Some(Selection { mark, to, lines: false });
                }
            }
            MouseKind::Release => {
                let pressed = self.pressed.take()?;
                if self.selection.is_some() {
                    return self.selected();
                }
                // A click on the row of a call is as good as the key.
                if pressed.at.row == self.gap_rows(pressed.at.item) {
                    self.toggle(pressed.at.item);
                }
            }
        }
        None
    }
}
