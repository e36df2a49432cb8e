//! The conversation where what is over is printed once, and only what goes on is drawn: for the terminal's own screen.
//!
//! An item is over when nothing can change it any more. Items are printed in their order, so that one that is over waits
//! for those before it. Only what would not fit between what was printed and what stands below is printed earlier: texts
//! of an answer that an extension may still replace, a finished block of them after the other. Where one of those is
//! replaced after that, it is printed once more, as it is in the end.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;
use ratatui_core::text::Line;

use super::Transcript;
use super::call::Origin;
use super::item::{Item, Kind};
use super::row::Shown;
use super::view::Position;
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

impl Transcript {
    /// The rows that are printed from now on, each of them once: all that is over, and as much of the rest as has to be so
    /// that what is left has at most so many rows.
    pub fn settle(&mut self, width: u16, room: usize, look: &Look) -> Vec<Line<'static>> {
        self.lay_out(width, look);
        let mut rows = self.skip_old();
        while let Some(at) = self.next_live(self.settled.past) {
            if self.answer.has(at) || !self.items.get(at).is_some_and(Item::is_over) {
                break;
            }
            self.print(at, Part::All, &mut rows);
            self.settled.past = at + 1;
        }
        self.settled.live = self.count_live();
        while self.settled.live > room {
            let Some((at, part)) = self.early(self.settled.live - room) else { break };
            self.print(at, part, &mut rows);
            self.settled.live = self.count_live();
        }
        let forgotten = self.layouts.keep_only(self.settled.past..=usize::MAX);
        self.compress(forgotten);
        rows
    }

    /// All that has not been printed, as it is now.
    pub fn settle_all(&mut self, width: u16, look: &Look) -> Vec<Line<'static>> {
        self.lay_out(width, look);
        let mut rows = self.skip_old();
        while let Some(at) = self.next_live(self.settled.past) {
            self.print(at, Part::All, &mut rows);
            self.settled.past = at + 1;
        }
        self.settled.live = 0;
        rows
    }

    /// How many rows are left after [`settle`](Self::settle).
    pub fn live(&self) -> usize {
        self.settled.live
    }

    /// Draws what has not been printed: the last rows of it.
    pub fn draw_live(&mut self, area: Rect, buffer: &mut Buffer, look: &Look) {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return;
        }
        self.lay_out(area.width, look);
        let mut shown = Vec::new();
        let mut next = self.next_live(self.settled.past);
        while let Some(item) = next {
            let rows = self.printed_rows(item)..self.height_of(item);
            shown.extend(rows.map(|row| Position { item, row }));
            next = self.next_live(item + 1);
        }
        shown.drain(..shown.len().saturating_sub(usize::from(area.height)));
        for (y, at) in (area.y..).zip(&shown) {
            self.paint_row(*at, Rect { y, height: 1, ..area }, buffer, look);
        }
        self.view.shown = shown;
        self.view.placements.clear();
    }

    fn lay_out(&mut self, width: u16, look: &Look) {
        // What is printed has no images in it.
        let look = Look { images: None, theme: look.theme.clone(), now: look.now };
        if !self.layouts.fit(width.max(1), &look, 0) {
            let forgotten = self.layouts.forget_from(0);
            self.compress(forgotten);
        }
    }

    /// Of a long conversation that goes on, only the last items are printed.
    fn skip_old(&mut self) -> Vec<Line<'static>> {
        let skipped = self.items.len().saturating_sub(MOST_AT_ONCE);
        if std::mem::replace(&mut self.settled.began, !self.items.is_empty()) || skipped == 0 {
            return Vec::new();
        }
        self.items.iter_mut().take(skipped).for_each(|item| item.printed = true);
        self.settled.past = skipped;
        let text = format!("… {skipped} entries before this · ctrl+o shows them");
        vec![Line::from(span(CleanLine::new(&text), self.layouts.theme.style(Role::Muted)))]
    }

    /// The first item from one on of which not everything has been printed.
    fn next_live(&self, from: usize) -> Option<usize> {
        (from..self.items.len()).find(|at| self.items.get(*at).is_some_and(|item| !item.printed))
    }

    /// How many rows of an item have been printed.
    fn printed_rows(&mut self, at: usize) -> usize {
        let Some(item) = self.items.get_mut(at) else { return 0 };
        if item.printed {
            return self.height_of(at);
        }
        match item.words().map_or(0, |text| text.printed()) {
            0 => 0,
            blocks => self.rows_of_blocks(at, blocks),
        }
    }

    /// How many rows the first blocks of a text take.
    fn rows_of_blocks(&mut self, at: usize, blocks: usize) -> usize {
        let (own, height) = (self.gap_rows(at), self.height_of(at));
        let Self { items, layouts, .. } = self;
        let ends =
            items.get_mut(at).and_then(Item::words).map(|text| text.blocks(layouts.width, &layouts.theme));
        let lines = ends.and_then(|ends| ends.get(blocks.checked_sub(1)?).copied());
        lines.map_or(0, |lines| (own + lines).min(height))
    }

    fn count_live(&mut self) -> usize {
        let (mut count, mut next) = (0, self.next_live(self.settled.past));
        while let Some(at) = next {
            count += self.height_of(at) - self.printed_rows(at).min(self.height_of(at));
            next = self.next_live(at + 1);
        }
        count
    }

    /// What is printed next though it may not be over, so that so many rows less are left.
    fn early(&mut self, rows: usize) -> Option<(usize, Part)> {
        let mut next = self.next_live(self.settled.past);
        while let Some(at) = next {
            match self.early_of(at, rows) {
                Early::Part(part) => return Some((at, part)),
                Early::Passed => next = self.next_live(at + 1),
                Early::Nothing => return None,
            }
        }
        None
    }

    fn early_of(&mut self, at: usize, rows: usize) -> Early {
        let Some(item) = self.items.get_mut(at) else { return Early::Nothing };
        if item.is_over() {
            return Early::Part(Part::All);
        }
        match &mut item.kind {
            Kind::Text(text) => {
                let before = text.printed();
                let ends = text.blocks(self.layouts.width, &self.layouts.theme).len();
                let printed = self.printed_rows(at);
                let enough = |blocks: &usize| self.rows_of_blocks(at, *blocks) - printed >= rows;
                match (before + 1..=ends).find(enough) {
                    Some(blocks) => Early::Part(Part::Blocks(blocks)),
                    None if ends > before => Early::Part(Part::Blocks(ends)),
                    None => Early::Nothing,
                }
            }
            Kind::Call(call) if call.origin != Origin::Model => Early::Passed,
            Kind::Call(_) | Kind::Thinking(_) | Kind::User(_) | Kind::Note(_) | Kind::Page(_) => {
                Early::Nothing
            }
        }
    }

    /// Prints an item, as far as it says.
    fn print(&mut self, at: usize, part: Part, rows: &mut Vec<Line<'static>>) {
        let from = self.printed_rows(at);
        if let Some(item) = self.items.get_mut(at) {
            let blocks = if let Part::Blocks(blocks) = part { blocks } else { 0 };
            item.printed = part == Part::All;
            if let Some(text) = item.words() {
                text.set_printed(blocks);
            }
        }
        let to = self.printed_rows(at);
        let laid_out = self.rows(at);
        rows.extend((from..to).filter_map(|row| laid_out.get(row)).map(whole));
    }
}

/// A row as one line.
pub(super) fn whole(row: Shown<'_>) -> Line<'static> {
    let blank = CleanLine::repeated(' ', usize::from(row.indent));
    let mut line = Line::from(vec![span(blank, Style::new())]);
    line.spans.extend(row.line.spans.iter().cloned());
    if row.indent == 0 {
        line.spans.remove(0);
    }
    if let Some(over) = row.over {
        line = line.patch_style(over);
        line.spans.iter_mut().for_each(|span| span.style = span.style.patch(over));
    }
    if let Some(ground) = row.ground {
        line = line.patch_style(ground);
    }
    line
}
