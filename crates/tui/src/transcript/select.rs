//! What is selected: from one place to another, or whole lines.

use super::Transcript;
use super::view::Position;

/// No clipboard of a terminal takes more bytes: what is behind them is not laid out.
const LONGEST: usize = 100_000;

/// A column of a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Point {
    pub(super) at: Position,
    pub(super) column: usize,
}

/// From where to where, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Selection {
    pub(super) mark: Point,
    pub(super) to: Point,
    /// Whether whole lines are meant.
    pub(super) lines: bool,
}

impl Selection {
    fn ends(&self) -> (Point, Point) {
        (self.mark.min(self.to), self.mark.max(self.to))
    }

    /// Which columns of a row are in it.
    fn columns(&self, at: Position) -> Option<(usize, usize)> {
        let (from, to) = self.ends();
        if at < from.at || at > to.at {
            return None;
        }
        let first = if at == from.at && !self.lines { from.column } else { 0 };
        let last = if at == to.at && !self.lines { to.column } else { usize::MAX };
        Some((first, last))
    }
}

impl Transcript {
    pub(super) fn selected_columns(&self, at: Position) -> Option<(usize, usize)> {
        self.selection.as_ref().and_then(|selection| selection.columns(at))
    }

    /// What is selected, as text, without frames; of what is too long for every clipboard, the begin.
    pub(super) fn selected(&mut self) -> Option<String> {
        let selection = self.selection?;
        let (from, to) = selection.ends();
        let mut text: Vec<String> = Vec::new();
        let mut length = 0;
        for item in from.at.item..=to.at.item.min(self.items.len().saturating_sub(1)) {
            let rows = self.rows(item);
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

    /// A place on the screen that was drawn last.
    pub(super) fn point(&self, column: u16, row: u16) -> Option<Point> {
        let at = self.view.shown.get(usize::from(row)).or(self.view.shown.last())?;
        Some(Point { at: *at, column: usize::from(column) })
    }
}
