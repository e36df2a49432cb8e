//! Encoding of pixels for a terminal.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::codecs::png::PngEncoder;
use image::{ExtendedColorType, ImageEncoder as _, ImageError, RgbaImage};

use super::{ImageProtocol, sixel};

/// The maximum size of a Kitty chunk, in bytes.
const CHUNK: usize = 4096;

#[derive(Debug, PartialEq, Eq)]
pub(in crate::terminal) struct EncodedImage {
    pub(super) number: u32,
    pub(super) way: DisplayMethod,
    /// The text to write: once, or for each drawing.
    pub(super) text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DisplayMethod {
    /// Sent once and placed above the cells by its number.
    Placed,
    /// Drawn into the cells, and gone once they are written.
    Drawn,
}

pub(super) fn encode(
    protocol: ImageProtocol,
    number: u32,
    pixels: &RgbaImage,
    size: (u16, u16),
) -> Result<EncodedImage, ImageError> {
    let (way, text) = match protocol {
        ImageProtocol::Kitty => (DisplayMethod::Placed, encode_kitty(number, &encode_png(pixels)?)),
        ImageProtocol::Iterm => (DisplayMethod::Drawn, encode_iterm(&encode_png(pixels)?, size)),
        ImageProtocol::Sixel => (DisplayMethod::Drawn, sixel::encode(pixels)),
    };
    Ok(EncodedImage { number, way, text })
}

fn encode_png(pixels: &RgbaImage) -> Result<Vec<u8>, ImageError> {
    let mut png = Vec::new();
    let (across, down) = pixels.dimensions();
    PngEncoder::new(&mut png).write_image(pixels, across, down, ExtendedColorType::Rgba8)?;
    Ok(png)
}

/// Encodes an image that the terminal stores and does not show yet. `q=2` suppresses Kitty's answers, which would
/// arrive as keys.
fn encode_kitty(number: u32, png: &[u8]) -> String {
    let coded = STANDARD.encode(png);
    let mut text = String::with_capacity(coded.len() + coded.len() / CHUNK * 16 + 64);
    let mut head = format!("a=t,t=d,f=100,i={number},q=2,");
    let mut rest = coded.as_str();
    loop {
        let (chunk, more) = rest.split_at_checked(CHUNK).unwrap_or((rest, ""));
        let _ = write!(text, "\x1b_G{head}m={};{chunk}\x1b\\", u8::from(!more.is_empty()));
        if more.is_empty() {
            return text;
        }
        "q=2,".clone_into(&mut head);
        rest = more;
    }
}

fn encode_iterm(png: &[u8], (columns, rows): (u16, u16)) -> String {
    let (bytes, coded) = (png.len(), STANDARD.encode(png));
    format!(
        "\x1b]1337;File=inline=1;size={bytes};width={columns};height={rows};preserveAspectRatio=0;doNotMoveCursor=1:{coded}\x07"
    )
}

#[cfg(test)]
mod tests {
    use image::Rgba;

    use super::*;

    #[test]
    fn encodes_kitty_chunks() {
        let one = encode_kitty(7, b"abc");
        assert_eq!(one, "\x1b_Ga=t,t=d,f=100,i=7,q=2,m=0;YWJj\x1b\\");
        let png = vec![b'x'; 3072 * 2 + 3];
        let chunks: Vec<String> =
            encode_kitty(7, &png).split_terminator("\x1b\\").map(str::to_owned).collect();
        let heads: Vec<&str> = chunks.iter().filter_map(|chunk| chunk.split(';').next()).collect();
        assert_eq!(heads, ["\x1b_Ga=t,t=d,f=100,i=7,q=2,m=1", "\x1b_Gq=2,m=1", "\x1b_Gq=2,m=0"]);
        let data: String = chunks.iter().filter_map(|chunk| chunk.split(';').nth(1)).collect();
        assert_eq!(STANDARD.decode(data).unwrap(), png);
        let whole = encode_kitty(7, &png[..3072]);
        assert!(whole.contains("m=0;") && !whole.contains("m=1;"), "{}", whole.len());
    }

    #[test]
    fn encodes_iterm_file() {
        let text = encode_iterm(b"abc", (4, 2));
        assert_eq!(
            text,
            "\x1b]1337;File=inline=1;size=3;width=4;height=2;preserveAspectRatio=0;doNotMoveCursor=1:YWJj\x07"
        );
    }

    #[test]
    fn encoded_image_decodes_to_same_picture() {
        let pixels = RgbaImage::from_fn(10, 20, |x, y| Rgba([u8::try_from(x + y).unwrap(), 1, 2, 200]));
        let coded = encode_png(&pixels).unwrap();
        assert_eq!(image::load_from_memory(&coded).unwrap().into_rgba8(), pixels);
    }

    #[test]
    fn encoded_output_has_no_other_sequences() {
        let pixels = RgbaImage::from_fn(64, 64, |x, y| {
            Rgba([u8::try_from(x * 4).unwrap(), u8::try_from(y * 4).unwrap(), 27, 255])
        });
        for protocol in [ImageProtocol::Kitty, ImageProtocol::Iterm, ImageProtocol::Sixel] {
            let EncodedImage { text, .. } = encode(protocol, 1, &pixels, (7, 4)).unwrap();
            let controls = text.chars().filter(|c| c.is_control()).count();
            let most = if protocol == ImageProtocol::Kitty { text.len() / CHUNK * 2 + 2 } else { 2 };
            assert!(controls <= most && text.is_ascii(), "{protocol:?}: {controls}");
        }
    }
}
