//! `Selecting`: the text that is selected, by the keyboard or by the mouse.

use super::document::{Document, Position};

/// No clipboard of a terminal takes more bytes: what is behind them is not laid out.
const LONGEST: usize = 100_000;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Point {
    pub(super) at: Position,
    pub(super) column: usize,
}

/// From where to where, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Selection {
    mark: Point,
    pub(super) to: Point,
    /// Whether whole lines are meant.
    lines: bool,
}

impl Selection {
    fn ends(&self) -> (Point, Point) {
        (self.mark.min(self.to), self.mark.max(self.to))
    }

    /// Which columns of a row are in it.
    pub(super) fn columns(&self, at: Position) -> Option<(usize, usize)> {
        let (from, to) = self.ends();
        if at < from.at || at > to.at {
            return None;
        }
        let first = if at == from.at && !self.lines { from.column } else { 0 };
        let last = if at == to.at && !self.lines { to.column } else { usize::MAX };
        Some((first, last))
    }
}

/// The selection, and the button of the mouse that makes one.
#[derive(Debug, Default)]
pub(super) struct Selecting {
    pub(super) selection: Option<Selection>,
    /// The place where the button of the mouse went down.
    pub(super) pressed: Option<Point>,
}

impl Selecting {
    /// Begins a selection at the cursor, or ends one of the same kind.
    pub(super) fn mark(&mut self, cursor: Point, lines: bool) {
        let new = Selection { mark: cursor, to: cursor, lines };
        let again = self.selection.is_some_and(|selection| selection.lines == lines);
        self.selection = (!again).then_some(new);
    }

    pub(super) fn press(&mut self, at: Option<Point>) {
        self.selection = None;
        self.pressed = at;
    }

    /// Selects from where the button of the mouse went down.
    pub(super) fn drag(&mut self, to: Option<Point>) {
        if let (Some(mark), Some(to)) = (self.pressed, to) {
            self.selection = Some(Selection { mark, to, lines: false });
        }
    }

    /// Returns the text that is selected, without frames; of one that is too long for every clipboard, the begin.
    pub(super) fn text(&self, doc: &mut Document) -> Option<String> {
        let selection = self.selection?;
        let (from, to) = selection.ends();
        let mut text: Vec<String> = Vec::new();
        let mut length = 0;
        for item in from.at.item..=to.at.item.min(doc.items.len().saturating_sub(1)) {
            let rows = doc.rows(item);
            let first = if item == from.at.item { from.at.row } else { 0 };
            let after = if item == to.at.item { to.at.row + 1 } else { rows.len() };
            for row in first..after.min(rows.len()) {
                let columns = selection.columns(Position { item, row });
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
