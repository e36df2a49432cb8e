//! Renders a screen as an HTML page, from which a browser makes a picture.

use std::fmt::Write as _;

use vt100::{Cell, Color, Screen};

/// The default colors of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColorScheme {
    /// Light on dark.
    Dark,
    /// Dark on light.
    Light,
}

/// The 16 terminal colors of xterm.
const PALETTE: [u32; 16] = [
    0x00_0000, 0xcd_0000, 0x00_cd00, 0xcd_cd00, 0x00_00ee, 0xcd_00cd, 0x00_cdcd, 0xe5_e5e5, 0x7f_7f7f,
    0xff_0000, 0x00_ff00, 0xff_ff00, 0x5c_5cff, 0xff_00ff, 0x00_ffff, 0xff_ffff,
];

/// The levels of red, green and blue in the cube of 216 colors.
const LEVELS: [u32; 6] = [0x00, 0x5f, 0x87, 0xaf, 0xd7, 0xff];

/// The style of all pages: rows of equal height, with a small margin.
const STYLE: &str = "*{margin:0;padding:0}body{padding:8px}\
    div{font:14px/16px 'DejaVu Sans Mono',monospace;white-space:pre;height:16px}\
    span{display:inline-block;height:16px;vertical-align:top}";

impl ColorScheme {
    /// Returns the terminal's answer to a query for its background.
    pub const fn answer(self) -> &'static str {
        match self {
            Self::Dark => "rgb:1111/1313/1818",
            Self::Light => "rgb:ffff/ffff/ffff",
        }
    }

    /// Returns the colors of text and background.
    const fn colors(self) -> (u32, u32) {
        match self {
            Self::Dark => (0xd8_dbe2, 0x11_1318),
            Self::Light => (0x1f_2328, 0xff_ffff),
        }
    }
}

/// Renders a page that shows the texts, colors, styles and the cursor of a screen.
pub fn render_page(screen: &Screen, ground: ColorScheme) -> String {
    let (text, back) = ground.colors();
    let mut out = format!(
        "<!doctype html><meta charset=\"utf-8\"><style>{STYLE}body{{color:#{text:06x};background:#{back:06x}}}\
         </style>\n"
    );
    let (rows, columns) = screen.size();
    for row in 0..rows.get() {
        out.push_str("<div>");
        let cells = (0..columns.get()).filter_map(|column| Some((column, screen.cell(row, column)?)));
        let mut run: Option<(String, String, usize)> = None;
        for (column, cell) in cells.filter(|(_, cell)| !cell.is_wide_continuation()) {
            let cursor = !screen.hide_cursor() && screen.cursor_position() == (row, column);
            let style = style(cell, cursor, ground);
            let width = if cell.is_wide() { 2 } else { 1 };
            match &mut run {
                Some((same, text, cells)) if *same == style => {
                    push(text, cell);
                    *cells += width;
                }
                other => {
                    close(&mut out, other.take());
                    let mut text = String::new();
                    push(&mut text, cell);
                    *other = Some((style, text, width));
                }
            }
        }
        close(&mut out, run);
        out.push_str("</div>\n");
    }
    out
}

/// Closes a run of cells of one style; its width is that on a terminal, whatever the font.
fn close(out: &mut String, run: Option<(String, String, usize)>) {
    if let Some((style, text, cells)) = run {
        // Writing to a string does not fail.
        let _ = write!(out, "<span style=\"width:{cells}ch;{style}\">{text}</span>");
    }
}

fn push(text: &mut String, cell: &Cell) {
    if !cell.has_contents() {
        text.push(' ');
    }
    for character in cell.contents().chars() {
        match character {
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            '&' => text.push_str("&amp;"),
            other => text.push(other),
        }
    }
}

fn style(cell: &Cell, cursor: bool, ground: ColorScheme) -> String {
    let (text, back) = ground.colors();
    let mut front = rgb(cell.fgcolor()).unwrap_or(text);
    let mut behind = rgb(cell.bgcolor()).unwrap_or(back);
    if cell.inverse() != cursor {
        std::mem::swap(&mut front, &mut behind);
    }
    let mut style = String::new();
    let mut add = |has: bool, what: &str| {
        if has {
            style.push_str(what);
        }
    };
    add(front != text, &format!("color:#{front:06x};"));
    add(behind != back, &format!("background:#{behind:06x};"));
    add(cell.bold(), "font-weight:bold;");
    add(cell.dim(), "opacity:.6;");
    add(cell.italic(), "font-style:italic;");
    add(cell.underline(), "text-decoration:underline;");
    style
}

/// Returns a color, or `None` for the terminal's default.
fn rgb(color: Color) -> Option<u32> {
    match color {
        Color::Default => None,
        Color::Rgb(red, green, blue) => Some(u32::from_be_bytes([0, red, green, blue])),
        Color::Idx(index @ 232..) => Some((u32::from(index - 232) * 10 + 8) * 0x01_0101),
        Color::Idx(index @ 16..) => {
            let at = |place: u8| LEVELS.get(usize::from((index - 16) / place % 6)).copied().unwrap_or(0);
            Some(at(36) << 16 | at(6) << 8 | at(1))
        }
        Color::Idx(index) => PALETTE.get(usize::from(index)).copied(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(bytes: &str) -> String {
        let cells = |number| std::num::NonZeroU16::new(number).unwrap();
        let mut parser = vt100::Parser::new(cells(1), cells(6), 0);
        parser.process(bytes.as_bytes());
        render_page(parser.screen(), ColorScheme::Dark).lines().nth(1).unwrap().to_owned()
    }

    #[test]
    fn renders_text_styles_and_cursor() {
        let check = |bytes: &str, expect: &str| {
            assert_eq!(shown(bytes), format!("<div>{expect}</div>"), "{bytes:?}");
        };
        check("\x1b[?25la<b", "<span style=\"width:6ch;\">a&lt;b   </span>");
        let cursor = "color:#111318;background:#d8dbe2;";
        check(
            "ab\r",
            &format!("<span style=\"width:1ch;{cursor}\">a</span><span style=\"width:5ch;\">b    </span>"),
        );
        check(
            "\x1b[?25l\x1b[1;3;4;38;2;1;2;3mx\x1b[0;31my\x1b[48;5;21mz\x1b[38;5;244mä\x1b[0;7m!",
            "<span style=\"width:1ch;color:#010203;font-weight:bold;font-style:italic;text-decoration:underline;\">\
             x</span><span style=\"width:1ch;color:#cd0000;\">y</span>\
             <span style=\"width:1ch;color:#cd0000;background:#0000ff;\">z</span>\
             <span style=\"width:1ch;color:#808080;background:#0000ff;\">ä</span>\
             <span style=\"width:1ch;color:#111318;background:#d8dbe2;\">!</span><span style=\"width:1ch;\"> </span>",
        );
        check("\x1b[?25l字x", "<span style=\"width:6ch;\">字x   </span>");
    }
}
