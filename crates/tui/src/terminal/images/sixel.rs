//! Sixel encoding: bands of six pixel rows, color by color.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use color_quant::NeuQuant;
use image::{Rgba, RgbaImage};

/// The maximum number of colors: terminals that support sixel have that many registers.
const COLORS: usize = 256;

/// The minimum opacity of a drawn pixel.
const OPAQUE: u8 = 128;

/// Images with fewer pixels use all of them for the palette.
const FEW: usize = 20_000;

/// Encodes an image. Pixels that are not drawn show the background.
pub(super) fn encode(pixels: &RgbaImage) -> String {
    let (across, down) = pixels.dimensions();
    let palette = Palette::from_pixels(pixels);
    let mut text = format!("\x1bP0;1;0q\"1;1;{across};{down}");
    for (at, color) in palette.colors.iter().enumerate() {
        let [red, green, blue] = color.map(|part| (u16::from(part) * 100 + 127) / 255);
        let _ = write!(text, "#{at};2;{red};{green};{blue}");
    }
    for top in (0..down).step_by(6) {
        push_band(&mut text, pixels, &palette, top);
    }
    text.push_str("\x1b\\");
    text
}

/// Encodes six rows: for each color, the pixels of each column.
fn push_band(text: &mut String, pixels: &RgbaImage, palette: &Palette, top: u32) {
    let (across, down) = pixels.dimensions();
    let mut band: BTreeMap<usize, Vec<u8>> = BTreeMap::new();
    let columns = usize::try_from(across).unwrap_or_default();
    for y in top..down.min(top + 6) {
        for (x, pixel) in (0..across).zip(0..columns).map(|(x, at)| (at, pixels.get_pixel(x, y))) {
            let Some(color) = palette.color_index(*pixel) else { continue };
            if let Some(column) = band.entry(color).or_insert_with(|| vec![0; columns]).get_mut(x) {
                *column |= 1 << (y - top);
            }
        }
    }
    for (color, columns) in band {
        let _ = write!(text, "#{color}");
        let end = columns.iter().rposition(|column| *column != 0).map_or(0, |last| last + 1);
        for run in columns.get(..end).unwrap_or_default().chunk_by(|one, other| one == other) {
            push_run(text, run);
        }
        text.push('$');
    }
    text.push('-');
}

fn push_run(text: &mut String, run: &[u8]) {
    let sixel = char::from(run.first().copied().unwrap_or_default() + b'?');
    if run.len() > 3 {
        let _ = write!(text, "!{}{sixel}", run.len());
    } else {
        text.extend(run.iter().map(|_| sixel));
    }
}

/// The colors of an image, and the palette entry of each.
struct Palette {
    colors: Vec<[u8; 3]>,
    shown_as: HashMap<[u8; 3], usize>,
}

impl Palette {
    /// Makes a palette of all colors if there are few, otherwise of similar ones.
    fn from_pixels(pixels: &RgbaImage) -> Self {
        let mut palette = Self { colors: Vec::new(), shown_as: HashMap::new() };
        let mut seen: Vec<u8> = Vec::new();
        for Rgba([red, green, blue, _]) in pixels.pixels().filter(|pixel| pixel[3] >= OPAQUE) {
            let color = [*red, *green, *blue];
            seen.extend(color);
            seen.push(u8::MAX);
            palette.shown_as.entry(color).or_insert_with(|| {
                palette.colors.push(color);
                palette.colors.len() - 1
            });
        }
        if palette.colors.len() > COLORS {
            let quant = NeuQuant::new(if seen.len() / 4 > FEW { 10 } else { 1 }, COLORS, &seen);
            palette.colors = quant.color_map_rgb().as_chunks().0.to_vec();
            for (color, shown_as) in &mut palette.shown_as {
                let [red, green, blue] = *color;
                *shown_as = quant.index_of(&[red, green, blue, u8::MAX]);
            }
        }
        palette
    }

    fn color_index(&self, Rgba([red, green, blue, alpha]): Rgba<u8>) -> Option<usize> {
        if alpha < OPAQUE {
            return None;
        }
        self.shown_as.get(&[red, green, blue]).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RED: Rgba<u8> = Rgba([255, 0, 0, 255]);
    const BLUE: Rgba<u8> = Rgba([0, 0, 255, 255]);
    const NONE: Rgba<u8> = Rgba([0, 0, 0, 0]);

    #[test]
    fn encodes_sixel_pixels() {
        let picture = RgbaImage::from_fn(6, 7, |x, y| match (x, y) {
            (5, _) => NONE,
            (0..5, 0..6) => RED,
            _ => BLUE,
        });
        assert_eq!(encode(&picture), "\x1bP0;1;0q\"1;1;6;7#0;2;100;0;0#1;2;0;0;100#0!5~$-#1!5@$-\x1b\\");
    }

    #[test]
    fn short_runs_are_not_compressed() {
        let picture = RgbaImage::from_fn(4, 1, |x, _| if x == 1 { BLUE } else { RED });
        assert_eq!(encode(&picture), "\x1bP0;1;0q\"1;1;4;1#0;2;100;0;0#1;2;0;0;100#0@?@@$#1?@$-\x1b\\");
    }

    #[test]
    fn transparent_pixels_are_not_drawn() {
        assert_eq!(encode(&RgbaImage::new(20, 12)), "\x1bP0;1;0q\"1;1;20;12--\x1b\\");
    }

    #[test]
    fn reduces_many_colors_to_palette() {
        let picture = RgbaImage::from_fn(100, 100, |x, y| {
            Rgba([u8::try_from(x * 2).unwrap(), u8::try_from(y * 2).unwrap(), 100, 255])
        });
        let palette = Palette::from_pixels(&picture);
        assert_eq!(palette.colors.len(), COLORS);
        let far = |pixel: &Rgba<u8>| {
            let shown = palette.colors[palette.color_index(*pixel).unwrap()];
            (0..3).map(|at| pixel[at].abs_diff(shown[at])).max().unwrap()
        };
        assert!(picture.pixels().map(far).max().unwrap() < 40);
    }
}
