//! `Document`: the items of a conversation and their rows. Nothing counts the rows of all items.

use std::ops::RangeInclusive;

use ratatui_core::text::Line;

use super::item::{Folds, Item, Kind};
use super::layout::Layouts;
use super::row::{Rows, Showing, whole};
use crate::theme::Theme;

/// The number of items that are printed of a conversation that goes on: the last ones.
pub(super) const MOST_AT_ONCE: usize = 50;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    pub(super) item: usize,
    pub(super) row: usize,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Point {
    pub(super) at: Position,
    pub(super) column: usize,
}

/// The items of a conversation, and the layouts of those that are looked at.
#[derive(Debug, Default)]
pub(super) struct Document {
    pub(super) items: Vec<Item>,
    pub(super) folds: Folds,
    pub(super) layouts: Layouts,
}

/// The new places of the items from one on. An item without a place is gone.
#[derive(Debug)]
pub(super) struct Moved {
    pub(super) from: usize,
    pub(super) places: Vec<Option<usize>>,
}

impl Moved {
    pub(super) fn place(&self, at: usize) -> Option<usize> {
        match at.checked_sub(self.from) {
            Some(index) => self.places.get(index).copied().flatten(),
            None => Some(at),
        }
    }
}

impl Document {
    pub(super) fn push(&mut self, kind: Kind) -> usize {
        self.items.push(Item::new(kind));
        self.items.len() - 1
    }

    pub(super) fn changed(&mut self, at: usize) -> Option<&mut Item> {
        let item = self.items.get_mut(at)?;
        item.changed();
        Some(item)
    }

    /// Forgets what has been rendered of a text, unless it is laid out.
    pub(super) fn compress(&mut self, at: usize) {
        if !self.layouts.kept.contains_key(&at)
            && let Some(text) = self.items.get_mut(at).and_then(Item::words)
        {
            text.compress();
        }
    }

    /// Lays out for a width and a theme from now on. Returns false if all layouts are forgotten for that.
    pub(super) fn fit(&mut self, width: u16, theme: &Theme, images: Option<Showing>) -> bool {
        let before = &mut self.layouts;
        let fits = before.width == width && before.theme.is_same(theme) && before.images == images;
        if !fits {
            (before.width, before.theme, before.images) = (width, theme.clone(), images);
            self.forget_from(0);
        }
        fits
    }

    pub(super) fn forget_from(&mut self, at: usize) {
        self.layouts.kept.split_off(&at).into_keys().for_each(|at| self.compress(at));
    }

    pub(super) fn keep_only(&mut self, near: RangeInclusive<usize>) {
        let far = self.layouts.kept.extract_if(.., |at, _| !near.contains(at));
        let far: Vec<usize> = far.map(|(at, _)| at).collect();
        far.into_iter().for_each(|at| self.compress(at));
    }

    pub(super) fn rows(&mut self, at: usize) -> Rows<'_> {
        let gap = self.has_gap(at);
        let folds = self.folds;
        match self.items.get_mut(at) {
            Some(item) => {
                let open = item.is_open(folds);
                self.layouts.of(at, item, open, gap)
            }
            None => Rows::default(),
        }
    }

    /// True if a row is free before an item.
    pub(super) fn has_gap(&self, at: usize) -> bool {
        let compact = |at: usize| self.items.get(at).is_some_and(Item::is_compact);
        at.checked_sub(1).is_some_and(|before| !(compact(before) && compact(at)))
    }

    pub(super) fn height_of(&mut self, at: usize) -> usize {
        self.rows(at).len()
    }

    /// Returns how many rows are free before an item.
    pub(super) fn gap_rows(&mut self, at: usize) -> usize {
        let first = self.rows(at).get(0);
        usize::from(first.is_some_and(|row| row.line.spans.is_empty() && row.ground.is_none()))
    }

    /// Goes so many rows down, or up when negative; at most to either end.
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
    pub(super) fn above(&mut self, item: usize) -> Option<Position> {
        (0..item).rev().find_map(|item| {
            let row = self.height_of(item).checked_sub(1)?;
            Some(Position { item, row })
        })
    }

    /// The first row of the item after that has any.
    pub(super) fn below(&mut self, item: usize) -> Option<Position> {
        (item + 1..self.items.len())
            .find(|item| self.height_of(*item) > 0)
            .map(|item| Position { item, row: 0 })
    }

    pub(super) fn clamped(&mut self, at: Position) -> Position {
        let item = at.item.min(self.items.len().saturating_sub(1));
        let last = self.height_of(item).saturating_sub(1);
        Position { item, row: if item < at.item { last } else { at.row.min(last) } }
    }

    pub(super) fn last(&mut self) -> Position {
        self.above(self.items.len()).unwrap_or_default()
    }

    /// Lays out the last rows of a width, without images: for the normal screen.
    pub(super) fn last_rows(&mut self, width: u16, most: usize, theme: &Theme) -> Vec<Line<'static>> {
        self.fit(width.max(1), theme, None);
        // Upside down, because what is last is laid out first.
        let mut lines: Vec<Line<'static>> = Vec::new();
        for at in (0..self.items.len()).rev() {
            if lines.len() >= most {
                break;
            }
            let rows = self.rows(at);
            lines.extend((0..rows.len()).rev().filter_map(|row| rows.get(row)).map(whole));
        }
        lines.truncate(most);
        lines.reverse();
        lines
    }

    /// True if somebody says something with an item.
    pub(super) fn is_message(&self, at: usize) -> bool {
        self.items.get(at).is_some_and(Item::is_message)
    }

    pub(super) fn toggle(&mut self, at: usize) {
        let folds = self.folds;
        if let Some(item) = self.items.get_mut(at).filter(|item| item.folds()) {
            item.unfolded = Some(!item.is_open(folds));
        }
    }
}
