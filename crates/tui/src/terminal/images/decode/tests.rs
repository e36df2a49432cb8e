//! Tests with images of all kinds, and with data that only resembles an image.

use image::{ImageFormat, Rgba};

use super::*;

const CELL: CellSize = CellSize::USUAL;

fn coded(mime_type: &str, bytes: &[u8]) -> Image {
    Image { mime_type: mime_type.to_owned(), data: STANDARD.encode(bytes).into() }
}

fn bytes(format: ImageFormat, across: u32, down: u32) -> Vec<u8> {
    let red = RgbaImage::from_pixel(across, down, Rgba([255, 0, 0, 255]));
    let mut bytes = Cursor::new(Vec::new());
    DynamicImage::from(red).to_rgb8().write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

#[test]
fn decodes_each_image_kind() {
    for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Gif, ImageFormat::WebP] {
        let pixels = decode(&coded("image/png", &bytes(format, 30, 30)), (4, 2), CELL).unwrap();
        assert_eq!(pixels.dimensions(), (40, 40));
        let Rgba([red, green, _, alpha]) = *pixels.get_pixel(29, 29);
        assert!(red > 240 && green < 20 && alpha == 255, "{format:?}");
        assert_eq!(pixels.get_pixel(30, 0)[3], 0, "{format:?}");
    }
}

#[test]
fn scales_down_large_image() {
    let pixels = decode(&coded("", &bytes(ImageFormat::Png, 400, 100)), (10, 2), CELL).unwrap();
    assert_eq!(pixels.dimensions(), (100, 40));
    assert_eq!((pixels.get_pixel(99, 24)[3], pixels.get_pixel(99, 25)[3]), (255, 0));
}

#[test]
fn rotates_image_by_orientation() {
    let left = RgbaImage::from_fn(40, 20, |x, _| Rgba([if x < 20 { 255 } else { 0 }, 0, 0, 255]));
    let mut jpeg = Cursor::new(Vec::new());
    DynamicImage::from(left).to_rgb8().write_to(&mut jpeg, ImageFormat::Jpeg).unwrap();
    let mut jpeg = jpeg.into_inner();
    let exif = b"\xff\xe1\0\x22Exif\0\0II\x2a\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0";
    jpeg.splice(2..2, exif.iter().copied());
    let pixels = decode(&coded("image/jpeg", &jpeg), (4, 1), CELL).unwrap();
    // 10 across and 20 down, and what was on the left is above.
    let at = |x, y| (pixels.get_pixel(x, y)[0] > 128, pixels.get_pixel(x, y)[3]);
    assert_eq!([at(5, 2), at(5, 17), at(10, 2)], [(true, 255), (false, 255), (false, 0)]);
}

#[track_caller]
fn check(image: &Image, expect: &str) {
    let error = decode(image, (4, 2), CELL).unwrap_err();
    assert!(format!("{error:?}").starts_with(expect), "{error:?}");
}

#[test]
fn rejects_oversized_image() {
    let mut png = bytes(ImageFormat::Png, 8, 8);
    png[16..24].copy_from_slice(&[0, 0, 0xff, 0xff, 0, 0, 0xff, 0xff]);
    let check_crc = crc(&png[12..29]);
    png[29..33].copy_from_slice(&check_crc.to_be_bytes());
    check(&coded("image/png", &png), "TooLarge");
    let mut gif = bytes(ImageFormat::Gif, 8, 8);
    gif[6..10].copy_from_slice(&[0xff; 4]);
    check(&coded("image/gif", &gif), "TooLarge");
    check(&Image { mime_type: String::new(), data: "A".repeat(28_000_000).into() }, "TooLarge");
}

/// Returns the checksum of a PNG chunk.
fn crc(bytes: &[u8]) -> u32 {
    let bit = |crc: u32, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), bit))
}

#[test]
fn rejects_data_without_image() {
    check(&Image { mime_type: "image/png".to_owned(), data: "\x1b[2J".into() }, "NotBase64");
    check(&coded("image/png", b""), "Decode");
    check(&coded("image/svg+xml", b"<svg><script>alert(1)</script></svg>"), "Decode");
    check(&coded("image/png", b"\x89PNG\r\n\x1a\n"), "Decode");
    check(&coded("image/bmp", b"BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x02\0\0\0\x02\0\0\0"), "Decode");
}

#[test]
fn corrupt_images_do_not_panic() {
    for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Gif, ImageFormat::WebP] {
        let whole = bytes(format, 20, 20);
        for end in 0..whole.len() {
            let _ = decode(&coded("", &whole[..end]), (2, 1), CELL);
        }
        for at in 0..whole.len() {
            let mut wrong = whole.clone();
            wrong[at] ^= 0xff;
            // The dimensions may have changed: decoding up to 40 megapixels takes time.
            if imagesize::blob_size(&wrong)
                .is_ok_and(|size| size.width.saturating_mul(size.height) < 1_000_000)
            {
                let _ = decode(&coded("", &wrong), (2, 1), CELL);
            }
        }
    }
}
