//! The conversation where what is over is printed once, and only what goes on is drawn: for the terminal's own screen.
//!
//! An item is over when nothing can change it any more. Items are printed in their order, so that one that is over waits
//! for those before it. Only what would not fit between what was printed and what stands below is printed earlier: texts
//! of an answer that an extension may still replace, a finished block of them after the other. Where one of those is
//! replaced after that, it is printed once more, as it is in the end.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::Line;

use super::answer::Answer;
use super::call::Origin;
use super::document::{Document, MOST_AT_ONCE, Position};
use super::draw::paint_row;
use super::item::{Item, Kind};
use super::row::whole;
use super::view::View;
use crate::clean::{CleanLine, span};
use crate::look::Look;
use crate::theme::Role;

/// The part of an item that is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Blocks(usize),
    All,
}

#[derive(Debug, Default)]
pub(super) struct Settled {
    began: bool,
    /// The items before this one have been printed.
    pub(super) past: usize,
    pub(super) live: usize,
}

impl Settled {
    pub(super) fn settle(
        &mut self,
        doc: &mut Document,
        answer: &Answer,
        width: u16,
        room: usize,
        look: &Look,
    ) -> Vec<Line<'static>> {
        lay_out(doc, width, look);
        let mut rows = self.skip_old(doc);
        for at in live_items(doc, self.past) {
            if answer.has(at) || !doc.items.get(at).is_some_and(Item::is_over) {
                break;
            }
            print(doc, at, Part::All, &mut rows);
            self.past = at + 1;
        }
        self.live = self.count_live(doc);
        while self.live > room {
            let Some((at, part)) = self.early(doc, self.live - room) else { break };
            print(doc, at, part, &mut rows);
            self.live = self.count_live(doc);
        }
        doc.keep_only(self.past..=usize::MAX);
        rows
    }

    pub(super) fn settle_all(&mut self, doc: &mut Document, width: u16, look: &Look) -> Vec<Line<'static>> {
        lay_out(doc, width, look);
        let mut rows = self.skip_old(doc);
        for at in live_items(doc, self.past) {
            print(doc, at, Part::All, &mut rows);
            self.past = at + 1;
        }
        self.live = 0;
        rows
    }

    pub(super) fn draw(
        &self,
        doc: &mut Document,
        view: &mut View,
        area: Rect,
        buffer: &mut Buffer,
        look: &Look,
    ) {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return;
        }
        lay_out(doc, area.width, look);
        let mut shown = Vec::new();
        for item in live_items(doc, self.past) {
            let rows = printed_rows(doc, item)..doc.height_of(item);
            shown.extend(rows.map(|row| Position { item, row }));
        }
        shown.drain(..shown.len().saturating_sub(usize::from(area.height)));
        for (y, at) in (area.y..).zip(&shown) {
            paint_row(doc, *at, Rect { y, height: 1, ..area }, buffer, look);
        }
        view.shown = shown;
        view.placements.clear();
    }

    /// Of a long conversation that goes on, only the last items are printed.
    fn skip_old(&mut self, doc: &mut Document) -> Vec<Line<'static>> {
        let skipped = doc.items.len().saturating_sub(MOST_AT_ONCE);
        if std::mem::replace(&mut self.began, !doc.items.is_empty()) || skipped == 0 {
            return Vec::new();
        }
        doc.items.iter_mut().take(skipped).for_each(|item| item.printed = true);
        self.past = skipped;
        let text = format!("… {skipped} entries before this · ctrl+o shows them");
        vec![Line::from(span(CleanLine::new(&text), doc.layouts.theme.style(Role::Muted)))]
    }

    fn count_live(&self, doc: &mut Document) -> usize {
        let live = live_items(doc, self.past).into_iter();
        live.map(|at| doc.height_of(at).saturating_sub(printed_rows(doc, at))).sum()
    }

    /// Returns the next part to print though it may not be over, so that so many rows less are left.
    fn early(&self, doc: &mut Document, rows: usize) -> Option<(usize, Part)> {
        let is_passed = |item: &Item| {
            // It goes on, and those behind it need not wait.
            !item.is_over() && matches!(&item.kind, Kind::Call(call) if call.origin != Origin::Model)
        };
        let mut live = live_items(doc, self.past).into_iter();
        let at = live.find(|at| doc.items.get(*at).is_some_and(|item| !is_passed(item)))?;
        if doc.items.get(at)?.is_over() {
            return Some((at, Part::All));
        }
        early_blocks(doc, at, rows).map(|blocks| (at, Part::Blocks(blocks)))
    }
}

fn lay_out(doc: &mut Document, width: u16, look: &Look) {
    // What is printed has no images in it.
    doc.layouts.now = Some(look.now);
    doc.fit(width.max(1), &look.theme, None);
}

/// The items from one on of which not everything has been printed.
fn live_items(doc: &Document, from: usize) -> Vec<usize> {
    let items = doc.items.iter().enumerate().skip(from);
    items.filter(|(_, item)| !item.printed).map(|(at, _)| at).collect()
}

fn printed_rows(doc: &mut Document, at: usize) -> usize {
    let Some(item) = doc.items.get_mut(at) else { return 0 };
    if item.printed {
        return doc.height_of(at);
    }
    match item.words().map_or(0, |text| text.printed()) {
        0 => 0,
        blocks => rows_of_blocks(doc, at, blocks),
    }
}

fn rows_of_blocks(doc: &mut Document, at: usize, blocks: usize) -> usize {
    let (own, height) = (doc.gap_rows(at), doc.height_of(at));
    let Document { items, layouts, .. } = doc;
    let ends = items
        .get_mut(at)
        .and_then(Item::words)
        .map(|text| text.rendered().blocks(layouts.width, &layouts.theme));
    let lines = ends.and_then(|ends| ends.get(blocks.checked_sub(1)?).copied());
    lines.map_or(0, |lines| (own + lines).min(height))
}

/// The number of blocks of a text that are printed so that so many rows less are left; all that are finished where that is not enough.
fn early_blocks(doc: &mut Document, at: usize, rows: usize) -> Option<usize> {
    let Kind::Text(text) = &mut doc.items.get_mut(at)?.kind else { return None };
    let before = text.printed();
    let ends = text.rendered().blocks(doc.layouts.width, &doc.layouts.theme).len();
    let printed = printed_rows(doc, at);
    let enough = |blocks: &usize| rows_of_blocks(doc, at, *blocks) - printed >= rows;
    (before + 1..=ends).find(enough).or((ends > before).then_some(ends))
}

fn print(doc: &mut Document, at: usize, part: Part, rows: &mut Vec<Line<'static>>) {
    let from = printed_rows(doc, at);
    if let Some(item) = doc.items.get_mut(at) {
        let blocks = if let Part::Blocks(blocks) = part { blocks } else { 0 };
        item.printed = part == Part::All;
        if let Some(text) = item.words() {
            text.set_printed(blocks);
        }
    }
    let to = printed_rows(doc, at);
    let laid_out = doc.rows(at);
    rows.extend((from..to).filter_map(|row| laid_out.get(row)).map(whole));
}
