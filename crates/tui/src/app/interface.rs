//! `UserInterface`: all that the loops of the terminal know of an interface, and the state as one.

use std::time::Instant;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::Line;

use crate::image::ImagePlacement;
use crate::look::DrawContext;
use crate::theme::{Appearance, Theme};

use super::inline::InlineOutput;
use super::view::below;
use super::{AppState, Effect, LinearOutput, UiEvent, draw, start, update};

/// An interface: its output, and the effects of events.
pub trait UserInterface {
    /// The terminal's background is known: told before [`start`](Self::start) what is assumed, and again when the terminal
    /// says otherwise.
    fn set_appearance(&mut self, appearance: Appearance);

    /// It begins. The size of the terminal is the next event.
    fn start(&mut self, now: Instant) -> Vec<Effect>;

    /// Something happens.
    fn update(&mut self, now: Instant, event: UiEvent) -> Vec<Effect>;

    /// Draws everything, and says where the cursor is seen.
    fn draw(&mut self, area: Rect, buffer: &mut Buffer, look: &DrawContext) -> Option<(u16, u16)>;

    /// The terminal has taken all of what was drawn last.
    fn mark_drawn(&mut self, now: Instant);

    /// Nothing of what was drawn is on the screen any more, until it is drawn again.
    fn mark_hidden(&mut self);

    /// Where the terminal's own screen is used: what is printed on it and stays, and how many rows are drawn below that.
    /// None: all of a screen is drawn.
    fn inline_output(&mut self, area: Rect, look: &DrawContext) -> Option<InlineOutput> {
        let (_, _) = (area, look);
        None
    }

    /// True if images are shown where the terminal can.
    fn wants_images(&self) -> bool;

    /// Where images shall be in what was drawn last. They are shown where nothing was drawn over their marks.
    fn images(&self) -> &[ImagePlacement];

    /// When [`Event::Tick`] shall come next, if it shall.
    fn wakes_at(&self, now: Instant) -> Option<Instant>;

    /// The theme, with all of its colours.
    fn theme(&self) -> Theme;

    /// The end of the transcript, at most so many rows, for the screen that is left.
    fn tail(&mut self, width: u16, rows: usize, look: &DrawContext) -> Vec<Line<'static>>;
}

/// An interface whose news can be printed.
pub trait LinearInterface: UserInterface {
    /// Returns the rows to print since the last call, for a width.
    fn take_output(&mut self, now: Instant, width: u16) -> LinearOutput;

    /// Notes that these rows are on the terminal.
    fn mark_printed(&mut self, now: Instant);

    /// True if nobody may see what is typed next.
    fn hides_input(&self) -> bool;
}

impl UserInterface for AppState {
    fn set_appearance(&mut self, appearance: Appearance) {
        self.themes.set_appearance(appearance);
    }

    fn start(&mut self, now: Instant) -> Vec<Effect> {
        self.now = now;
        start(self)
    }

    fn update(&mut self, now: Instant, event: UiEvent) -> Vec<Effect> {
        update(self, now, event)
    }

    fn draw(&mut self, area: Rect, buffer: &mut Buffer, look: &DrawContext) -> Option<(u16, u16)> {
        draw(self, area, buffer, look)
    }

    fn mark_drawn(&mut self, now: Instant) {
        AppState::mark_drawn(self, now);
    }

    fn mark_hidden(&mut self) {
        AppState::mark_hidden(self);
    }

    fn inline_output(&mut self, area: Rect, look: &DrawContext) -> Option<InlineOutput> {
        below::next_inline_output(self, area, look)
    }

    fn wants_images(&self) -> bool {
        self.settings.shows_images()
    }

    fn images(&self) -> &[ImagePlacement] {
        self.stack.conversation.transcript().image_placements()
    }

    fn wakes_at(&self, now: Instant) -> Option<Instant> {
        AppState::wakes_at(self, now)
    }

    fn theme(&self) -> Theme {
        AppState::theme(self).clone()
    }

    fn tail(&mut self, width: u16, rows: usize, look: &DrawContext) -> Vec<Line<'static>> {
        match self.inline.is_on() {
            true => below::unprinted_rows(self, width, look),
            false => self.stack.conversation.transcript_mut().last_rows(width, rows, &look.theme),
        }
    }
}

impl LinearInterface for AppState {
    fn take_output(&mut self, now: Instant, width: u16) -> LinearOutput {
        AppState::take_linear_output(self, now, width)
    }

    fn mark_printed(&mut self, now: Instant) {
        AppState::mark_printed(self, now);
    }

    fn hides_input(&self) -> bool {
        AppState::hides_input(self)
    }
}
