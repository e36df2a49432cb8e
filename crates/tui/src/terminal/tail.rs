//! The rows that are left on the normal screen.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::Line;
use ratatui_core::widgets::Widget as _;

use super::sgr::Pen;
use crate::theme::ColorDepth;

/// The rows as text for a terminal that scrolls, each ended. Drawn in no other way than everything is.
pub fn text(rows: &[Line<'static>], width: u16, depth: ColorDepth) -> String {
    let mut out = String::new();
    let area = Rect::new(0, 0, width.max(1), 1);
    let mut buffer = Buffer::empty(area);
    for row in rows {
        buffer.reset();
        row.render(area, &mut buffer);
        push_row(&mut out, &buffer, depth);
        out.push_str("\r\n");
    }
    out
}

/// One row, without the blanks at its end.
fn push_row(out: &mut String, buffer: &Buffer, depth: ColorDepth) {
    let is_blank = |symbol: &str, pen: Pen| symbol == " " && pen == Pen::default();
    let mut pen = Pen::default();
    let empty = Buffer::empty(buffer.area);
    let mut column = 0;
    for (x, _, cell) in empty.diff_iter(buffer) {
        let wanted = match depth {
            ColorDepth::None => Pen { modifier: cell.modifier, ..Pen::default() },
            ColorDepth::Sixteen | ColorDepth::Indexed | ColorDepth::True => {
                Pen { fg: cell.fg, bg: cell.bg, modifier: cell.modifier }
            }
        };
        let symbol = super::paint::shown(cell.symbol());
        if is_blank(symbol, wanted) {
            continue;
        }
        let gap = usize::from(x.saturating_sub(column));
        if gap > 0 && pen != Pen::default() {
            pen = Pen::default();
            pen.push_to(out);
        }
        out.extend(std::iter::repeat_n(' ', gap));
        if pen != wanted {
            wanted.push_to(out);
            pen = wanted;
        }
        out.push_str(symbol);
        column = x + super::paint::width(symbol);
    }
    if pen != Pen::default() {
        Pen::default().push_to(out);
    }
}

#[cfg(test)]
mod tests {
    use ratatui_core::style::{Color, Modifier, Style};

    use super::*;
    use crate::clean::span;

    #[test]
    fn rows_are_styled_where_there_are_colours() {
        let style = Style::new().fg(Color::Red).add_modifier(Modifier::BOLD);
        let row = Line::from(vec![span("a ", Style::new()), span("日b", style), span(" c  ", Style::new())]);
        let rows = [row, Line::default()];
        assert_eq!(text(&rows, 20, ColorDepth::Sixteen), "a \x1b[0;1;31m日b\x1b[0m c\r\n\r\n");
        assert_eq!(text(&rows, 20, ColorDepth::None), "a \x1b[0;1m日b\x1b[0m c\r\n\r\n");
        assert_eq!(text(&rows, 3, ColorDepth::None), "a\r\n\r\n");
    }

    #[test]
    fn a_ground_is_kept() {
        let row = Line::from(vec![span("a  ", Style::new().bg(Color::Blue))]);
        assert_eq!(text(&[row], 20, ColorDepth::Sixteen), "\x1b[0;44ma  \x1b[0m\r\n");
    }
}
