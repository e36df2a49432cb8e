//! Decodes untrusted image data to the pixels of its cells.
//!
//! The size is read from the header before decoding, and the decoder's memory is limited to the needs of the largest
//! image. All of the code is safe, and a panic of a decoder counts as a failure.

use std::io::Cursor;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use haft_protocol::content::Image;
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder as _, ImageError, ImageReader, Limits, RgbaImage};

use crate::image::{CellSize, MOST_BYTES, MOST_PIXELS, fit_within};

/// The memory limit of a decoder: the largest image with four bytes per pixel, plus working memory.
const MOST_MEMORY: u64 = MOST_PIXELS * 5;

/// The reason why an image is not shown.
#[derive(Debug, thiserror::Error)]
pub(super) enum UnusableImage {
    #[error("the image is too large to show")]
    TooLarge,
    #[error("the image is not valid base64")]
    NotBase64(#[source] base64::DecodeError),
    #[error("the image cannot be decoded")]
    Decode(#[source] ImageError),
}

/// Decodes an image to the pixels of a number of columns and rows. The image is at the top left and keeps its aspect
/// ratio; the rest is transparent.
pub(super) fn decode(image: &Image, size: (u16, u16), cell: CellSize) -> Result<RgbaImage, UnusableImage> {
    let most = (u32::from(size.0) * u32::from(cell.width), u32::from(size.1) * u32::from(cell.height));
    let (decoded, turned) = decode_pixels(image)?;
    let mut canvas = RgbaImage::new(most.0, most.1);
    image::imageops::replace(&mut canvas, &shrink_to_fit(decoded, turned, most).into_rgba8(), 0, 0);
    Ok(canvas)
}

fn shrink_to_fit(decoded: DynamicImage, turned: Orientation, most: (u32, u32)) -> DynamicImage {
    let lies = match turned {
        Orientation::Rotate90
        | Orientation::Rotate270
        | Orientation::Rotate90FlipH
        | Orientation::Rotate270FlipH => true,
        Orientation::NoTransforms
        | Orientation::Rotate180
        | Orientation::FlipHorizontal
        | Orientation::FlipVertical => false,
    };
    let most = if lies { (most.1, most.0) } else { most };
    let wide = |(across, down): (u32, u32)| (u64::from(across), u64::from(down));
    let (across, down) = fit_within(wide((decoded.width(), decoded.height())), wide(most));
    let [across, down] = [across, down].map(|pixels| u32::try_from(pixels).unwrap_or(u32::MAX));
    let as_it_is = (across, down) == (decoded.width(), decoded.height());
    let mut shrunk = if as_it_is { decoded } else { decoded.thumbnail_exact(across, down) };
    shrunk.apply_orientation(turned);
    shrunk
}

fn decode_pixels(image: &Image) -> Result<(DynamicImage, Orientation), UnusableImage> {
    let coded = image.data.as_bytes();
    if u64::try_from(coded.len() / 4 * 3).is_ok_and(|bytes| bytes > MOST_BYTES) {
        return Err(UnusableImage::TooLarge);
    }
    let bytes = STANDARD.decode(coded).map_err(UnusableImage::NotBase64)?;
    let mut limits = Limits::default();
    limits.max_alloc = Some(MOST_MEMORY);
    // The declared type may be wrong: the first bytes decide.
    let mut reader = ImageReader::new(Cursor::new(bytes))
        .with_guessed_format()
        .map_err(|error| UnusableImage::Decode(ImageError::IoError(error)))?;
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(UnusableImage::Decode)?;
    let (across, down) = decoder.dimensions();
    let pixels = u64::from(across) * u64::from(down);
    if pixels == 0 || pixels > MOST_PIXELS || decoder.total_bytes() > MOST_MEMORY {
        return Err(UnusableImage::TooLarge);
    }
    let turned = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    Ok((DynamicImage::from_decoder(decoder).map_err(UnusableImage::Decode)?, turned))
}

#[cfg(test)]
#[path = "decode/tests.rs"]
mod tests;
