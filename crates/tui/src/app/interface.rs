//! The interface as the terminal loops use it, and its implementation for [`AppState`].

use std::time::Instant;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::Line;

use crate::draw_context::DrawContext;
use crate::image::ImagePlacement;
use crate::theme::{Appearance, Theme};

use super::inline::InlineOutput;
use super::view::inline_view;
use super::{AppState, Effect, LinearOutput, UiEvent, draw, start, update};

/// An interface that draws frames and turns events into effects.
pub trait UserInterface {
    /// Sets the appearance of the terminal's background: first the assumed one before [`start`](Self::start), and again
    /// when the terminal reports another one.
    fn set_appearance(&mut self, appearance: Appearance);

    /// Starts the interface and returns the first effects. The next event is the size of the terminal.
    fn start(&mut self, now: Instant) -> Vec<Effect>;

    /// Handles an event and returns its effects.
    fn update(&mut self, now: Instant, event: UiEvent) -> Vec<Effect>;

    /// Draws a frame and returns the position of a visible cursor.
    fn draw(&mut self, area: Rect, buffer: &mut Buffer, look: &DrawContext) -> Option<(u16, u16)>;

    /// Records that the terminal has shown the last frame.
    fn mark_drawn(&mut self, now: Instant);

    /// Records that the last frame is no longer on the screen.
    fn mark_hidden(&mut self);

    /// Returns the rows to print in inline mode and the number of rows to draw below them. Returns `None` if the whole
    /// screen is drawn.
    fn inline_output(&mut self, area: Rect, look: &DrawContext) -> Option<InlineOutput> {
        let (_, _) = (area, look);
        None
    }

    /// True if images are shown in terminals that support them.
    fn wants_images(&self) -> bool;

    /// Returns the placements of images in the last frame. An image is shown if its marks were not drawn over.
    fn images(&self) -> &[ImagePlacement];

    /// Returns the time of the next [`UiEvent::Tick`], or `None` if no tick is needed.
    fn wakes_at(&self, now: Instant) -> Option<Instant>;

    /// Returns the theme with all its colors.
    fn theme(&self) -> Theme;

    /// Returns the last rows of the transcript, at most `rows`, to print on exit.
    fn tail(&mut self, width: u16, rows: usize, look: &DrawContext) -> Vec<Line<'static>>;
}

/// An interface with a linear mode.
pub trait LinearInterface: UserInterface {
    /// Returns the rows to print since the last call, for a width.
    fn take_output(&mut self, now: Instant, width: u16) -> LinearOutput;

    /// Records that the terminal has printed the rows.
    fn mark_printed(&mut self, now: Instant);

    /// True if the typed text must not be shown.
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
        inline_view::next_inline_output(self, area, look)
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
            true => inline_view::unprinted_rows(self, width, look),
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
