//! Tests from placements to shown images.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ratatui_core::layout::Rect;

use super::*;
use crate::image::ImageFacts;

const SCREEN: Rect = Rect { x: 0, y: 0, width: 20, height: 10 };

fn png() -> Arc<Image> {
    let mut png = std::io::Cursor::new(Vec::new());
    image::RgbaImage::new(20, 20).write_to(&mut png, image::ImageFormat::Png).unwrap();
    Arc::new(Image { mime_type: "image/png".to_owned(), data: STANDARD.encode(png.into_inner()).into() })
}

fn broken() -> Arc<Image> {
    Arc::new(Image { mime_type: "image/png".to_owned(), data: "AAAA".into() })
}

fn new_cache(protocol: ImageProtocol) -> ImageCache {
    let mut cache = ImageCache::new(protocol, 7);
    cache.set_cell_size(Some(CellSize::USUAL));
    cache
}

fn frame(cache: &mut ImageCache, image: &Arc<Image>, area: Rect, cover: bool) -> (usize, Buffer) {
    let mut buffer = Buffer::empty(SCREEN);
    buffer.set_string(area.x, area.y, "[PNG]", ratatui_core::style::Style::new());
    let space = Rect { width: SCREEN.width - area.x, ..area };
    let placement = ImagePlacement::mark_area(image.clone(), area, space, &mut buffer);
    if cover {
        buffer.set_string(area.x, area.y, "x", ratatui_core::style::Style::new());
    }
    let placed = cache.place_images(&[placement], &mut buffer).len();
    (placed, buffer)
}

fn row(buffer: &Buffer, y: u16) -> String {
    (0..20).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned()
}

fn wait(cache: &mut ImageCache) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(cache.finish_encoding());
}

#[test]
fn shows_label_until_image_is_ready_or_when_covered() {
    let (mut cache, image, area) = (new_cache(ImageProtocol::Kitty), png(), Rect::new(2, 1, 2, 1));
    let (placed, buffer) = frame(&mut cache, &image, area, false);
    assert_eq!((placed, row(&buffer, 1)), (0, "  [PNG]".to_owned()));
    wait(&mut cache);
    let (placed, buffer) = frame(&mut cache, &image, area, false);
    assert_eq!((placed, row(&buffer, 1)), (1, String::new()));
    let (placed, buffer) = frame(&mut cache, &image, area, true);
    assert_eq!((placed, row(&buffer, 1)), (0, "  xPNG]".to_owned()));
    assert!(cache.job.is_none());
    // Another size needs another encoding.
    assert_eq!(frame(&mut cache, &image, Rect::new(2, 1, 1, 1), false).0, 0);
    assert!(cache.job.is_some());
}

#[test]
fn covered_image_is_not_decoded() {
    let mut cache = new_cache(ImageProtocol::Kitty);
    frame(&mut cache, &png(), Rect::new(2, 1, 2, 1), true);
    assert!(cache.job.is_none());
}

#[test]
fn undecodable_image_loses_its_space() {
    let (mut cache, image) = (new_cache(ImageProtocol::Kitty), broken());
    let before = cache.image_display().unwrap();
    let facts = ImageFacts { pixels: Some((20, 20)), ..ImageFacts::from_image(&image) };
    assert_eq!(before.image_cells(&image, &facts, 20, 24), Some((2, 1)));
    frame(&mut cache, &image, Rect::new(0, 0, 2, 1), false);
    wait(&mut cache);
    let after = cache.image_display().unwrap();
    assert!(!Arc::ptr_eq(&before, &after));
    assert_eq!(after.image_cells(&image, &facts, 20, 24), None);
}

#[test]
fn image_in_last_row_is_not_shown() {
    for (protocol, is_placed) in
        [(ImageProtocol::Kitty, 1), (ImageProtocol::Iterm, 0), (ImageProtocol::Sixel, 0)]
    {
        let (mut cache, image) = (new_cache(protocol), png());
        let inside = Rect::new(0, 8, 2, 1);
        frame(&mut cache, &image, inside, false);
        wait(&mut cache);
        assert_eq!(frame(&mut cache, &image, inside, false).0, 1);
        assert_eq!(frame(&mut cache, &image, Rect::new(0, 9, 2, 1), false).0, is_placed, "{protocol:?}");
    }
}

#[test]
fn sixel_requires_known_cell_size() {
    let images = |protocol| {
        let mut cache = ImageCache::new(protocol, 7);
        cache.set_cell_size(None);
        cache.image_display().map(|images| images.cell_size())
    };
    assert_eq!(images(ImageProtocol::Kitty), Some(CellSize::USUAL));
    assert_eq!(images(ImageProtocol::Iterm), Some(CellSize::USUAL));
    #[cfg(not(windows))]
    assert_eq!(images(ImageProtocol::Sixel), None);
}

#[test]
fn changed_cell_size_encodes_again() {
    let (mut cache, image, area) = (new_cache(ImageProtocol::Kitty), png(), Rect::new(2, 1, 2, 1));
    frame(&mut cache, &image, area, false);
    cache.set_cell_size(Some(CellSize { width: 8, height: 16 }));
    wait(&mut cache);
    assert_eq!(frame(&mut cache, &image, area, false).0, 0, "the encoding is for other cells");
    wait(&mut cache);
    assert_eq!(frame(&mut cache, &image, area, false).0, 1);
}

#[test]
fn evicts_images_beyond_limit() {
    let mut cache = new_cache(ImageProtocol::Kitty);
    let images: Vec<_> = (0..5).map(|_| png()).collect();
    for image in &images {
        frame(&mut cache, image, Rect::new(2, 1, 2, 1), false);
        wait(&mut cache);
    }
    for kept in &mut cache.kept {
        let text = "x".repeat(MOST_KEPT / 3);
        kept.encoded =
            Arc::new(EncodedImage { number: 1, way: super::super::encode::DisplayMethod::Placed, text });
    }
    frame(&mut cache, &images[0], Rect::new(2, 1, 2, 1), false);
    cache.evict_old();
    assert_eq!(cache.kept.len(), 3);
    assert_eq!(frame(&mut cache, &images[0], Rect::new(2, 1, 2, 1), false).0, 1);
    assert_eq!(frame(&mut cache, &images[1], Rect::new(2, 1, 2, 1), false).0, 0);
}

#[test]
fn image_numbers_stay_in_range() {
    for random in [0, 1, 0x7fff_ffff, u32::MAX] {
        assert!((1..=0x7fff_0000).contains(&ImageCache::new(ImageProtocol::Kitty, random).number));
    }
}
