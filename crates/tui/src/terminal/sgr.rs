//! Styles as terminal sequences.

use std::fmt::Write as _;

use ratatui_core::style::{Color, Modifier};

const MODIFIERS: &[(Modifier, u8)] = &[
    (Modifier::BOLD, 1),
    (Modifier::DIM, 2),
    (Modifier::ITALIC, 3),
    (Modifier::UNDERLINED, 4),
    (Modifier::SLOW_BLINK, 5),
    (Modifier::RAPID_BLINK, 6),
    (Modifier::REVERSED, 7),
    (Modifier::HIDDEN, 8),
    (Modifier::CROSSED_OUT, 9),
];

/// The style of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct CellStyle {
    pub(super) fg: Color,
    pub(super) bg: Color,
    pub(super) modifier: Modifier,
}

impl CellStyle {
    /// Adds the sequence that switches to this style from any other.
    pub(super) fn push_to(self, out: &mut String) {
        out.push_str("\x1b[0");
        for (_, number) in MODIFIERS.iter().filter(|(modifier, _)| self.modifier.contains(*modifier)) {
            let _ = write!(out, ";{number}");
        }
        push_color(out, self.fg, 30);
        push_color(out, self.bg, 40);
        out.push('m');
    }
}

/// Adds a color, for text (`base` 30) or background (`base` 40).
fn push_color(out: &mut String, color: Color, base: u8) {
    let bright = base + 60;
    let number = match color {
        Color::Reset => return,
        Color::Black => base,
        Color::Red => base + 1,
        Color::Green => base + 2,
        Color::Yellow => base + 3,
        Color::Blue => base + 4,
        Color::Magenta => base + 5,
        Color::Cyan => base + 6,
        Color::Gray => base + 7,
        Color::DarkGray => bright,
        Color::LightRed => bright + 1,
        Color::LightGreen => bright + 2,
        Color::LightYellow => bright + 3,
        Color::LightBlue => bright + 4,
        Color::LightMagenta => bright + 5,
        Color::LightCyan => bright + 6,
        Color::White => bright + 7,
        Color::Rgb(red, green, blue) => {
            let _ = write!(out, ";{};2;{red};{green};{blue}", base + 8);
            return;
        }
        Color::Indexed(index) => {
            let _ = write!(out, ";{};5;{index}", base + 8);
            return;
        }
    };
    let _ = write!(out, ";{number}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(fg: Color, bg: Color, modifier: Modifier, expect: &str) {
        let mut out = String::new();
        CellStyle { fg, bg, modifier }.push_to(&mut out);
        assert_eq!(out, expect);
    }

    #[test]
    fn formats_styles() {
        check(Color::Reset, Color::Reset, Modifier::empty(), "\x1b[0m");
        check(Color::Red, Color::White, Modifier::BOLD | Modifier::CROSSED_OUT, "\x1b[0;1;9;31;107m");
        check(Color::Rgb(1, 2, 3), Color::Indexed(200), Modifier::REVERSED, "\x1b[0;7;38;2;1;2;3;48;5;200m");
        check(Color::DarkGray, Color::Gray, Modifier::empty(), "\x1b[0;90;47m");
    }
}
