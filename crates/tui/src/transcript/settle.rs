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
use super::document::{Document, Position};
use super::draw::paint_row;
use super::item::{Item, Kind};
use super::row::whole;
use super::view::View;
use crate::clean::{CleanLine, span};
use crate::look::Look;
use crate::theme::Role;

/// Items of a conversation that goes on, of which the last are printed.
const MOST_AT_ONCE: usize = 50;

/// How much of an item is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// So many blocks of a text.
    Blocks(usize),
    All,
}

/// What has been printed.
#[derive(Debug, Default)]
pub(super) struct Settled {
    began: bool,
    /// The items before this one have been printed.
    past: usize,
    /// How many rows are left.
    live: usize,
}

impl Settled {
    /// Items stand elsewhere, from one on.
    pub(super) fn moved(&mut self, from: usize) {
        self.past = self.past.min(from);
    }
}

/// What may be printed of an item because it does not fit.
enum Early {
    Part(Part),
    /// It goes on, and those behind it need not wait.
    Passed,
    Nothing,
}

impl Settled {
    /// The rows that are printed from now on, each of them once: all that is over, and as much of the rest as has to be so
    /// that what is left has at most so many rows.
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
        while let Some(at) = next_live(doc, self.past) {
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

    /// All that has not been printed, as it is now.
    pub(super) fn settle_all(&mut self, doc: &mut Document, width: u16, look: &Look) -> Vec<Line<'static>> {
        lay_out(doc, width, look);
        let mut rows = self.skip_old(doc);
        while let Some(at) = next_live(doc, self.past) {
            print(doc, at, Part::All, &mut rows);
            self.past = at + 1;
        }
        self.live = 0;
        rows
    }

    /// How many rows are left after [`settle`](Self::settle).
    pub(super) fn live(&self) -> usize {
        self.live
    }

    /// Draws what has not been printed: the last rows of it.
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
        let mut next = next_live(doc, self.past);
        while let Some(item) = next {
            let rows = printed_rows(doc, item)..doc.height_of(item);
            shown.extend(rows.map(|row| Position { item, row }));
            next = next_live(doc, item + 1);
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
        let (mut count, mut next) = (0, next_live(doc, self.past));
        while let Some(at) = next {
            count += doc.height_of(at) - printed_rows(doc, at).min(doc.height_of(at));
            next = next_live(doc, at + 1);
        }
        count
    }

    /// What is printed next though it may not be over, so that so many rows less are left.
    fn early(&self, doc: &mut Document, rows: usize) -> Option<(usize, Part)> {
        let mut next = next_live(doc, self.past);
        while let Some(at) = next {
            match early_of(doc, at, rows) {
                Early::Part(part) => return Some((at, part)),
                Early::Passed => next = next_live(doc, at + 1),
                Early::Nothing => return None,
            }
        }
        None
    }
}

fn lay_out(doc: &mut Document, width: u16, look: &Look) {
    // What is printed has no images in it.
    doc.layouts.now = Some(look.now);
    doc.fit(width.max(1), &look.theme, None);
}

/// The first item from one on of which not everything has been printed.
fn next_live(doc: &Document, from: usize) -> Option<usize> {
    (from..doc.items.len()).find(|at| doc.items.get(*at).is_some_and(|item| !item.printed))
}

/// How many rows of an item have been printed.
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

/// How many rows the first blocks of a text take.
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

fn early_of(doc: &mut Document, at: usize, rows: usize) -> Early {
    let Some(item) = doc.items.get_mut(at) else { return Early::Nothing };
    if item.is_over() {
        return Early::Part(Part::All);
    }
    match &mut item.kind {
        Kind::Text(text) => {
            let before = text.printed();
            let ends = text.rendered().blocks(doc.layouts.width, &doc.layouts.theme).len();
            let printed = printed_rows(doc, at);
            let enough = |blocks: &usize| rows_of_blocks(doc, at, *blocks) - printed >= rows;
            match (before + 1..=ends).find(enough) {
                Some(blocks) => Early::Part(Part::Blocks(blocks)),
                None if ends > before => Early::Part(Part::Blocks(ends)),
                None => Early::Nothing,
            }
        }
        Kind::Call(call) if call.origin != Origin::Model => Early::Passed,
        Kind::Call(_) | Kind::Thinking(_) | Kind::User(_) | Kind::Note(_) | Kind::Page(_) => Early::Nothing,
    }
}

/// Prints an item, as far as it says.
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
