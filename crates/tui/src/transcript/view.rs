//! `TranscriptView`: the visible part of a conversation, defined by the row at its top or by its end.

use std::time::Instant;

use super::document::{CellPosition, RowPosition, TranscriptDocument};
use crate::image::ImagePlacement;
use crate::keys::Scroll;

#[derive(Debug, Default)]
pub(super) struct TranscriptView {
    /// The position at the top; `None` follows the end.
    pub(super) top: Option<RowPosition>,
    pub(super) height: usize,
    pub(super) shown: Vec<RowPosition>,
    pub(super) below: bool,
    pub(super) placements: Vec<ImagePlacement>,
}

impl TranscriptView {
    pub(super) fn end_top(&self, doc: &mut TranscriptDocument) -> RowPosition {
        let last = doc.last_position();
        let rows = i64::try_from(self.height.saturating_sub(1)).unwrap_or(i64::MAX);
        doc.move_by_rows(last, -rows)
    }

    pub(super) fn top_position(&self, doc: &mut TranscriptDocument) -> RowPosition {
        match self.top {
            None => self.end_top(doc),
            Some(top) if !self.is_near_end(top, doc) => doc.clamp_position(top),
            Some(top) => doc.clamp_position(top).min(self.end_top(doc)),
        }
    }

    /// True if the end may be visible. Every nonempty item has a row, so a distant end is excluded without layouts.
    fn is_near_end(&self, top: RowPosition, doc: &TranscriptDocument) -> bool {
        doc.items.len().saturating_sub(top.item) <= 4 * self.height.max(1)
    }

    pub(super) fn update_visible(&mut self, doc: &mut TranscriptDocument, height: usize) {
        self.height = height;
        let mut at = self.top_position(doc);
        self.shown.clear();
        while self.shown.len() < height {
            if at.row < doc.height_of(at.item) {
                self.shown.push(at);
                at.row += 1;
                continue;
            }
            let Some(next) = doc.first_row_below(at.item) else { break };
            at = next;
        }
        self.below = at.row < doc.height_of(at.item) || doc.first_row_below(at.item).is_some();
    }

    pub(super) fn scroll_to(&mut self, doc: &mut TranscriptDocument, top: RowPosition) {
        let is_end = self.is_near_end(top, doc) && top >= self.end_top(doc);
        self.top = (!is_end).then_some(top);
        self.update_visible(doc, self.height);
    }

    fn scroll_to_item(&mut self, doc: &mut TranscriptDocument, item: usize) {
        let row = doc.gap_rows(item);
        self.scroll_to(doc, RowPosition { item, row });
    }

    /// Returns the rows for text. If there is more below, the last row shows that.
    pub(super) fn page_rows(&self) -> usize {
        let says_so = self.below && self.top.is_some();
        self.height.saturating_sub(usize::from(says_so)).max(1)
    }

    pub(super) fn last_seen(&self) -> Option<RowPosition> {
        self.shown.get(self.page_rows() - 1).or(self.shown.last()).copied()
    }

    pub(super) fn scroll_by(&mut self, doc: &mut TranscriptDocument, rows: i64) {
        let top = self.top_position(doc);
        let to = doc.move_by_rows(top, rows);
        // A conversation that fits completely is not scrolled.
        if to != top || rows > 0 {
            self.scroll_to(doc, to);
        }
    }

    pub(super) fn scroll(&mut self, doc: &mut TranscriptDocument, action: Scroll) {
        let page = i64::try_from(self.height.saturating_sub(2).max(1)).unwrap_or(i64::MAX);
        match action {
            Scroll::PageUp => self.scroll_by(doc, -page),
            Scroll::PageDown => self.scroll_by(doc, page),
            Scroll::LineUp => self.scroll_by(doc, -1),
            Scroll::LineDown => self.scroll_by(doc, 1),
            Scroll::Top => self.scroll_to(doc, RowPosition::default()),
            Scroll::Bottom => {
                self.top = None;
                self.update_visible(doc, self.height);
            }
            Scroll::MessageUp => {
                let top = self.top_position(doc);
                let upto = if top.row > doc.gap_rows(top.item) { top.item + 1 } else { top.item };
                let before = (0..upto.min(doc.items.len())).rev().find(|at| doc.is_message(*at));
                self.scroll_to_item(doc, before.unwrap_or_default());
            }
            Scroll::MessageDown => {
                let top = self.top_position(doc);
                match (top.item + 1..doc.items.len()).find(|at| doc.is_message(*at)) {
                    Some(item) => self.scroll_to_item(doc, item),
                    None => self.scroll(doc, Scroll::Bottom),
                }
            }
            Scroll::Search | Scroll::Browse | Scroll::CopyAnswer => {}
        }
    }

    /// Returns the time of the next change of a visible running item.
    pub(super) fn next_spinner_frame(&self, doc: &TranscriptDocument, now: Instant) -> Option<Instant> {
        let mut seen: Vec<usize> = self.shown.iter().map(|at| at.item).collect();
        seen.dedup();
        let began = seen.into_iter().filter_map(|at| doc.items.get(at)?.running_call()?.began);
        began.filter_map(|began| doc.layouts.theme.spinner().next_frame_at(began, now)).min()
    }

    pub(super) fn reveal(&mut self, doc: &mut TranscriptDocument, at: RowPosition) {
        self.update_visible(doc, self.height);
        let first = self.shown.first().copied().unwrap_or_default();
        let last = self.last_seen().unwrap_or_default();
        let top = if at < first {
            at
        } else if at > last {
            // At the end, there is one more row, which shifts the view.
            doc.move_by_rows(at, 2 - i64::try_from(self.height.max(2)).unwrap_or(2))
        } else {
            return;
        };
        self.top = Some(top);
        self.update_visible(doc, self.height);
    }

    pub(super) fn cell_at(&self, column: u16, row: u16) -> Option<CellPosition> {
        let at = self.shown.get(usize::from(row)).or(self.shown.last())?;
        Some(CellPosition { at: *at, column: usize::from(column) })
    }
}
