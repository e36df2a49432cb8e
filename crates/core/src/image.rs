//! Checks of images from outside, based on their headers only. This module never decodes pixels.

use std::io::{self, Read as _};

use base64::engine::general_purpose::STANDARD;
use base64::read::DecoderReader;
use base64::{Engine as _, decoded_len_estimate};
use haft_protocol::content::{Image, ImageData};

/// The maximum size of an image in bytes: 5 MiB. Providers accept no larger image.
pub const MAX_BYTES: usize = 5 * 1024 * 1024;

/// The maximum side length in pixels.
pub const MAX_SIDE: usize = 32_767;

/// The maximum area in pixels: a hundred million. A file of a few bytes can claim four billion pixels, and its decoder
/// would need that much memory.
pub const MAX_PIXELS: usize = 100_000_000;

/// The reasons why an image cannot be sent to a model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// The image has no bytes.
    #[error("the image has no data")]
    Empty,
    /// The image is larger than [`MAX_BYTES`] or a smaller given limit.
    #[error("the image is larger than {longest} bytes")]
    TooLong {
        /// The limit in bytes.
        longest: usize,
    },
    /// The text is not valid base64.
    #[error("the image is not valid base64: {detail}")]
    NotBase64 {
        /// The position and the invalid content.
        detail: String,
    },
    /// The first bytes do not belong to a format that models support.
    #[error("not a PNG, JPEG, GIF or WebP image")]
    UnknownKind,
    /// The header ends before the image's dimensions.
    #[error("the image header is damaged")]
    Damaged,
    /// The dimensions exceed the limits.
    #[error("the image is too large: {width} by {height} pixels")]
    TooLarge {
        /// The width in pixels.
        width: usize,
        /// The height in pixels.
        height: usize,
    },
}

/// Returns the MIME type of an image that models support, based on its first bytes.
pub fn mime_type(start: &[u8]) -> Option<&'static str> {
    match start {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// Checks a whole image; returns its MIME type.
///
/// # Errors
/// [`ImageError`] if a model cannot receive the image.
pub fn check(bytes: &[u8]) -> Result<&'static str, ImageError> {
    if bytes.is_empty() {
        return Err(ImageError::Empty);
    }
    if bytes.len() > MAX_BYTES {
        return Err(ImageError::TooLong { longest: MAX_BYTES });
    }
    let kind = mime_type(bytes).ok_or(ImageError::UnknownKind)?;
    let size = imagesize::blob_size(bytes).map_err(|_| ImageError::Damaged)?;
    let (width, height) = (size.width, size.height);
    if width == 0 || height == 0 {
        return Err(ImageError::Damaged);
    }
    if width.max(height) > MAX_SIDE || width.saturating_mul(height) > MAX_PIXELS {
        return Err(ImageError::TooLarge { width, height });
    }
    Ok(kind)
}

/// Checks a base64 image of at most `longest` bytes, as [`check`] does. Nearly always decodes only the beginning; the
/// rest is checked to be base64, and its length is known.
///
/// # Errors
/// [`ImageError`] if a model cannot receive the image.
pub fn check_base64(text: &str, longest: usize) -> Result<&'static str, ImageError> {
    // Padding replaces at most two bytes.
    if decoded_len_estimate(text.len()) > longest.saturating_add(2) {
        return Err(ImageError::TooLong { longest });
    }
    let mut bytes = DecoderReader::new(text.as_bytes(), &STANDARD);
    let mut beginning = Vec::new();
    let read = (&mut bytes).take(BEGINNING).read_to_end(&mut beginning);
    let rest = read.and_then(|_| io::copy(&mut bytes, &mut io::sink()));
    let Ok(rest) = rest else { return check(&decode(text)?) };
    let length = usize::try_from(rest).map_or(usize::MAX, |rest| beginning.len() + rest);
    match check(&beginning) {
        _ if length > longest => Err(ImageError::TooLong { longest }),
        Ok(kind) if length <= MAX_BYTES => Ok(kind),
        // Some images have long comments before the dimensions.
        Ok(_) | Err(_) => check(&decode(text)?),
    }
}

fn decode(text: &str) -> Result<Vec<u8>, ImageError> {
    STANDARD.decode(text).map_err(|error| ImageError::NotBase64 { detail: error.to_string() })
}

/// The number of bytes that are decoded first.
const BEGINNING: u64 = 3 * 1024;

/// Creates an image from base64 for a model. The bytes determine its type, whatever type the sender claims; the text is
/// passed on unchanged.
///
/// ```
/// use haft_core::image::{self, ImageError};
///
/// let text = "R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs=";
/// assert_eq!(image::from_base64(text)?.mime_type, "image/gif");
/// assert_eq!(image::from_base64("SGkh"), Err(ImageError::UnknownKind));
/// assert!(matches!(image::from_base64("-_-_"), Err(ImageError::NotBase64 { .. })));
/// # Ok::<(), ImageError>(())
/// ```
///
/// # Errors
/// [`ImageError`] if a model cannot receive the image.
pub fn from_base64(text: impl Into<ImageData>) -> Result<Image, ImageError> {
    let data = text.into();
    let mime_type = check_base64(&data, MAX_BYTES)?.to_owned();
    Ok(Image { mime_type, data })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn png(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        bytes.extend(width.to_be_bytes());
        bytes.extend(height.to_be_bytes());
        bytes.extend(b"\x08\x02\0\0\0....");
        bytes
    }

    fn gif(width: u16, height: u16) -> Vec<u8> {
        let mut bytes = b"GIF89a".to_vec();
        bytes.extend(width.to_le_bytes());
        bytes.extend(height.to_le_bytes());
        bytes.extend(b"\0\0\0;");
        bytes
    }

    fn jpeg(width: u16, height: u16) -> Vec<u8> {
        let mut bytes = b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0\xff\xc0\0\x11\x08".to_vec();
        bytes.extend(height.to_be_bytes());
        bytes.extend(width.to_be_bytes());
        bytes.extend(b"\x03\x01\x22\0\x02\x11\x01\x03\x11\x01\xff\xd9");
        bytes
    }

    fn webp(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = b"RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0".to_vec();
        bytes.extend(&(width - 1).to_le_bytes()[..3]);
        bytes.extend(&(height - 1).to_le_bytes()[..3]);
        bytes
    }

    #[test]
    fn detects_type_by_first_bytes() {
        assert_eq!(mime_type(b"\x89PNG\r\n\x1a\n..."), Some("image/png"));
        assert_eq!(mime_type(b"\xff\xd8\xff\xe0"), Some("image/jpeg"));
        assert_eq!(mime_type(b"GIF89a"), Some("image/gif"));
        assert_eq!(mime_type(b"RIFF\x01\x02\x03\x04WEBPVP8 "), Some("image/webp"));
        assert_eq!(mime_type(b"RIFF\x01\x02\x03\x04WAVE"), None);
        assert_eq!(mime_type(b""), None);
    }

    #[test]
    fn reads_dimensions_of_every_type() {
        assert_eq!(check(&png(640, 480)), Ok("image/png"));
        assert_eq!(check(&gif(640, 480)), Ok("image/gif"));
        assert_eq!(check(&jpeg(640, 480)), Ok("image/jpeg"));
        assert_eq!(check(&webp(640, 480)), Ok("image/webp"));
    }

    #[test]
    fn rejects_image_with_too_many_pixels() {
        let large = |width, height| Err(ImageError::TooLarge { width, height });
        assert_eq!(check(&png(10_000, 10_000)), Ok("image/png"));
        assert_eq!(check(&png(10_000, 10_001)), large(10_000, 10_001));
        assert_eq!(check(&png(32_767, 1)), Ok("image/png"));
        assert_eq!(check(&png(1, 32_768)), large(1, 32_768));
        assert_eq!(check(&png(u32::MAX, u32::MAX)), large(u32::MAX as usize, u32::MAX as usize));
        assert_eq!(check(&gif(65_535, 65_535)), large(65_535, 65_535));
        assert_eq!(check(&jpeg(65_535, 65_535)), large(65_535, 65_535));
        assert_eq!(check(&webp(1 << 24, 1 << 24)), large(1 << 24, 1 << 24));
    }

    #[test]
    fn rejects_data_that_is_not_an_image() {
        assert_eq!(check(b""), Err(ImageError::Empty));
        assert_eq!(check(b"<svg><script/></svg>"), Err(ImageError::UnknownKind));
        assert_eq!(check(&png(0, 1)), Err(ImageError::Damaged));
        assert_eq!(check(b"\x89PNG\r\n\x1a\n"), Err(ImageError::Damaged));
        let mut long = png(1, 1);
        long.resize(MAX_BYTES, 0);
        assert_eq!(check(&long), Ok("image/png"));
        long.push(0);
        assert_eq!(check(&long), Err(ImageError::TooLong { longest: MAX_BYTES }));
    }

    #[test]
    fn detects_type_of_base64_image() {
        let text = |bytes: &[u8]| STANDARD.encode(bytes);
        let kind = |bytes: &[u8]| from_base64(text(bytes)).map(|image| image.mime_type);
        assert_eq!(kind(&png(1, 1)).as_deref(), Ok("image/png"));
        assert_eq!(kind(&jpeg(1, 1)).as_deref(), Ok("image/jpeg"));
        assert_eq!(kind(b""), Err(ImageError::Empty));
        assert_eq!(kind(b"<svg/>"), Err(ImageError::UnknownKind));
        assert!(matches!(from_base64("iVBORw0KGgo"), Err(ImageError::NotBase64 { .. })));
        let mut long = png(1, 1);
        long.resize(MAX_BYTES, 0);
        assert_eq!(kind(&long).as_deref(), Ok("image/png"));
        long.push(0);
        assert_eq!(kind(&long), Err(ImageError::TooLong { longest: MAX_BYTES }));
        assert_eq!(check_base64(&text(&png(1, 1)), 8), Err(ImageError::TooLong { longest: 8 }));
        let given = text(&gif(1, 1));
        assert_eq!(from_base64(given.as_str()).unwrap().data.as_str(), given);
    }

    proptest! {
        #[test]
        fn accepts_exactly_the_decodable_base64(
            text in "[A-Za-z0-9+/=\n_é-]{0,12}|[A-Za-z0-9+/]{0,12}={0,3}|([AQ+/]{4}){2000}[AQ=]{4}",
        ) {
            prop_assert_eq!(check_base64(&text, MAX_BYTES), decode(&text).and_then(|bytes| check(&bytes)));
        }

        #[test]
        fn no_header_causes_a_panic(kind in 0..4_usize, rest: Vec<u8>, cut in 0..60_usize) {
            let mut bytes = [png(9, 9), gif(9, 9), jpeg(9, 9), webp(9, 9)][kind].clone();
            bytes.truncate(cut);
            bytes.extend(rest);
            // The result does not matter; the check must not panic.
            let _ = check(&bytes);
        }
    }
}
