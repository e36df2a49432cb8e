//! Images from outside, looked at by their headers: nothing here decodes a pixel.

use std::io::{self, Read as _};

use base64::engine::general_purpose::STANDARD;
use base64::read::DecoderReader;
use base64::{Engine as _, decoded_len_estimate};
use haft_protocol::content::{Image, ImageData};

/// The largest image, in bytes: 5 MiB. Providers take no larger one.
pub const MAX_BYTES: usize = 5 * 1024 * 1024;

/// The longest side, in pixels.
pub const MAX_SIDE: usize = 32_767;

/// The largest area, in pixels: a hundred million. A file of a few bytes can claim four thousand million, and
/// whoever decodes it needs the room.
pub const MAX_PIXELS: usize = 100_000_000;

/// Why an image cannot be shown to a model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// It has no bytes.
    #[error("the image has no data")]
    Empty,
    /// It has more bytes than are taken: [`MAX_BYTES`], or fewer.
    #[error("the image is larger than {longest} bytes")]
    TooLong {
        /// The greatest number of characters.
        longest: usize,
    },
    /// Its text is something else.
    #[error("the image is not valid base64: {detail}")]
    NotBase64 {
        /// Where, and what stands there.
        detail: String,
    },
    /// Its first bytes are those of no kind that models read.
    #[error("not a PNG, JPEG, GIF or WebP image")]
    UnknownKind,
    /// Its header ends before it says how large it is.
    #[error("the image header is damaged")]
    Damaged,
    /// It claims more pixels than anybody could show.
    #[error("the image is too large: {width} by {height} pixels")]
    TooLarge {
        /// Pixels across.
        width: usize,
        /// Pixels down.
        height: usize,
    },
}

/// The type of an image that models read, by its first bytes.
pub fn mime_type(start: &[u8]) -> Option<&'static str> {
    match start {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// The type of a whole image that a model can be shown.
///
/// # Errors
/// [`ImageError`] when it cannot.
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

/// [`check`] of an image in base64 that may have so many bytes. Nearly always only its beginning is kept: the rest is
/// known to be base64, and how long it is.
///
/// # Errors
/// [`ImageError`] when it cannot be shown.
pub fn check_base64(text: &str, longest: usize) -> Result<&'static str, ImageError> {
    // Padding stands for two bytes at most.
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
        // Some have long comments before the header says how large they are.
        Ok(_) | Err(_) => check(&decode(text)?),
    }
}

fn decode(text: &str) -> Result<Vec<u8>, ImageError> {
    STANDARD.decode(text).map_err(|error| ImageError::NotBase64 { detail: error.to_string() })
}

/// The number of bytes of an image that are read first.
const BEGINNING: u64 = 3 * 1024;

/// An image in base64, as a model can be shown it. It is what its bytes are, whatever its sender calls it; its text is
/// passed on as it came.
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
/// [`ImageError`] when a model cannot be shown it.
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
    fn known_by_their_first_bytes() {
        assert_eq!(mime_type(b"\x89PNG\r\n\x1a\n..."), Some("image/png"));
        assert_eq!(mime_type(b"\xff\xd8\xff\xe0"), Some("image/jpeg"));
        assert_eq!(mime_type(b"GIF89a"), Some("image/gif"));
        assert_eq!(mime_type(b"RIFF\x01\x02\x03\x04WEBPVP8 "), Some("image/webp"));
        assert_eq!(mime_type(b"RIFF\x01\x02\x03\x04WAVE"), None);
        assert_eq!(mime_type(b""), None);
    }

    #[test]
    fn every_kind_says_how_large_it_is() {
        assert_eq!(check(&png(640, 480)), Ok("image/png"));
        assert_eq!(check(&gif(640, 480)), Ok("image/gif"));
        assert_eq!(check(&jpeg(640, 480)), Ok("image/jpeg"));
        assert_eq!(check(&webp(640, 480)), Ok("image/webp"));
    }

    #[test]
    fn a_file_that_claims_too_many_pixels_is_refused() {
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
    fn what_is_no_image_is_refused() {
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
    fn an_image_in_base64_is_what_its_bytes_are() {
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
        fn a_text_is_base64_if_it_can_be_decoded(
            text in "[A-Za-z0-9+/=\n_é-]{0,12}|[A-Za-z0-9+/]{0,12}={0,3}|([AQ+/]{4}){2000}[AQ=]{4}",
        ) {
            prop_assert_eq!(check_base64(&text, MAX_BYTES), decode(&text).and_then(|bytes| check(&bytes)));
        }

        #[test]
        fn no_header_is_too_strange(kind in 0..4_usize, rest: Vec<u8>, cut in 0..60_usize) {
            let mut bytes = [png(9, 9), gif(9, 9), jpeg(9, 9), webp(9, 9)][kind].clone();
            bytes.truncate(cut);
            bytes.extend(rest);
            // Whatever it says, it says something.
            let _ = check(&bytes);
        }
    }
}
