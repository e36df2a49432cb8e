//! `Interface`: all that the loops of the terminal know of an interface, and the state as one.

use std::time::Instant;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::Line;

use crate::image::ImagePlacement;
use crate::look::DrawContext;
use crate::theme::{Appearance, Theme};

use super::inline::Below;
use super::view::below;
use super::{Effect, Event, Printed, State, draw, start, update};

/// An interface: its output, and the effects of events.
pub trait Interface {
    /// The terminal's background is known: told before [`start`](Self::start) what is assumed, and again when the terminal
    /// says otherwise.
    fn appearance(&mut self, appearance: Appearance);

    /// It begins. The size of the terminal is the next event.
    fn start(&mut self, now: Instant) -> Vec<Effect>;

    /// Something happens.
    fn update(&mut self, now: Instant, event: Event) -> Vec<Effect>;

    /// Draws everything, and says where the cursor is seen.
    fn draw(&mut self, area: Rect, buffer: &mut Buffer, look: &DrawContext) -> Option<(u16, u16)>;

    /// The terminal has taken all of what was drawn last.
    fn was_drawn(&mut self, now: Instant);

    /// Nothing of what was drawn is on the screen any more, until it is drawn again.
    fn was_hidden(&mut self);

    /// Where the terminal's own screen is used: what is printed on it and stays, and how many rows are drawn below that.
    /// None: all of a screen is drawn.
    fn below(&mut self, area: Rect, look: &DrawContext) -> Option<Below> {
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
pub trait Printing: Interface {
    /// Returns the rows to print since the last call, for a width.
    fn print(&mut self, now: Instant, width: u16) -> Printed;

    /// Notes that these rows are on the terminal.
    fn was_printed(&mut self, now: Instant);

    /// True if nobody may see what is typed next.
    fn hides_input(&self) -> bool;
}

impl Interface for State {
    fn appearance(&mut self, appearance: Appearance) {
        self.themes.set_appearance(appearance);
    }

    fn start(&mut self, now: Instant) -> Vec<Effect> {
        self.now = now;
        start(self)
    }

    fn update(&mut self, now: Instant, event: Event) -> Vec<Effect> {
        update(self, now, event)
    }

    fn draw(&mut self, area: Rect, buffer: &mut Buffer, look: &DrawContext) -> Option<(u16, u16)> {
        draw(self, area, buffer, look)
    }

    fn was_drawn(&mut self, now: Instant) {
        State::was_drawn(self, now);
    }

    fn was_hidden(&mut self) {
        State::was_hidden(self);
    }

    fn below(&mut self, area: Rect, look: &DrawContext) -> Option<Below> {
        below::below(self, area, look)
    }

    fn wants_images(&self) -> bool {
        self.settings.images()
    }

    fn images(&self) -> &[ImagePlacement] {
        self.stack.conversation.transcript().image_placements()
    }

    fn wakes_at(&self, now: Instant) -> Option<Instant> {
        State::wakes_at(self, now)
    }

    fn theme(&self) -> Theme {
        State::theme(self).clone()
    }

    fn tail(&mut self, width: u16, rows: usize, look: &DrawContext) -> Vec<Line<'static>> {
        match self.inline.is_on() {
            true => below::rest(self, width, look),
            false => self.stack.conversation.transcript_mut().last_rows(width, rows, &look.theme),
        }
    }
}

impl Printing for State {
    fn print(&mut self, now: Instant, width: u16) -> Printed {
        State::print(self, now, width)
    }

    fn was_printed(&mut self, now: Instant) {
        State::was_printed(self, now);
    }

    fn hides_input(&self) -> bool {
        State::hides_input(self)
    }
}
