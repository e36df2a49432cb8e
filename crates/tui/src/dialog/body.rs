//! The text of a dialog, its visible part, and the reading progress.
//!
//! The progress is counted in characters, not rows, so it holds at every width. Text counts as read once it was on
//! the screen, page after page from the first row. A person who jumps to the end has seen the end and is told the
//! number of unread rows.

mod layout;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::Line;

use super::Question;
use crate::clean::{CleanLine, span};
use crate::draw_context::DrawContext;
use crate::frame::{draw_line, row_area};
use crate::theme::{Role, Theme};

use layout::BodyLayout;
pub(super) use layout::GATE;

/// Columns for the number of further rows, when only one row is available.
const MARGIN: u16 = 7;

/// Below this width, the number of further rows uses the short form.
const SHORT: u16 = 32;

/// The rows of the text, and the visible part.
#[derive(Debug, Default)]
pub(super) struct DialogBody {
    laid: Option<BodyLayout>,
    /// The same layout, narrower because its only row also shows the number of further rows.
    narrow: Option<BodyLayout>,
    top: BodyScroll,
    shown: usize,
    drawn: Option<VisibleRange>,
    read: ReadProgress,
}

/// The first visible row, at a width.
#[derive(Debug, Clone, Copy, Default)]
struct BodyScroll {
    row: usize,
    /// Keeps the last row as the last visible one.
    ends: bool,
    width: u16,
    before: usize,
}

/// The visible part of a frame, in characters.
#[derive(Debug, Clone, Copy)]
struct VisibleRange {
    from: usize,
    upto: usize,
    total: usize,
    /// True if the end is visible, with the number of unread rows.
    ends: bool,
}

/// The part that was visible.
#[derive(Debug, Clone, Copy, Default)]
struct ReadProgress {
    upto: usize,
    all: bool,
    end: bool,
}

impl ReadProgress {
    fn is_complete(self) -> bool {
        self.all || self.end
    }

    /// Adds a visible part.
    fn with_visible(mut self, part: Option<VisibleRange>) -> Self {
        let Some(VisibleRange { from, upto, total, ends }) = part else { return self };
        if from <= self.upto {
            self.upto = self.upto.max(upto);
        }
        self.all |= self.upto >= total;
        self.end |= ends;
        self
    }
}

impl DialogBody {
    pub(super) fn row_count(&mut self, question: &Question, width: u16, theme: &Theme) -> usize {
        BodyLayout::get_or_build(&mut self.laid, question, width, theme).len()
    }

    pub(super) fn scroll_page(&mut self, on: bool) {
        let by = self.shown.max(1);
        let row = self.top.row;
        self.top.row = if on { row.saturating_add(by) } else { row.saturating_sub(by) };
        self.top.ends &= on;
    }

    pub(super) fn scroll_rows(&mut self, rows: isize) {
        self.top.row = self.top.row.saturating_add_signed(rows);
        self.top.ends &= rows > 0;
    }

    pub(super) fn jump_to_edge(&mut self, last: bool) {
        self.top = if last { BodyScroll { ends: true, ..self.top } } else { BodyScroll::default() };
    }

    pub(super) fn mark_drawn(&mut self) -> bool {
        let before = self.is_fully_read();
        self.read = self.read.with_visible(self.drawn.take());
        !before && self.is_fully_read()
    }

    pub(super) fn is_fully_read(&self) -> bool {
        self.read.is_complete()
    }

    /// Returns whether the end will have been seen after the last drawing, and the number of rows that will be
    /// unread.
    pub(super) fn progress_after_draw(&self) -> (bool, usize) {
        let read = self.read.with_visible(self.drawn);
        let unread = |laid: &BodyLayout| laid.len() - laid.rows_within(read.upto);
        let unread = self.laid.as_ref().filter(|_| !read.all).map_or(0, unread);
        (read.is_complete(), unread)
    }

    pub(super) fn draw(&mut self, question: &Question, area: Rect, buffer: &mut Buffer, look: &DrawContext) {
        self.drawn = None;
        if area.height == 0 {
            return;
        }
        let theme = &look.theme;
        let total = self.row_count(question, area.width, theme);
        if total <= usize::from(area.height) {
            self.top = BodyScroll::default();
            self.draw_part(false, area, buffer);
            return;
        }
        let style = theme.style(if question.grants { Role::Warning } else { Role::Muted });
        if area.height == 1 {
            let text = Rect { width: area.width.saturating_sub(MARGIN), ..area };
            BodyLayout::get_or_build(&mut self.narrow, question, text.width, theme);
            let below = self.draw_part(true, text, buffer);
            let words = if below > 0 { format!(" ↓{below}") } else { " ↑".to_owned() };
            let place = Rect { x: text.right(), width: area.width - text.width, ..area };
            draw_line(&Line::from(span(CleanLine::new(&words), style)), place, buffer);
            return;
        }
        let below = self.draw_part(false, Rect { height: area.height - 1, ..area }, buffer);
        let unread = if question.grants { self.progress_after_draw().1 } else { 0 };
        let words = CleanLine::new(&hidden_rows_label(below, unread, area.width < SHORT));
        draw_line(&Line::from(span(words, style)), row_area(area, area.height - 1), buffer);
    }

    fn draw_part(&mut self, narrow: bool, area: Rect, buffer: &mut Buffer) -> usize {
        let Some(laid) = (if narrow { &self.narrow } else { &self.laid }) else { return 0 };
        let height = usize::from(area.height);
        let last = laid.len().saturating_sub(height);
        // At another width, this is another row.
        if self.top.width != area.width && self.top.row != 0 {
            self.top.row = laid.rows_within(self.top.before);
        }
        let top = if self.top.ends { last } else { self.top.row.min(last) };
        self.top =
            BodyScroll { row: top, width: area.width, before: laid.characters_before(top), ..self.top };
        self.shown = height;
        for (y, line) in (0..area.height).zip(laid.rows_from(top)) {
            draw_line(line, row_area(area, y), buffer);
        }
        let below = last - top;
        let (from, upto) =
            (laid.characters_before(top), laid.characters_before((top + height).min(laid.len())));
        self.drawn =
            Some(VisibleRange { from, upto, total: laid.character_count(), ends: below == 0 && !narrow });
        below
    }
}

/// Formats the number of hidden rows: below, or above and never seen.
fn hidden_rows_label(below: usize, unread: usize, is_short: bool) -> String {
    let rows = |count: usize| if count == 1 { "1 more row".to_owned() } else { format!("{count} more rows") };
    match (below, unread, is_short) {
        (0, 0, false) => "… end of text (pageup)".to_owned(),
        (0, 0, true) => "… end (pageup)".to_owned(),
        (0, unread, false) => format!("… end; {unread} above not read (pageup)"),
        (0, unread, true) => format!("… {unread} not read (pageup)"),
        (more, 0, false) => format!("… {} (pagedown)", rows(more)),
        (more, _, false) => format!("… {} to read (pagedown)", rows(more)),
        (more, _, true) => format!("… {more} (pagedown)"),
    }
}
