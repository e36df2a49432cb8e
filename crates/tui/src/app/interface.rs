//! The state, as the loop of the terminal takes it.

use std::time::Instant;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::Line;

use crate::image::Placement;
use crate::look::Look;
use crate::terminal::{Below, Interface, Printing};
use crate::theme::{Appearance, Theme};

use super::{Effect, Event, Printed, State, draw, start, update};

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

    fn draw(&mut self, area: Rect, buffer: &mut Buffer, look: &Look) -> Option<(u16, u16)> {
        draw(self, area, buffer, look)
    }

    fn was_drawn(&mut self, now: Instant) {
        State::was_drawn(self, now);
    }

    fn was_hidden(&mut self) {
        State::was_hidden(self);
    }

    fn below(&mut self, area: Rect, look: &Look) -> Option<Below> {
        State::below(self, area, look)
    }

    fn wants_images(&self) -> bool {
        self.settings.images()
    }

    fn images(&self) -> &[Placement] {
        self.conversation.transcript().images()
    }

    fn wakes_at(&self, now: Instant) -> Option<Instant> {
        State::wakes_at(self, now)
    }

    fn theme(&self) -> Theme {
        State::theme(self).clone()
    }

    fn tail(&mut self, width: u16, rows: usize, look: &Look) -> Vec<Line<'static>> {
        match self.inline.is_on() {
            true => self.rest(width, look),
            false => self.conversation.transcript_mut().tail(width, rows, &look.theme),
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
