//! The rows left on the normal screen at exit.

use ratatui_core::buffer::{Buffer, Cell};
use ratatui_core::layout::Rect;
use ratatui_core::text::Line;
use ratatui_core::widgets::Widget as _;

use super::sgr::CellStyle;
use crate::theme::ColorDepth;

/// Formats rows for a terminal that scrolls, each with a line end. The rows are drawn like all others.
pub fn tail_text(rows: &[Line<'static>], width: u16, depth: ColorDepth) -> String {
    let mut out = String::new();
    push_rows(&mut out, "", rows, width, depth);
    out
}

/// Adds the rows, each with a prefix and a line end.
pub(super) fn push_rows(
    out: &mut String,
    before: &str,
    rows: &[Line<'static>],
    width: u16,
    depth: ColorDepth,
) {
    let area = Rect::new(0, 0, width.max(1), 1);
    let (empty, mut buffer) = (Buffer::empty(area), Buffer::empty(area));
    for row in rows {
        buffer.reset();
        row.render(area, &mut buffer);
        out.push_str(before);
        push_row(out, empty.diff_iter(&buffer).map(|(x, _, cell)| (x, cell)), depth);
        out.push_str("\r\n");
    }
}

/// Adds one row without trailing blanks.
pub(super) fn push_row<'a>(
    out: &mut String,
    cells: impl Iterator<Item = (u16, &'a Cell)>,
    depth: ColorDepth,
) {
    let is_blank = |symbol: &str, pen: CellStyle| symbol == " " && pen == CellStyle::default();
    let mut pen = CellStyle::default();
    let mut column = 0;
    for (x, cell) in cells {
        let wanted = match depth {
            ColorDepth::None => CellStyle { modifier: cell.modifier, ..CellStyle::default() },
            ColorDepth::Sixteen | ColorDepth::Indexed | ColorDepth::True => {
                CellStyle { fg: cell.fg, bg: cell.bg, modifier: cell.modifier }
            }
        };
        let symbol = super::paint::safe_symbol(cell.symbol());
        if is_blank(symbol, wanted) {
            continue;
        }
        let gap = usize::from(x.saturating_sub(column));
        if gap > 0 && pen != CellStyle::default() {
            pen = CellStyle::default();
            pen.push_to(out);
        }
        out.extend(std::iter::repeat_n(' ', gap));
        if pen != wanted {
            wanted.push_to(out);
            pen = wanted;
        }
        out.push_str(symbol);
        column = x + super::paint::symbol_width(symbol);
    }
    if pen != CellStyle::default() {
        CellStyle::default().push_to(out);
    }
}

#[cfg(test)]
mod tests {
    use ratatui_core::style::{Color, Modifier, Style};

    use super::*;
    use crate::clean::span;

    #[test]
    fn styles_rows_if_terminal_has_colors() {
        let style = Style::new().fg(Color::Red).add_modifier(Modifier::BOLD);
        let row = Line::from(vec![span("a ", Style::new()), span("日b", style), span(" c  ", Style::new())]);
        let rows = [row, Line::default()];
        assert_eq!(tail_text(&rows, 20, ColorDepth::Sixteen), "a \x1b[0;1;31m日b\x1b[0m c\r\n\r\n");
        assert_eq!(tail_text(&rows, 20, ColorDepth::None), "a \x1b[0;1m日b\x1b[0m c\r\n\r\n");
        assert_eq!(tail_text(&rows, 3, ColorDepth::None), "a\r\n\r\n");
    }

    #[test]
    fn keeps_background() {
        let row = Line::from(vec![span("a  ", Style::new().bg(Color::Blue))]);
        assert_eq!(tail_text(&[row], 20, ColorDepth::Sixteen), "\x1b[0;44ma  \x1b[0m\r\n");
    }
}
