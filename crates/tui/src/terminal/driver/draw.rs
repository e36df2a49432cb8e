//! Drawing, and the screen that is drawn on.

use std::time::Instant;

use ratatui_core::layout::Rect;

use super::super::paint::Drawn;
use super::super::{Below, out};
use super::{Driver, Gallery, Interface, Look, Modes, Program, TerminalError};

impl<I: Interface, P: Program> Driver<I, P> {
    pub(super) fn draw_if_due(&mut self) -> Result<(), TerminalError> {
        let now = Instant::now();
        if self.input.is_paused() || now < self.draws_from || !self.pace.is_due(now) {
            return Ok(());
        }
        let look = self.look();
        let area = Rect::new(0, 0, self.cells.0, self.cells.1);
        let text = match self.strip.is_some().then(|| self.interface.below(area, &look)).flatten() {
            Some(below) => self.below(&below, &look)?,
            None => self.whole(area, &look)?,
        };
        if !text.is_empty() {
            out::write(&text).map_err(TerminalError::Write)?;
        }
        let now = Instant::now();
        self.interface.was_drawn(now);
        self.pace.drawn(now);
        Ok(())
    }

    /// A screen for itself.
    fn whole(&mut self, area: Rect, look: &Look) -> Result<String, TerminalError> {
        self.turn(true)?;
        let Self { painter, interface, gallery, .. } = self;
        Ok(painter.frame_of(area, |area, buffer| {
            let cursor = interface.draw(area, buffer, look);
            let images = gallery.as_mut().map(|gallery| gallery.hang(interface.images(), buffer));
            Drawn { cursor, images: images.unwrap_or_default() }
        }))
    }

    fn below(&mut self, below: &Below, look: &Look) -> Result<String, TerminalError> {
        self.turn(false)?;
        let (columns, depth) = (self.cells.0, self.depth);
        let Self { strip, interface, .. } = self;
        let Some(strip) = strip else { return Ok(String::new()) };
        let size = (columns, below.height);
        Ok(strip.frame(size, &below.printed, depth, |area, buffer| interface.draw(area, buffer, look)))
    }

    /// Goes to a screen of its own, or back to the terminal's.
    fn turn(&mut self, alternate: bool) -> Result<(), TerminalError> {
        let modes = Modes { alternate, ..self.guard.modes() };
        if modes == self.guard.modes() {
            return Ok(());
        }
        self.painter.forget();
        if let Some(strip) = &mut self.strip {
            strip.again();
        }
        self.guard.turn(modes)
    }

    /// Writes the whole screen once more.
    pub(super) fn redraw(&mut self) {
        self.painter.forget();
        if let Some(strip) = &mut self.strip {
            strip.again();
        }
        self.is_hidden();
    }

    pub(super) fn forget(&mut self) {
        self.painter.forget();
        if let Some(strip) = &mut self.strip {
            strip.forget();
        }
        self.is_hidden();
    }

    /// Nothing that is asked counts as seen until it is drawn again, which is now.
    fn is_hidden(&mut self) {
        self.interface.was_hidden();
        self.pace.touched(Instant::now());
    }

    pub(super) fn look(&mut self) -> Look {
        let chosen = self.interface.theme();
        let theme = match self.theme.take() {
            Some((known, reduced)) if known.is_same(&chosen) => reduced,
            _ => chosen.reduced(self.depth),
        };
        self.theme = Some((chosen, theme.clone()));
        let images =
            self.gallery.as_ref().filter(|_| self.interface.wants_images()).and_then(Gallery::images);
        Look { theme, now: Instant::now(), images }
    }

    /// Gives the terminal away, without any of haft's images in it, nor what was drawn below what was printed.
    pub(super) fn give_back(&mut self) {
        // A terminal that is gone keeps none.
        let _ = out::write(&self.painter.farewell());
        if self.strip.is_some() {
            let _ = self.turn(false);
        }
        if let Some(strip) = &mut self.strip {
            let _ = out::write(&strip.farewell());
        }
        self.guard.give_back();
    }
}
