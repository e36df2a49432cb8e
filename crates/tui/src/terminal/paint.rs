//! `ScreenPainter`: renders a picture to the bytes that make the terminal show it.
//!
//! It knows the content of the screen and writes the differences. A frame is one synchronized update, so no partial
//! frame is visible. It needs no terminal: the output is text.

use std::fmt::Write as _;

use ratatui_core::buffer::{Buffer, Cell, CellWidth as _};
use ratatui_core::layout::{Position, Rect};

use super::images::{ImageLayer, PlacedImage};
use super::sgr::CellStyle;

/// The beginning of a frame. Nothing is shown before its end.
pub(super) const BEGIN: &str = "\x1b[?2026h";
pub(super) const END: &str = "\x1b[?2026l";
pub(super) const HIDE: &str = "\x1b[?25l";
pub(super) const SHOW: &str = "\x1b[?25h";

/// Renders pictures to terminal output.
#[derive(Debug, Default)]
pub struct ScreenPainter {
    /// The content of the screen. `None` if unknown.
    shown: Option<Buffer>,
    /// The buffer for the next picture, reused for its memory.
    next: Buffer,
    cursor: Option<Position>,
    image_layer: ImageLayer,
}

/// The parts of a frame beside its cells.
#[derive(Debug, Default)]
pub(super) struct FrameParts {
    pub(super) cursor: Option<(u16, u16)>,
    pub(super) images: Vec<PlacedImage>,
}

impl From<Option<(u16, u16)>> for FrameParts {
    fn from(cursor: Option<(u16, u16)>) -> Self {
        Self { cursor, images: Vec::new() }
    }
}

impl ScreenPainter {
    /// Forgets the content of the screen, so the next frame draws everything.
    pub fn forget_screen(&mut self) {
        self.shown = None;
    }

    /// Returns the text that removes all images, before the terminal is released.
    pub(super) fn clear_images(&mut self) -> String {
        self.image_layer.forget_images()
    }

    /// Returns the text that updates the screen; empty if nothing has changed.
    pub fn render_frame(
        &mut self,
        area: Rect,
        draw: impl FnOnce(Rect, &mut Buffer) -> Option<(u16, u16)>,
    ) -> String {
        self.render_frame_with(area, draw)
    }

    pub(super) fn render_frame_with<D: Into<FrameParts>>(
        &mut self,
        area: Rect,
        draw: impl FnOnce(Rect, &mut Buffer) -> D,
    ) -> String {
        self.next.resize(area);
        self.next.reset();
        let inside = |position: &Position| area.contains(*position);
        let FrameParts { cursor, images } = draw(area, &mut self.next).into();
        let cursor = cursor.map(Position::from).filter(inside);
        let mut out = String::new();
        let redraw_all = self.shown.as_ref().is_none_or(|shown| shown.area != area);
        if redraw_all {
            self.shown = None;
            self.cursor = None;
            out.push_str(&self.image_layer.forget_images());
            out.push_str("\x1b[0m\x1b[2J");
        }
        let shown = self.shown.get_or_insert_with(|| Buffer::empty(area));
        out.push_str(&self.image_layer.remove_missing(&images, shown));
        let diff = || shown.diff_iter(&self.next);
        let below = diff().filter(|(x, y, _)| self.image_layer.covers_cell(*x, *y)).map(|(x, y, _)| (x, y));
        let below: Vec<_> = below.collect();
        push_cells(&mut out, diff(), push_position);
        self.image_layer.forget_overwritten(&below);
        out.push_str(&self.image_layer.show_images(images));
        if !out.is_empty() || cursor != self.cursor {
            out = self.wrap_frame(&out, cursor, redraw_all);
        }
        if let Some(shown) = &mut self.shown {
            std::mem::swap(shown, &mut self.next);
        }
        self.cursor = cursor;
        out
    }

    fn wrap_frame(&self, cells: &str, cursor: Option<Position>, redraw_all: bool) -> String {
        let hide = if self.cursor.is_some() || redraw_all { HIDE } else { "" };
        let mut out = format!("{BEGIN}{hide}{cells}");
        if let Some(position) = cursor {
            push_position(&mut out, position);
            out.push_str(SHOW);
        }
        out.push_str(END);
        out
    }
}

/// Adds the output for these cells, ordered from left to right and top to bottom.
pub(super) fn push_cells<'a>(
    out: &mut String,
    cells: impl Iterator<Item = (u16, u16, &'a Cell)>,
    mut go: impl FnMut(&mut String, Position),
) {
    let mut pen = None;
    // The position where the terminal writes next, if it is certain.
    let mut at = None;
    for (x, y, cell) in cells {
        let position = Position { x, y };
        if at != Some(position) {
            go(out, position);
        }
        let wanted = CellStyle { fg: cell.fg, bg: cell.bg, modifier: cell.modifier };
        if pen != Some(wanted) {
            wanted.push_to(out);
            pen = Some(wanted);
        }
        let symbol = safe_symbol(cell.symbol());
        out.push_str(symbol);
        // Terminals disagree on the width of graphemes of several characters and of some wide characters.
        let sure = symbol.is_ascii() || (symbol.chars().count() == 1 && symbol_width(symbol) == 1);
        at = sure.then_some(Position { x: x + 1, y });
    }
    if pen.is_some_and(|pen| pen != CellStyle::default()) {
        out.push_str("\x1b[0m");
    }
}

/// Replaces a symbol that contains control characters. This is the last defense: symbols are already sanitized.
pub(super) fn safe_symbol(symbol: &str) -> &str {
    if symbol.is_empty() || symbol.chars().any(char::is_control) { " " } else { symbol }
}

pub(super) fn symbol_width(symbol: &str) -> u16 {
    symbol.cell_width()
}

fn push_position(out: &mut String, Position { x, y }: Position) {
    let _ = write!(out, "\x1b[{};{}H", y + 1, x + 1);
}

#[cfg(test)]
mod tests {
    use ratatui_core::style::{Color, Style};

    use super::*;
    use crate::clean::span;

    fn area() -> Rect {
        Rect::new(0, 0, 12, 2)
    }

    fn write(x: u16, text: &str, style: Style) -> impl FnOnce(Rect, &mut Buffer) -> Option<(u16, u16)> {
        let line = span(crate::clean::CleanLine::new(text), style);
        move |_, buffer| {
            buffer.set_span(x, 0, &line, 12);
            Some((x, 1))
        }
    }

    #[test]
    fn writes_only_differences() {
        let mut painter = ScreenPainter::default();
        let first = painter.render_frame(area(), write(0, "hello", Style::new()));
        assert_eq!(
            first,
            "\x1b[?2026h\x1b[?25l\x1b[0m\x1b[2J\x1b[1;1H\x1b[0mhello\x1b[2;1H\x1b[?25h\x1b[?2026l"
        );
        assert_eq!(painter.render_frame(area(), write(0, "hello", Style::new())), "");
        let red = painter.render_frame(area(), write(0, "help!", Style::new().fg(Color::Red)));
        assert!(red.contains("\x1b[1;1H\x1b[0;31mhelp!\x1b[0m"), "{red:?}");
        let one = painter.render_frame(area(), write(0, "helps", Style::new().fg(Color::Red)));
        assert!(one.contains("\x1b[1;5H\x1b[0;31ms\x1b[0m\x1b[2;1H"), "{one:?}");
        painter.forget_screen();
        assert!(painter.render_frame(area(), write(0, "helps", Style::new())).contains("\x1b[2J"));
    }

    #[test]
    fn moves_and_hides_cursor() {
        let mut painter = ScreenPainter::default();
        painter.render_frame(area(), |_, _| Some((1, 1)));
        assert_eq!(
            painter.render_frame(area(), |_, _| Some((3, 0))),
            "\x1b[?2026h\x1b[?25l\x1b[1;4H\x1b[?25h\x1b[?2026l"
        );
        assert_eq!(painter.render_frame(area(), |_, _| None), "\x1b[?2026h\x1b[?25l\x1b[?2026l");
        assert_eq!(painter.render_frame(area(), |_, _| Some((99, 0))), "");
    }

    #[test]
    fn resize_redraws_everything() {
        let mut painter = ScreenPainter::default();
        painter.render_frame(area(), write(0, "hello", Style::new()));
        let wide = painter.render_frame(Rect::new(0, 0, 20, 3), write(0, "hello", Style::new()));
        assert!(wide.contains("\x1b[2J") && wide.contains("hello"), "{wide:?}");
    }

    #[test]
    fn repositions_cursor_after_ambiguous_width() {
        let mut painter = ScreenPainter::default();
        painter.render_frame(area(), |_, _| None);
        let out = painter.render_frame(area(), write(0, "a日b│c", Style::new()));
        assert!(out.contains("a日\x1b[1;4Hb│c"), "{out:?}");
    }

    #[test]
    fn removes_control_characters() {
        let mut painter = ScreenPainter::default();
        painter.render_frame(area(), |_, _| None);
        let out = painter.render_frame(area(), |_, buffer| {
            if let Some(cell) = buffer.cell_mut((0, 0)) {
                cell.set_symbol("\x1b]0;x\x07");
            }
            None
        });
        assert!(!out.contains("]0;"), "{out:?}");
    }
}
