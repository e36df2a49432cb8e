//! The rows that are left on the normal screen.

use ratatui_core::buffer::{Buffer, Cell};
use ratatui_core::layout::Rect;
use ratatui_core::text::Line;
use ratatui_core::widgets::Widget as _;

use super::sgr::Pen;
use crate::theme::ColorDepth;

/// The rows as text for a terminal that scrolls, each ended. Drawn in no other way than everything is.
pub fn text(rows: &[Line<'static>], width: u16, depth: ColorDepth) -> String {
    let mut out = String::new();
    push_rows(&mut out, "", rows, width, depth);
    out
}

/// Adds the rows, each ended, and something before each.
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

/// Adds one row, without the blanks at its end: its cells that are not blank, and where they stand.
pub(super) fn push_row<'a>(
    out: &mut String,
    cells: impl Iterator<Item = (u16, &'a Cell)>,
    depth: ColorDepth,
) {
    let is_blank = |symbol: &str, pen: Pen| symbol == " " && pen == Pen::default();
    let mut pen = Pen::default();
    let mut column = 0;
    for (x, cell) in cells {
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
