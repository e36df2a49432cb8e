//! Inline mode of the transcript: finished items are printed once, and only the rest is drawn.
//!
//! An item is finished when no event can change it any more. Items are printed in order, so a finished item waits for
//! those before it. The finished blocks of an answer are printed early if they do not fit into the drawn area,
//! although an extension may still replace the answer. If such a text is replaced afterwards, its final form is
//! printed again.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::Line;

use super::answer::AnswerInProgress;
use super::call::CallOrigin;
use super::document::{MOST_AT_ONCE, RowPosition, TranscriptDocument};
use super::draw::paint_row;
use super::item::{ItemKind, TranscriptItem};
use super::row::full_line;
use super::view::TranscriptView;
use crate::clean::{CleanLine, span};
use crate::draw_context::DrawContext;
use crate::theme::Role;

/// The printed part of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PrintedPart {
    Blocks(usize),
    All,
}

#[derive(Debug, Default)]
pub(super) struct PrintedScrollback {
    began: bool,
    /// The number of items that are completely printed.
    pub(super) past: usize,
    pub(super) live: usize,
}

impl PrintedScrollback {
    pub(super) fn take_settled_rows(
        &mut self,
        doc: &mut TranscriptDocument,
        answer: &AnswerInProgress,
        width: u16,
        room: usize,
        look: &DrawContext,
    ) -> Vec<Line<'static>> {
        lay_out(doc, width, look);
        let mut rows = self.skip_old(doc);
        for at in live_items(doc, self.past) {
            if answer.contains(at) || !doc.items.get(at).is_some_and(TranscriptItem::is_over) {
                break;
            }
            print_part(doc, at, PrintedPart::All, &mut rows);
            self.past = at + 1;
        }
        self.live = self.count_live(doc);
        while self.live > room {
            let Some((at, part)) = self.next_early_part(doc, self.live - room) else { break };
            print_part(doc, at, part, &mut rows);
            self.live = self.count_live(doc);
        }
        doc.retain_layouts(self.past..=usize::MAX);
        rows
    }

    pub(super) fn take_remaining_rows(
        &mut self,
        doc: &mut TranscriptDocument,
        width: u16,
        look: &DrawContext,
    ) -> Vec<Line<'static>> {
        lay_out(doc, width, look);
        let mut rows = self.skip_old(doc);
        for at in live_items(doc, self.past) {
            print_part(doc, at, PrintedPart::All, &mut rows);
            self.past = at + 1;
        }
        self.live = 0;
        rows
    }

    pub(super) fn draw(
        &self,
        doc: &mut TranscriptDocument,
        view: &mut TranscriptView,
        area: Rect,
        buffer: &mut Buffer,
        look: &DrawContext,
    ) {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return;
        }
        lay_out(doc, area.width, look);
        let mut shown = Vec::new();
        for item in live_items(doc, self.past) {
            let rows = printed_rows(doc, item)..doc.height_of(item);
            shown.extend(rows.map(|row| RowPosition { item, row }));
        }
        shown.drain(..shown.len().saturating_sub(usize::from(area.height)));
        for (y, at) in (area.y..).zip(&shown) {
            paint_row(doc, *at, Rect { y, height: 1, ..area }, buffer, look);
        }
        view.shown = shown;
        view.placements.clear();
    }

    /// Skips all but the last items of a long resumed conversation.
    fn skip_old(&mut self, doc: &mut TranscriptDocument) -> Vec<Line<'static>> {
        let skipped = doc.items.len().saturating_sub(MOST_AT_ONCE);
        if std::mem::replace(&mut self.began, !doc.items.is_empty()) || skipped == 0 {
            return Vec::new();
        }
        doc.items.iter_mut().take(skipped).for_each(|item| item.printed = true);
        self.past = skipped;
        let text = format!("… {skipped} earlier entries · ctrl+o show");
        vec![Line::from(span(CleanLine::new(&text), doc.layouts.theme.style(Role::Muted)))]
    }

    fn count_live(&self, doc: &mut TranscriptDocument) -> usize {
        let live = live_items(doc, self.past).into_iter();
        live.map(|at| doc.height_of(at).saturating_sub(printed_rows(doc, at))).sum()
    }

    /// Returns the next part to print early, so that fewer rows are left.
    fn next_early_part(&self, doc: &mut TranscriptDocument, rows: usize) -> Option<(usize, PrintedPart)> {
        let is_passed = |item: &TranscriptItem| {
            // A running command does not block the items behind it.
            !item.is_over() && matches!(&item.kind, ItemKind::Call(call) if call.origin != CallOrigin::Model)
        };
        let mut live = live_items(doc, self.past).into_iter();
        let at = live.find(|at| doc.items.get(*at).is_some_and(|item| !is_passed(item)))?;
        if doc.items.get(at)?.is_over() {
            return Some((at, PrintedPart::All));
        }
        early_blocks(doc, at, rows).map(|blocks| (at, PrintedPart::Blocks(blocks)))
    }
}

fn lay_out(doc: &mut TranscriptDocument, width: u16, look: &DrawContext) {
    // Printed rows contain no images.
    doc.layouts.now = Some(look.now);
    doc.fit_layouts(width.max(1), &look.theme, None);
}

/// Returns the items from an index on that are not completely printed.
fn live_items(doc: &TranscriptDocument, from: usize) -> Vec<usize> {
    let items = doc.items.iter().enumerate().skip(from);
    items.filter(|(_, item)| !item.printed).map(|(at, _)| at).collect()
}

fn printed_rows(doc: &mut TranscriptDocument, at: usize) -> usize {
    let Some(item) = doc.items.get_mut(at) else { return 0 };
    if item.printed {
        return doc.height_of(at);
    }
    match item.model_text().map_or(0, |text| text.printed_blocks()) {
        0 => 0,
        blocks => rows_of_blocks(doc, at, blocks),
    }
}

fn rows_of_blocks(doc: &mut TranscriptDocument, at: usize, blocks: usize) -> usize {
    let (own, height) = (doc.gap_rows(at), doc.height_of(at));
    let TranscriptDocument { items, layouts, .. } = doc;
    let ends = items
        .get_mut(at)
        .and_then(TranscriptItem::model_text)
        .map(|text| text.rendered_mut().block_ends(layouts.width, &layouts.theme));
    let lines = ends.and_then(|ends| ends.get(blocks.checked_sub(1)?).copied());
    lines.map_or(0, |lines| (own + lines).min(height))
}

/// Returns the number of blocks to print early, so that `rows` fewer rows are left; all finished blocks if that is
/// not enough.
fn early_blocks(doc: &mut TranscriptDocument, at: usize, rows: usize) -> Option<usize> {
    let ItemKind::Text(text) = &mut doc.items.get_mut(at)?.kind else { return None };
    let before = text.printed_blocks();
    let ends = text.rendered_mut().block_ends(doc.layouts.width, &doc.layouts.theme).len();
    let printed = printed_rows(doc, at);
    let enough = |blocks: &usize| rows_of_blocks(doc, at, *blocks) - printed >= rows;
    (before + 1..=ends).find(enough).or((ends > before).then_some(ends))
}

fn print_part(doc: &mut TranscriptDocument, at: usize, part: PrintedPart, rows: &mut Vec<Line<'static>>) {
    let from = printed_rows(doc, at);
    if let Some(item) = doc.items.get_mut(at) {
        let blocks = if let PrintedPart::Blocks(blocks) = part { blocks } else { 0 };
        item.printed = part == PrintedPart::All;
        if let Some(text) = item.model_text() {
            text.set_printed(blocks);
        }
    }
    let to = printed_rows(doc, at);
    let laid_out = doc.rows(at);
    rows.extend((from..to).filter_map(|row| laid_out.get(row)).map(full_line));
}
