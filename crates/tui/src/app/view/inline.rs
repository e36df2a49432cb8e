//! How it looks on the terminal's own screen: what is over is printed, the rest stands below it.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;
use ratatui_core::text::Line;

use crate::clean::{CleanLine, span};
use crate::look::Look;
use crate::terminal::Below;
use crate::theme::Role;

use super::super::state::State;
use super::{layout, welcome};

/// What of the conversation goes on.
pub(super) fn live(state: &mut State, area: Rect, buffer: &mut Buffer, look: &Look) -> Option<(u16, u16)> {
    state.conversation.transcript_mut().draw_live(area, buffer, look);
    None
}

impl State {
    /// What is printed next on the terminal's own screen, and how many rows are drawn below that. None where all of a
    /// screen is drawn: that is how lists, pages, panels and the transcript are shown while they are open.
    pub fn below(&mut self, screen: Rect, look: &Look) -> Option<Below> {
        if !self.is_below() {
            return None;
        }
        let wanted = layout::wanted_below(self, screen, look).rows();
        let room = screen.height.saturating_sub(wanted);
        let mut printed = Vec::new();
        // What is shown before the conversation is known is not a part of it.
        if !self.conversation.is_read() {
            printed.extend(self.heading(screen.width, look));
            printed.extend(self.conversation.transcript_mut().settle(screen.width, usize::from(room), look));
        }
        let live = u16::try_from(self.conversation.transcript().live()).unwrap_or(u16::MAX).min(room);
        Some(Below { printed, height: (wanted + live).min(screen.height).max(1) })
    }

    /// All that has not been printed, as it is now.
    pub(in crate::app) fn rest(&mut self, width: u16, look: &Look) -> Vec<Line<'static>> {
        let mut rows = self.heading(width, look);
        rows.extend(self.conversation.transcript_mut().settle_all(width, look));
        rows
    }

    /// What is printed before the conversation: the rest of the one before it, and what this one is.
    fn heading(&mut self, width: u16, look: &Look) -> Vec<Line<'static>> {
        let mut rows = std::mem::take(&mut self.inline.left);
        if !self.inline.greeted && self.out.session().is_some() {
            self.inline.greeted = true;
            rows.extend(welcome::rows(self, width, look));
            rows.push(Line::default());
        }
        if let Some(is) = self.inline.begins.take() {
            rows.extend([Line::default(), rule(&is, width, look), Line::default()]);
        }
        rows
    }
}

/// `── the words ──────`
fn rule(words: &str, width: u16, look: &Look) -> Line<'static> {
    let width = usize::from(width);
    let words = CleanLine::new(words).shortened(width.saturating_sub(6));
    let rest = width.saturating_sub(words.columns() + 4);
    let border = look.theme.style(Role::Border);
    Line::from_iter([
        span("── ", border),
        span(words, look.theme.style(Role::Muted)),
        span(" ", Style::new()),
        span(CleanLine::repeated('─', rest), border),
    ])
}
