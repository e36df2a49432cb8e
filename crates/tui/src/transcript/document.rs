//! `TranscriptDocument`: the items of a conversation and their rows. The rows of all items are never counted.

use std::ops::RangeInclusive;

use ratatui_core::text::Line;

use super::item::{FoldDefaults, ItemKind, TranscriptItem};
use super::layout::LayoutCache;
use super::row::{ImageScreen, ItemRows, full_line};
use crate::clean::CleanLine;
use crate::theme::Theme;

/// The number of items of a resumed conversation that are printed: the last ones.
pub(super) const MOST_AT_ONCE: usize = 50;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RowPosition {
    pub(super) item: usize,
    pub(super) row: usize,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CellPosition {
    pub(super) at: RowPosition,
    pub(super) column: usize,
}

/// The items of a conversation, and the layouts of the visible ones.
#[derive(Debug, Default)]
pub(super) struct TranscriptDocument {
    pub(super) items: Vec<TranscriptItem>,
    pub(super) folds: FoldDefaults,
    /// The text shown for hidden thoughts; `None` for haft's own.
    pub(super) thinking_label: Option<CleanLine>,
    pub(super) layouts: LayoutCache,
}

/// The new positions of the items from an index on. A removed item has no new position.
#[derive(Debug)]
pub(super) struct ItemMoves {
    pub(super) from: usize,
    pub(super) places: Vec<Option<usize>>,
}

impl ItemMoves {
    pub(super) fn new_place(&self, at: usize) -> Option<usize> {
        match at.checked_sub(self.from) {
            Some(index) => self.places.get(index).copied().flatten(),
            None => Some(at),
        }
    }
}

impl TranscriptDocument {
    pub(super) fn push(&mut self, kind: ItemKind) -> usize {
        self.items.push(TranscriptItem::new(kind));
        self.items.len() - 1
    }

    pub(super) fn change_item(&mut self, at: usize) -> Option<&mut TranscriptItem> {
        let item = self.items.get_mut(at)?;
        item.mark_changed();
        Some(item)
    }

    /// Drops the rendering of a text, unless it is laid out.
    pub(super) fn drop_rendering(&mut self, at: usize) {
        if !self.layouts.kept.contains_key(&at)
            && let Some(text) = self.items.get_mut(at).and_then(TranscriptItem::model_text)
        {
            text.drop_rendering();
        }
    }

    /// Sets the width and the theme of the layouts. Returns false if all layouts were dropped.
    pub(super) fn fit_layouts(&mut self, width: u16, theme: &Theme, images: Option<ImageScreen>) -> bool {
        let before = &mut self.layouts;
        let fits = before.width == width && before.theme.is_same(theme) && before.images == images;
        if !fits {
            (before.width, before.theme, before.images) = (width, theme.clone(), images);
            self.forget_from(0);
        }
        fits
    }

    pub(super) fn forget_from(&mut self, at: usize) {
        self.layouts.kept.split_off(&at).into_keys().for_each(|at| self.drop_rendering(at));
    }

    pub(super) fn retain_layouts(&mut self, near: RangeInclusive<usize>) {
        let far = self.layouts.kept.extract_if(.., |at, _| !near.contains(at));
        let far: Vec<usize> = far.map(|(at, _)| at).collect();
        far.into_iter().for_each(|at| self.drop_rendering(at));
    }

    pub(super) fn rows(&mut self, at: usize) -> ItemRows<'_> {
        let gap = self.has_gap(at);
        let folds = self.folds;
        match self.items.get_mut(at) {
            Some(item) => {
                let open = item.is_open(folds);
                self.layouts.rows_of(at, item, open, gap)
            }
            None => ItemRows::default(),
        }
    }

    /// True if an item has a blank row before it.
    pub(super) fn has_gap(&self, at: usize) -> bool {
        let compact = |at: usize| self.items.get(at).is_some_and(TranscriptItem::is_compact);
        at.checked_sub(1).is_some_and(|before| !(compact(before) && compact(at)))
    }

    pub(super) fn height_of(&mut self, at: usize) -> usize {
        self.rows(at).len()
    }

    /// Returns the number of blank rows before an item.
    pub(super) fn gap_rows(&mut self, at: usize) -> usize {
        let first = self.rows(at).get(0);
        usize::from(first.is_some_and(|row| row.line.spans.is_empty() && row.ground.is_none()))
    }

    /// Moves by a number of rows, down, or up when negative. Stops at either end.
    pub(super) fn move_by_rows(&mut self, from: RowPosition, rows: i64) -> RowPosition {
        let mut left = usize::try_from(rows.unsigned_abs()).unwrap_or(usize::MAX);
        let mut to = from;
        if rows < 0 {
            while left > to.row {
                let Some(before) = self.last_row_above(to.item) else { return RowPosition { row: 0, ..to } };
                left -= to.row + 1;
                to = before;
            }
            return RowPosition { row: to.row - left, ..to };
        }
        while to.row + left >= self.height_of(to.item) {
            let Some(next) = self.first_row_below(to.item) else {
                return RowPosition { row: self.height_of(to.item).saturating_sub(1), ..to };
            };
            left -= self.height_of(to.item) - to.row;
            to = next;
        }
        RowPosition { row: to.row + left, ..to }
    }

    /// Returns the last row of the previous item that has rows.
    pub(super) fn last_row_above(&mut self, item: usize) -> Option<RowPosition> {
        (0..item).rev().find_map(|item| {
            let row = self.height_of(item).checked_sub(1)?;
            Some(RowPosition { item, row })
        })
    }

    /// Returns the first row of the next item that has rows.
    pub(super) fn first_row_below(&mut self, item: usize) -> Option<RowPosition> {
        (item + 1..self.items.len())
            .find(|item| self.height_of(*item) > 0)
            .map(|item| RowPosition { item, row: 0 })
    }

    pub(super) fn clamp_position(&mut self, at: RowPosition) -> RowPosition {
        let item = at.item.min(self.items.len().saturating_sub(1));
        let last = self.height_of(item).saturating_sub(1);
        RowPosition { item, row: if item < at.item { last } else { at.row.min(last) } }
    }

    pub(super) fn last_position(&mut self) -> RowPosition {
        self.last_row_above(self.items.len()).unwrap_or_default()
    }

    /// Lays out the last rows for a width, without images, for the normal screen.
    pub(super) fn last_rows(&mut self, width: u16, most: usize, theme: &Theme) -> Vec<Line<'static>> {
        self.fit_layouts(width.max(1), theme, None);
        // In reverse order, because the last item is laid out first.
        let mut lines: Vec<Line<'static>> = Vec::new();
        for at in (0..self.items.len()).rev() {
            if lines.len() >= most {
                break;
            }
            let rows = self.rows(at);
            lines.extend((0..rows.len()).rev().filter_map(|row| rows.get(row)).map(full_line));
        }
        lines.truncate(most);
        lines.reverse();
        lines
    }

    /// True if an item is a message.
    pub(super) fn is_message(&self, at: usize) -> bool {
        self.items.get(at).is_some_and(TranscriptItem::is_message)
    }

    pub(super) fn toggle_fold(&mut self, at: usize) {
        let folds = self.folds;
        if let Some(item) = self.items.get_mut(at).filter(|item| item.is_foldable()) {
            item.unfolded = Some(!item.is_open(folds));
        }
    }
}
