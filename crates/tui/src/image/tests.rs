//! Tests of image labels, sizes and placement.

use super::*;

fn png(across: u32, down: u32) -> Arc<Image> {
    let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    png.extend(across.to_be_bytes());
    png.extend(down.to_be_bytes());
    png.extend(b"\x08\x02\0\0\0....");
    Arc::new(Image { mime_type: "image/png".to_owned(), data: STANDARD.encode(png).into() })
}

#[track_caller]
fn check(pixels: (u32, u32), columns: u16, rows: u16, expect: Option<(u16, u16)>) {
    let image = png(pixels.0, pixels.1);
    let images = ImageDisplay::new(CellSize::USUAL);
    assert_eq!(
        images.image_cells(&image, &ImageFacts::from_image(&image), columns, rows),
        expect,
        "{pixels:?}"
    );
}

#[test]
fn image_keeps_aspect_ratio_in_few_rows() {
    check((100, 40), 78, 24, Some((10, 2)));
    check((1, 1), 78, 24, Some((1, 1)));
    check((101, 41), 78, 24, Some((11, 3)));
    check((640, 480), 78, 24, Some((43, 16)));
    check((4000, 100), 78, 24, Some((78, 1)));
    check((100, 40_000), 78, 24, Some((1, 16)));
    check((640, 480), 20, 24, Some((20, 8)));
    check((640, 480), 78, 12, Some((22, 8)));
    check((640, 480), 78, 2, None);
    check((640, 480), 0, 24, None);
    check((39_000, 1000), 1024, 24, Some((400, 6)));
}

#[test]
fn oversized_image_takes_no_space() {
    check((65_535, 65_535), 78, 24, None);
    check((u32::MAX, u32::MAX), 78, 24, None);
    check((0, 10), 78, 24, None);
    check((10_000, 4_001), 78, 24, None);
}

#[test]
fn broken_image_takes_no_space() {
    let (image, other) = (png(100, 100), png(100, 100));
    let images = ImageDisplay::new(CellSize::USUAL).without_image(&image);
    assert_eq!(images.image_cells(&image, &ImageFacts::from_image(&image), 78, 24), None);
    assert!(images.image_cells(&other, &ImageFacts::from_image(&other), 78, 24).is_some());
}

#[test]
fn drawing_over_image_covers_it() {
    let mut buffer = Buffer::with_lines(["[PNG, 9]  ", "", ""]);
    let (area, space) = (Rect::new(0, 0, 4, 2), Rect::new(0, 0, 10, 2));
    let placement = ImagePlacement::mark_area(png(1, 1), area, space, &mut buffer);
    assert!(placement.is_uncovered(&buffer));
    let mut shown = buffer.clone();
    placement.clear_marks(true, &mut shown);
    assert_eq!(shown, Buffer::with_lines(["          ", "", ""]));
    if let Some(cell) = buffer.cell_mut((3, 1)) {
        cell.set_symbol("x");
    }
    assert!(!placement.is_uncovered(&buffer));
    placement.clear_marks(false, &mut buffer);
    assert_eq!(buffer, Buffer::with_lines(["[PNG, 9]  ", "   x", ""]));
}

#[test]
fn undrawn_image_is_not_uncovered() {
    let mut buffer = Buffer::empty(Rect::new(0, 0, 4, 4));
    let area = Rect::new(0, 0, 2, 2);
    let placement = ImagePlacement::mark_area(png(1, 1), area, area, &mut buffer);
    buffer.reset();
    assert!(!placement.is_uncovered(&buffer));
    let outside = Rect::new(9, 9, 2, 2);
    assert!(!ImagePlacement::mark_area(png(1, 1), outside, outside, &mut buffer).is_uncovered(&buffer));
}

#[track_caller]
fn check_words(mime_type: &str, bytes: &[u8], expect: &str) {
    let image = Image { mime_type: mime_type.to_owned(), data: STANDARD.encode(bytes).into() };
    assert_eq!(ImageFacts::from_image(&image).label_line(&Theme::dark()).to_string(), expect);
}

#[test]
fn describes_image() {
    let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\x80\0\0\x01\xe0\x08\x02\0\0\0....".to_vec();
    check_words("image/png", &png, "[PNG, 640×480, 33 bytes]");
    png.resize(12_600, 0);
    check_words("image/png", &png, "[PNG, 640×480, 12.3 KiB]");
    png.resize(3 * 1024 * 1024, 0);
    check_words("image/png", &png, "[PNG, 640×480, 3.0 MiB]");
    check_words("image/jpeg", b"\xff\xd8\xff", "[JPEG, 3 bytes]");
    check_words("", b"", "[image, 0 bytes]");
    check_words("image/\x1b[2Jx\n", b"abcd", "[X , 4 bytes]");
}

#[test]
fn invalid_base64_has_no_pixel_size() {
    let image = Image { mime_type: "image/gif".to_owned(), data: "????".into() };
    assert_eq!(ImageFacts::from_image(&image).pixels, None);
    assert_eq!(
        ImageFacts::from_mime_type("image/webp", u64::MAX)
            .label_line(&Theme::dark())
            .to_string()
            .chars()
            .next(),
        Some('[')
    );
}
