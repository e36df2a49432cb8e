//! Drawing, and the switch between screens.

use std::time::Instant;

use ratatui_core::layout::Rect;

use super::super::paint::FrameParts;
use super::super::{InlineOutput, stdout};
use super::{
    DrawContext, ImageCache, ProgramServices, TerminalDriver, TerminalError, TerminalModes, UserInterface,
};

impl<I: UserInterface, P: ProgramServices> TerminalDriver<I, P> {
    pub(super) fn draw_if_due(&mut self) -> Result<(), TerminalError> {
        let now = Instant::now();
        if self.input.is_paused() || now < self.draws_from || !self.frame_limiter.is_due(now) {
            return Ok(());
        }
        let look = self.draw_context();
        let area = Rect::new(0, 0, self.cells.0, self.cells.1);
        let text = match self.viewport.is_some().then(|| self.interface.inline_output(area, &look)).flatten()
        {
            Some(below) => self.render_inline(&below, &look)?,
            None => self.render_fullscreen(area, &look)?,
        };
        if !text.is_empty() {
            stdout::write(&text).map_err(TerminalError::Write)?;
        }
        let now = Instant::now();
        self.interface.mark_drawn(now);
        self.frame_limiter.finish_frame(now);
        Ok(())
    }

    /// Draws the full-screen mode.
    fn render_fullscreen(&mut self, area: Rect, look: &DrawContext) -> Result<String, TerminalError> {
        self.set_alternate_screen(true)?;
        let Self { painter, interface, image_cache: gallery, .. } = self;
        Ok(painter.render_frame_with(area, |area, buffer| {
            let cursor = interface.draw(area, buffer, look);
            let images = gallery.as_mut().map(|gallery| gallery.place_images(interface.images(), buffer));
            FrameParts { cursor, images: images.unwrap_or_default() }
        }))
    }

    fn render_inline(&mut self, below: &InlineOutput, look: &DrawContext) -> Result<String, TerminalError> {
        self.set_alternate_screen(false)?;
        let (columns, depth) = (self.cells.0, self.depth);
        let Self { viewport: strip, interface, .. } = self;
        let Some(strip) = strip else { return Ok(String::new()) };
        let size = (columns, below.height);
        Ok(strip.render_frame(size, &below.printed, depth, |area, buffer| interface.draw(area, buffer, look)))
    }

    /// Switches to the alternate screen or back.
    fn set_alternate_screen(&mut self, alternate: bool) -> Result<(), TerminalError> {
        let modes = TerminalModes { alternate, ..self.guard.modes() };
        if modes == self.guard.modes() {
            return Ok(());
        }
        self.painter.forget_screen();
        if let Some(strip) = &mut self.viewport {
            strip.force_redraw();
        }
        self.guard.switch_modes(modes)
    }

    /// Redraws the whole screen.
    pub(super) fn redraw(&mut self) {
        self.painter.forget_screen();
        if let Some(strip) = &mut self.viewport {
            strip.force_redraw();
        }
        self.notify_hidden();
    }

    pub(super) fn forget_screen(&mut self) {
        self.painter.forget_screen();
        if let Some(strip) = &mut self.viewport {
            strip.forget_screen();
        }
        self.notify_hidden();
    }

    /// Marks open questions as not visible until the next drawing, which follows.
    fn notify_hidden(&mut self) {
        self.interface.mark_hidden();
        self.frame_limiter.request_frame_now(Instant::now());
    }

    pub(super) fn draw_context(&mut self) -> DrawContext {
        let chosen = self.interface.theme();
        let theme = match self.theme.take() {
            Some((known, reduced)) if known.is_same(&chosen) => reduced,
            _ => chosen.with_color_depth(self.depth),
        };
        self.theme = Some((chosen, theme.clone()));
        let images = self
            .image_cache
            .as_ref()
            .filter(|_| self.interface.wants_images())
            .and_then(ImageCache::image_display);
        DrawContext { theme, now: Instant::now(), images }
    }

    /// Releases the terminal. Removes haft's images and the rows below the printed output.
    pub(super) fn release_terminal(&mut self) {
        // A terminal that is gone keeps no images.
        let _ = stdout::write(&self.painter.clear_images());
        if self.viewport.is_some() {
            let _ = self.set_alternate_screen(false);
        }
        if let Some(strip) = &mut self.viewport {
            let _ = stdout::write(&strip.clear_viewport());
        }
        self.guard.give_back();
    }
}
