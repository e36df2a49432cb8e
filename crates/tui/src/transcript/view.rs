//! Where one is: an item and a row of it at the top, or the end. Nothing counts the rows of all items.

use std::time::Instant;

use super::Transcript;
use super::row::Rows;
use crate::image::Placement;
use crate::keys::Scroll;

/// A row of an item.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    pub(super) item: usize,
    pub(super) row: usize,
}

/// What is seen.
#[derive(Debug)]
pub(super) struct View {
    /// What stands at the top, unless the end is followed.
    pub(super) top: Position,
    pub(super) follow: bool,
    pub(super) height: usize,
    /// What was drawn last, row by row.
    pub(super) shown: Vec<Position>,
    /// Whether there is more below that.
    pub(super) below: bool,
    /// The images of that.
    pub(super) placements: Vec<Placement>,
}

impl Default for View {
    fn default() -> Self {
        Self {
            top: Position::default(),
            follow: true,
            height: 24,
            shown: Vec::new(),
            below: false,
            placements: Vec::new(),
        }
    }
}

impl Transcript {
    /// The rows of an item, laid out for the width that was drawn last.
    pub(super) fn rows(&mut self, at: usize) -> Rows<'_> {
        let compact = |at: usize| self.items.get(at).is_some_and(super::item::Item::is_compact);
        let gap = at.checked_sub(1).is_some_and(|before| !(compact(before) && compact(at)));
        let folds = self.folds;
        match self.items.get_mut(at) {
            Some(item) => {
                let open = item.is_open(folds);
                self.layouts.of(at, item, open, gap)
            }
            None => Rows::default(),
        }
    }

    pub(super) fn height_of(&mut self, at: usize) -> usize {
        self.rows(at).len()
    }

    /// So many rows further down, or up when negative; at most to either end.
    pub(super) fn walk(&mut self, from: Position, rows: i64) -> Position {
        let mut left = usize::try_from(rows.unsigned_abs()).unwrap_or(usize::MAX);
        let mut to = from;
        if rows < 0 {
            while left > to.row {
                let Some(before) = self.above(to.item) else { return Position { row: 0, ..to } };
                left -= to.row + 1;
                to = before;
            }
            return Position { row: to.row - left, ..to };
        }
        while to.row + left >= self.height_of(to.item) {
            let Some(next) = self.below(to.item) else {
                return Position { row: self.height_of(to.item).saturating_sub(1), ..to };
            };
            left -= self.height_of(to.item) - to.row;
            to = next;
        }
        Position { row: to.row + left, ..to }
    }

    /// The last row of the item before that has any.
    fn above(&mut self, item: usize) -> Option<Position> {
        (0..item).rev().find_map(|item| {
            let row = self.height_of(item).checked_sub(1)?;
            Some(Position { item, row })
        })
    }

    /// The first row of the item after that has any.
    fn below(&mut self, item: usize) -> Option<Position> {
        (item + 1..self.items.len())
            .find(|item| self.height_of(*item) > 0)
            .map(|item| Position { item, row: 0 })
    }

    /// The same place, where it still is one.
    pub(super) fn clamped(&mut self, at: Position) -> Position {
        let item = at.item.min(self.items.len().saturating_sub(1));
        let last = self.height_of(item).saturating_sub(1);
        Position { item, row: if item < at.item { last } else { at.row.min(last) } }
    }

    /// The last row of all.
    pub(super) fn last(&mut self) -> Position {
        self.above(self.items.len()).unwrap_or_default()
    }

    /// What stands at the top when the end is seen.
    pub(super) fn top_of_end(&mut self) -> Position {
        let last = self.last();
        let rows = i64::try_from(self.view.height.saturating_sub(1)).unwrap_or(i64::MAX);
        self.walk(last, -rows)
    }

    /// What stands at the top.
    pub(super) fn top(&mut self) -> Position {
        // Every item but an empty one has a row, so the end is not looked for where it is far.
        let far = self.items.len() - self.view.top.item.min(self.items.len()) > 4 * self.view.height.max(1);
        if !self.view.follow && far {
            let top = self.view.top;
            return self.clamped(top);
        }
        let end = self.top_of_end();
        if self.view.follow { end } else { self.clamped(self.view.top).min(end) }
    }

    /// Finds what is seen in so many rows.
    pub(super) fn look(&mut self, height: usize) {
        self.view.height = height;
        let mut at = self.top();
        self.view.shown.clear();
        while self.view.shown.len() < height {
            if at.row < self.height_of(at.item) {
                self.view.shown.push(at);
                at.row += 1;
                continue;
            }
            let Some(next) = self.below(at.item) else { break };
            at = next;
        }
        self.view.below = at.row < self.height_of(at.item) || self.below(at.item).is_some();
    }

    /// Puts a row at the top, or follows the end where that would be seen.
    pub(super) fn look_from(&mut self, top: Position) {
        self.view.top = top;
        self.view.follow = false;
        if self.top_is_end() {
            self.view.follow = true;
        }
        self.look(self.view.height);
    }

    fn top_is_end(&mut self) -> bool {
        let near = self.items.len() - self.view.top.item.min(self.items.len()) <= 4 * self.view.height.max(1);
        let top = self.view.top;
        near && top >= self.top_of_end()
    }

    /// Rows for text: where there is more below, the last one says so.
    pub(super) fn page(&self) -> usize {
        let says_so = self.view.below && !self.view.follow;
        self.view.height.saturating_sub(usize::from(says_so)).max(1)
    }

    pub(super) fn scroll_by(&mut self, rows: i64) {
        self.stop_hunt();
        let top = self.top();
        let to = self.walk(top, rows);
        // What fits altogether is not scrolled.
        if to != top || rows > 0 {
            self.look_from(to);
        }
    }

    pub(super) fn scrolled(&mut self, action: Scroll) {
        self.stop_hunt();
        let page = i64::try_from(self.view.height.saturating_sub(2).max(1)).unwrap_or(i64::MAX);
        match action {
            Scroll::PageUp => self.scroll_by(-page),
            Scroll::PageDown => self.scroll_by(page),
            Scroll::LineUp => self.scroll_by(-1),
            Scroll::LineDown => self.scroll_by(1),
            Scroll::Top => self.look_from(Position::default()),
            Scroll::Bottom => {
                self.view.follow = true;
                self.look(self.view.height);
            }
            Scroll::MessageUp => {
                let top = self.top();
                let upto = if top.row > self.gap_rows(top.item) { top.item + 1 } else { top.item };
                let before = (0..upto.min(self.items.len())).rev().find(|at| self.is_message(*at));
                let to = before.unwrap_or_default();
                let row = self.gap_rows(to);
                self.look_from(Position { item: to, row });
            }
            Scroll::MessageDown => {
                let top = self.top();
                match (top.item + 1..self.items.len()).find(|at| self.is_message(*at)) {
                    Some(item) => {
                        let row = self.gap_rows(item);
                        self.look_from(Position { item, row });
                    }
                    None => self.scrolled(Scroll::Bottom),
                }
            }
            Scroll::Search | Scroll::Browse | Scroll::CopyAnswer => {}
        }
    }

    fn is_message(&self, at: usize) -> bool {
        self.items.get(at).is_some_and(super::item::Item::is_message)
    }

    /// How many rows are free before an item.
    pub(super) fn gap_rows(&mut self, at: usize) -> usize {
        let first = self.rows(at).get(0);
        usize::from(first.is_some_and(|row| row.line.spans.is_empty() && row.ground.is_none()))
    }

    /// When the picture of something that runs and is seen changes.
    pub(super) fn next_picture(&self, now: Instant) -> Option<Instant> {
        let mut seen: Vec<usize> = self.view.shown.iter().map(|at| at.item).collect();
        seen.dedup();
        let began = seen.into_iter().filter_map(|at| self.items.get(at)?.running()?.began);
        began.filter_map(|began| self.layouts.theme.spinner().changes_at(began, now)).min()
    }
}
