//! Colors: their notations, and their reduction for terminals with fewer colors.

use ratatui_core::style::Color;
use serde_json::{Map, Value};

use super::ColorDepth;

/// The color names. `default` is the terminal's own color.
pub(super) const NAMES: &[(&str, Color)] = &[
    ("default", Color::Reset),
    ("black", Color::Black),
    ("red", Color::Red),
    ("green", Color::Green),
    ("yellow", Color::Yellow),
    ("blue", Color::Blue),
    ("magenta", Color::Magenta),
    ("cyan", Color::Cyan),
    ("gray", Color::Gray),
    ("dark_gray", Color::DarkGray),
    ("light_red", Color::LightRed),
    ("light_green", Color::LightGreen),
    ("light_yellow", Color::LightYellow),
    ("light_blue", Color::LightBlue),
    ("light_magenta", Color::LightMagenta),
    ("light_cyan", Color::LightCyan),
    ("white", Color::White),
];

/// The sixteen colors, in numeric order.
const SIXTEEN: [Color; 16] = [
    Color::Black,
    Color::Red,
    Color::Green,
    Color::Yellow,
    Color::Blue,
    Color::Magenta,
    Color::Cyan,
    Color::Gray,
    Color::DarkGray,
    Color::LightRed,
    Color::LightGreen,
    Color::LightYellow,
    Color::LightBlue,
    Color::LightMagenta,
    Color::LightCyan,
    Color::White,
];

/// Parses a color: a name, an index or `#rrggbb`.
pub(super) fn parse_word(word: &str) -> Option<Color> {
    if let Some(digits) = word.strip_prefix('#') {
        let plain = digits.len() == 6 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let bytes = u32::from_str_radix(digits, 16).ok().filter(|_| plain)?;
        let [_, red, green, blue] = bytes.to_be_bytes();
        return Some(Color::Rgb(red, green, blue));
    }
    if let Ok(index) = word.parse() {
        return Some(Color::Indexed(index));
    }
    let plain =
        word.to_ascii_lowercase().replace('-', "_").replace("grey", "gray").replace("bright_", "light_");
    NAMES.iter().find(|(name, _)| *name == plain).map(|(_, color)| *color)
}

/// Parses a color object of zot's themes: `{"mode": "256", "index": 254}`, or mode `ansi` or `rgb`.
pub(super) fn parse_object(fields: &Map<String, Value>) -> Option<Color> {
    let number = |name| fields.get(name).and_then(Value::as_u64).and_then(|number| u8::try_from(number).ok());
    match fields.get("mode")?.as_str()? {
        "256" => number("index").map(Color::Indexed),
        "rgb" => Some(Color::Rgb(number("r")?, number("g")?, number("b")?)),
        // The SGR codes of a terminal, for text or background.
        "ansi" => match number("index")? {
            code @ (30..=37 | 40..=47) => SIXTEEN.get(usize::from(code % 10)).copied(),
            code @ (90..=97 | 100..=107) => SIXTEEN.get(usize::from(code % 10) + 8).copied(),
            39 | 49 => Some(Color::Reset),
            _ => None,
        },
        _ => None,
    }
}

/// Reduces a color to a color depth; `None` if the terminal has no colors. For backgrounds (`behind`) of terminals
/// with few colors, only named colors stay, because the nearest match of a faint tint hides the text.
pub(super) fn reduce_color(color: Color, depth: ColorDepth, behind: bool) -> Option<Color> {
    let rgb = if let Color::Rgb(red, green, blue) = color {
        [red, green, blue]
    } else if let (Color::Indexed(index), ColorDepth::Sixteen) = (color, depth) {
        match SIXTEEN.get(usize::from(index)) {
            Some(named) => return Some(*named),
            None => indexed_rgb(index),
        }
    } else {
        return (depth != ColorDepth::None).then_some(color);
    };
    match depth {
        ColorDepth::True => Some(color),
        ColorDepth::Indexed => Some(Color::Indexed(nearest_index(rgb))),
        ColorDepth::Sixteen => (!behind).then(|| nearest_of_sixteen(rgb)),
        ColorDepth::None => None,
    }
}

/// The levels of red, green and blue in the 6×6×6 color cube.
const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];

/// Returns one of the 240 colors above the sixteen.
fn indexed_rgb(index: u8) -> [u8; 3] {
    match index {
        232..=255 => [8 + (index - 232) * 10; 3],
        _ => {
            let at = index.saturating_sub(16);
            [at / 36, at / 6 % 6, at % 6]
                .map(|level| LEVELS.get(usize::from(level)).copied().unwrap_or_default())
        }
    }
}

/// Returns the nearest of the 240 colors above the sixteen, which are the same in every terminal.
fn nearest_index(rgb: [u8; 3]) -> u8 {
    let distance = |index: &u8| -> u32 {
        let parts = rgb.into_iter().zip(indexed_rgb(*index));
        parts.map(|(a, b)| u32::from(a.abs_diff(b)).pow(2)).sum()
    };
    (16..=255).min_by_key(distance).unwrap_or(16)
}

/// Returns one of the sixteen colors, by hue first: the nearest by distance is usually gray.
fn nearest_of_sixteen(rgb: [u8; 3]) -> Color {
    let [red, green, blue] = rgb.map(i32::from);
    let most = red.max(green).max(blue);
    let least = red.min(green).min(blue);
    let light = most + least;
    if most - least < 40 {
        return match light {
            ..96 => Color::Black,
            96..320 => Color::DarkGray,
            320..450 => Color::Gray,
            _ => Color::White,
        };
    }
    let middle = i32::midpoint(most, least);
    let bits = [red, green, blue].map(|part| usize::from(part > middle));
    let hue = bits[0] + 2 * bits[1] + 4 * bits[2];
    // Dark text stays dark, for light backgrounds.
    let at = if light >= 256 { hue + 8 } else { hue };
    SIXTEEN.get(at).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_three_color_notations() {
        for (written, expect) in [
            ("cyan", Some(Color::Cyan)),
            ("Bright-Red", Some(Color::LightRed)),
            ("dark_grey", Some(Color::DarkGray)),
            ("204", Some(Color::Indexed(204))),
            ("256", None),
            ("#88c0d0", Some(Color::Rgb(0x88, 0xc0, 0xd0))),
            ("#8cd", None),
            ("#+8c0d0", None),
            ("grene", None),
            ("", None),
        ] {
            assert_eq!(parse_word(written), expect, "{written}");
        }
    }

    #[test]
    fn color_reduction_keeps_hue() {
        let sixteen = |written| reduce_color(parse_word(written).unwrap(), ColorDepth::Sixteen, false);
        for (written, expect) in [
            ("#88c0d0", Color::LightCyan),
            ("#b00020", Color::Red),
            ("#7a5b00", Color::Yellow),
            ("#e0b050", Color::LightYellow),
            ("#8a8f98", Color::DarkGray),
            ("203", Color::LightRed),
            ("9", Color::LightRed),
            ("magenta", Color::Magenta),
        ] {
            assert_eq!(sixteen(written), Some(expect), "{written}");
        }
    }

    #[test]
    fn cube_colors_map_to_themselves() {
        for index in 16..=255 {
            let rgb = indexed_rgb(index);
            assert_eq!(indexed_rgb(nearest_index(rgb)), rgb);
        }
    }

    #[test]
    fn reduction_drops_tints_and_keeps_named_colors() {
        let tint = Color::Rgb(0x20, 0x30, 0x20);
        assert_eq!(reduce_color(tint, ColorDepth::Indexed, true), Some(Color::Indexed(235)));
        assert_eq!(reduce_color(tint, ColorDepth::Sixteen, true), None);
        assert_eq!(reduce_color(Color::Blue, ColorDepth::Sixteen, true), Some(Color::Blue));
        assert_eq!(reduce_color(Color::Blue, ColorDepth::None, true), None);
        assert_eq!(reduce_color(tint, ColorDepth::True, true), Some(tint));
    }
}
