//! `View`: the part of a conversation that is seen, by an item and a row of it at the top, or by the end.

use std::time::Instant;

use super::document::{Document, Point, Position};
use crate::image::Placement;
use crate::keys::Scroll;

#[derive(Debug, Default)]
pub(super) struct View {
    /// The item at the top; without it the end is followed.
    pub(super) top: Option<Position>,
    pub(super) height: usize,
    pub(super) shown: Vec<Position>,
    pub(super) below: bool,
    pub(super) placements: Vec<Placement>,
}

impl View {
    pub(super) fn top_of_end(&self, doc: &mut Document) -> Position {
        let last = doc.last();
        let rows = i64::try_from(self.height.saturating_sub(1)).unwrap_or(i64::MAX);
        doc.walk(last, -rows)
    }

    pub(super) fn top(&self, doc: &mut Document) -> Position {
        match self.top {
            None => self.top_of_end(doc),
            Some(top) if !self.is_near_end(top, doc) => doc.clamped(top),
            Some(top) => doc.clamped(top).min(self.top_of_end(doc)),
        }
    }

    /// Every item but an empty one has a row, so the end is not looked for where it is far.
    fn is_near_end(&self, top: Position, doc: &Document) -> bool {
        doc.items.len().saturating_sub(top.item) <= 4 * self.height.max(1)
    }

    pub(super) fn look(&mut self, doc: &mut Document, height: usize) {
        self.height = height;
        let mut at = self.top(doc);
        self.shown.clear();
        while self.shown.len() < height {
            if at.row < doc.height_of(at.item) {
                self.shown.push(at);
                at.row += 1;
                continue;
            }
            let Some(next) = doc.below(at.item) else { break };
            at = next;
        }
        self.below = at.row < doc.height_of(at.item) || doc.below(at.item).is_some();
    }

    pub(super) fn look_from(&mut self, doc: &mut Document, top: Position) {
        let is_end = self.is_near_end(top, doc) && top >= self.top_of_end(doc);
        self.top = (!is_end).then_some(top);
        self.look(doc, self.height);
    }

    fn look_from_item(&mut self, doc: &mut Document, item: usize) {
        let row = doc.gap_rows(item);
        self.look_from(doc, Position { item, row });
    }

    /// Rows for text: where there is more below, the last one says so.
    pub(super) fn page(&self) -> usize {
        let says_so = self.below && self.top.is_some();
        self.height.saturating_sub(usize::from(says_so)).max(1)
    }

    pub(super) fn last_seen(&self) -> Option<Position> {
        self.shown.get(self.page() - 1).or(self.shown.last()).copied()
    }

    pub(super) fn scroll_by(&mut self, doc: &mut Document, rows: i64) {
        let top = self.top(doc);
        let to = doc.walk(top, rows);
        // What fits altogether is not scrolled.
        if to != top || rows > 0 {
            self.look_from(doc, to);
        }
    }

    pub(super) fn scroll(&mut self, doc: &mut Document, action: Scroll) {
        let page = i64::try_from(self.height.saturating_sub(2).max(1)).unwrap_or(i64::MAX);
        match action {
            Scroll::PageUp => self.scroll_by(doc, -page),
            Scroll::PageDown => self.scroll_by(doc, page),
            Scroll::LineUp => self.scroll_by(doc, -1),
            Scroll::LineDown => self.scroll_by(doc, 1),
            Scroll::Top => self.look_from(doc, Position::default()),
            Scroll::Bottom => {
                self.top = None;
                self.look(doc, self.height);
            }
            Scroll::MessageUp => {
                let top = self.top(doc);
                let upto = if top.row > doc.gap_rows(top.item) { top.item + 1 } else { top.item };
                let before = (0..upto.min(doc.items.len())).rev().find(|at| doc.is_message(*at));
                self.look_from_item(doc, before.unwrap_or_default());
            }
            Scroll::MessageDown => {
                let top = self.top(doc);
                match (top.item + 1..doc.items.len()).find(|at| doc.is_message(*at)) {
                    Some(item) => self.look_from_item(doc, item),
                    None => self.scroll(doc, Scroll::Bottom),
                }
            }
            Scroll::Search | Scroll::Browse | Scroll::CopyAnswer => {}
        }
    }

    /// When the picture of something that runs and is seen changes.
    pub(super) fn next_picture(&self, doc: &Document, now: Instant) -> Option<Instant> {
        let mut seen: Vec<usize> = self.shown.iter().map(|at| at.item).collect();
        seen.dedup();
        let began = seen.into_iter().filter_map(|at| doc.items.get(at)?.running()?.began);
        began.filter_map(|began| doc.layouts.theme.spinner().changes_at(began, now)).min()
    }

    pub(super) fn reveal(&mut self, doc: &mut Document, at: Position) {
        self.look(doc, self.height);
        let first = self.shown.first().copied().unwrap_or_default();
        let last = self.last_seen().unwrap_or_default();
        let top = if at < first {
            at
        } else if at > last {
            // At the end there is one more row, which what is seen is moved by then.
            doc.walk(at, 2 - i64::try_from(self.height.max(2)).unwrap_or(2))
        } else {
            return;
        };
        self.top = Some(top);
        self.look(doc, self.height);
    }

    pub(super) fn point(&self, column: u16, row: u16) -> Option<Point> {
        let at = self.shown.get(usize::from(row)).or(self.shown.last())?;
        Some(Point { at: *at, column: usize::from(column) })
    }
}
