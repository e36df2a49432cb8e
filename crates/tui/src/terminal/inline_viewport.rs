//! `InlineViewport`: the drawn rows at the end of the normal screen, below the printed rows.
//!
//! Its position on the screen is unknown. It is found relative to the cursor, which stays inside. Printed rows are
//! written at its beginning, and it is redrawn below them; the terminal scrolls. A frame is one synchronized update.
//! It needs no terminal: the output is text.

use std::fmt::Write as _;

use ratatui_core::buffer::{Buffer, Cell, CellWidth as _};
use ratatui_core::layout::{Position, Rect};
use ratatui_core::text::Line;

use super::paint::{BEGIN, END, HIDE, SHOW, push_cells};
use super::tail;
use crate::theme::ColorDepth;

/// Clears from the cursor to the end of the row. The next one clears to the end of the screen.
const CLEAR_ROW: &str = "\x1b[K";
const CLEAR_BELOW: &str = "\x1b[J";

/// The rows below the printed output.
#[derive(Debug, Default)]
pub struct InlineViewport {
    /// The content of the viewport. `None` if unknown; the cursor is then at its beginning.
    shown: Option<Buffer>,
    /// The buffer for the next picture, reused for its memory.
    next: Buffer,
    cursor: Option<Position>,
    /// The position of the terminal's cursor, visible or not.
    at: Position,
    /// True if the next frame writes every cell.
    redraw_all: bool,
    /// True if the terminal truncates long rows when it becomes narrower. Others wrap them.
    cuts: bool,
}

impl InlineViewport {
    /// Makes a viewport for a terminal that truncates rows when it becomes narrower, or wraps them.
    pub fn new(cuts: bool) -> Self {
        Self { cuts, ..Self::default() }
    }

    /// Forgets the content of the terminal: the next frame begins at the cursor.
    pub fn forget_screen(&mut self) {
        self.shown = None;
    }

    /// Forgets the content, which may differ from what was written.
    pub fn force_redraw(&mut self) {
        self.redraw_all = true;
    }

    /// Returns the text that removes the viewport. The cursor is at its beginning afterwards.
    pub fn clear_viewport(&mut self) -> String {
        let Some(shown) = self.shown.take() else { return String::new() };
        let mut out = BEGIN.to_owned();
        self.push_move_to_start(&mut out, &shown, shown.area.width);
        out.push_str(CLEAR_BELOW);
        out.push_str(END);
        self.cursor = None;
        out
    }

    /// Returns the text that prints rows and updates the viewport below them; empty if nothing has changed.
    pub fn render_frame(
        &mut self,
        size: (u16, u16),
        printed: &[Line<'static>],
        depth: ColorDepth,
        draw: impl FnOnce(Rect, &mut Buffer) -> Option<(u16, u16)>,
    ) -> String {
        let area = Rect::new(0, 0, size.0.max(1), size.1.max(1));
        self.next.resize(area);
        self.next.reset();
        let cursor = draw(area, &mut self.next).map(Position::from);
        let cursor = cursor.filter(|position| area.contains(*position));
        let shown = self.shown.take();
        let same_size = shown.as_ref().filter(|shown| shown.area == area && !self.redraw_all);
        let mut out = String::new();
        match same_size.filter(|_| printed.is_empty()) {
            Some(shown) => self.push_changes(&mut out, shown),
            None => {
                out.push_str(HIDE);
                match &shown {
                    Some(shown) => self.push_move_to_start(&mut out, shown, area.width),
                    None => out.push_str("\r\x1b[0m"),
                }
                tail::push_rows(&mut out, CLEAR_ROW, printed, area.width, depth);
                self.push_all(&mut out, depth);
            }
        }
        if !out.is_empty() || cursor != self.cursor {
            out = self.wrap_frame(&out, cursor);
        }
        self.shown = Some(shown.unwrap_or_default());
        if let Some(shown) = &mut self.shown {
            std::mem::swap(shown, &mut self.next);
        }
        (self.cursor, self.redraw_all) = (cursor, false);
        out
    }

    fn wrap_frame(&mut self, cells: &str, cursor: Option<Position>) -> String {
        let hide = if self.cursor.is_some() && !cells.starts_with(HIDE) { HIDE } else { "" };
        let mut out = format!("{BEGIN}{hide}{cells}");
        if let Some(position) = cursor {
            push_move(&mut out, &mut self.at, position);
            out.push_str(SHOW);
        }
        out.push_str(END);
        out
    }

    /// Adds the movement to the beginning of the viewport, for the current width of the terminal.
    fn push_move_to_start(&self, out: &mut String, shown: &Buffer, columns: u16) {
        let columns = columns.max(1);
        let up = if self.cuts || columns >= shown.area.width {
            self.at.y
        } else {
            let above: u16 = (0..self.at.y).map(|row| row_length(shown, row).max(1).div_ceil(columns)).sum();
            above + self.at.x.min(shown.area.width - 1) / columns
        };
        out.push('\r');
        if up > 0 {
            let _ = write!(out, "\x1b[{up}A");
        }
        out.push_str("\x1b[0m");
    }

    fn push_all(&mut self, out: &mut String, depth: ColorDepth) {
        let area = self.next.area;
        let empty = Buffer::empty(area);
        let mut cells = empty.diff_iter(&self.next).peekable();
        let last = area.height - 1;
        for row in 0..area.height {
            out.push_str(if row == last { CLEAR_BELOW } else { CLEAR_ROW });
            let of_row = std::iter::from_fn(|| cells.next_if(|(_, y, _)| *y == row));
            tail::push_row(out, of_row.map(|(x, _, cell)| (x, cell)), depth);
            // Even after the last column was written, the cursor is in this row; now it is in its first column.
            out.push_str(if row == last { "\r" } else { "\r\n" });
        }
        self.at = Position { x: 0, y: last };
    }

    fn push_changes(&mut self, out: &mut String, shown: &Buffer) {
        let at = &mut self.at;
        let mut last = None;
        let cells = shown.diff_iter(&self.next).inspect(|(x, ..)| last = Some(*x));
        push_cells(out, cells, |out, position| push_move(out, at, position));
        if last.is_some() {
            out.push('\r');
            at.x = 0;
        }
    }
}

fn row_length(shown: &Buffer, row: u16) -> u16 {
    let is_blank = |cell: &Cell| *cell == Cell::EMPTY;
    let width = shown.area.width;
    let last = (0..width).rev().find(|x| shown.cell((*x, row)).is_some_and(|cell| !is_blank(cell)));
    let end = |x: u16| x + shown.cell((x, row)).map_or(1, |cell| cell.symbol().cell_width().max(1));
    last.map_or(0, |x| end(x).min(width))
}

/// Adds a movement of the cursor. It moves between rows and always starts at the first column, because the column
/// after a text is uncertain.
fn push_move(out: &mut String, at: &mut Position, to: Position) {
    if to.y < at.y {
        let _ = write!(out, "\x1b[{}A", at.y - to.y);
    }
    if to.y > at.y {
        let _ = write!(out, "\x1b[{}B", to.y - at.y);
    }
    let _ = write!(out, "\x1b[{}G", to.x + 1);
    *at = to;
}
