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

fn gallery(protocol: ImageProtocol) -> ImageCache {
    let mut gallery = ImageCache::new(protocol, 7);
    gallery.set_cell_size(Some(CellSize::USUAL));
    gallery
}

fn frame(gallery: &mut ImageCache, image: &Arc<Image>, area: Rect, cover: bool) -> (usize, Buffer) {
    let mut buffer = Buffer::empty(SCREEN);
    buffer.set_string(area.x, area.y, "[PNG]", ratatui_core::style::Style::new());
    let space = Rect { width: SCREEN.width - area.x, ..area };
    let placement = ImagePlacement::mark_area(image.clone(), area, space, &mut buffer);
    if cover {
        buffer.set_string(area.x, area.y, "x", ratatui_core::style::Style::new());
    }
    let hung = gallery.place_images(&[placement], &mut buffer).len();
    (hung, buffer)
}

fn row(buffer: &Buffer, y: u16) -> String {
    (0..20).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned()
}

fn wait(gallery: &mut ImageCache) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(gallery.finish_encoding());
}

#[test]
fn words_stand_until_an_image_is_ready_and_where_it_is_covered() {
    let (mut gallery, image, area) = (gallery(ImageProtocol::Kitty), png(), Rect::new(2, 1, 2, 1));
    let (hung, buffer) = frame(&mut gallery, &image, area, false);
    assert_eq!((hung, row(&buffer, 1)), (0, "  [PNG]".to_owned()));
    wait(&mut gallery);
    let (hung, buffer) = frame(&mut gallery, &image, area, false);
    assert_eq!((hung, row(&buffer, 1)), (1, String::new()));
    let (hung, buffer) = frame(&mut gallery, &image, area, true);
    assert_eq!((hung, row(&buffer, 1)), (0, "  xPNG]".to_owned()));
    assert!(gallery.job.is_none());
    // Another size needs another encoding.
    assert_eq!(frame(&mut gallery, &image, Rect::new(2, 1, 1, 1), false).0, 0);
    assert!(gallery.job.is_some());
}

#[test]
fn what_is_covered_is_not_decoded() {
    let mut gallery = gallery(ImageProtocol::Kitty);
    frame(&mut gallery, &png(), Rect::new(2, 1, 2, 1), true);
    assert!(gallery.job.is_none());
}

#[test]
fn what_cannot_be_decoded_takes_no_space_from_then_on() {
    let (mut gallery, image) = (gallery(ImageProtocol::Kitty), broken());
    let before = gallery.image_display().unwrap();
    let facts = ImageFacts { pixels: Some((20, 20)), ..ImageFacts::from_image(&image) };
    assert_eq!(before.image_cells(&image, &facts, 20, 24), Some((2, 1)));
    frame(&mut gallery, &image, Rect::new(0, 0, 2, 1), false);
    wait(&mut gallery);
    let after = gallery.image_display().unwrap();
    assert!(!Arc::ptr_eq(&before, &after));
    assert_eq!(after.image_cells(&image, &facts, 20, 24), None);
}

#[test]
fn what_is_drawn_does_not_have_the_terminal_scroll() {
    for (protocol, hangs) in [(ImageProtocol::Kitty, 1), (ImageProtocol::Iterm, 0), (ImageProtocol::Sixel, 0)]
    {
        let (mut gallery, image) = (gallery(protocol), png());
        let inside = Rect::new(0, 8, 2, 1);
        frame(&mut gallery, &image, inside, false);
        wait(&mut gallery);
        assert_eq!(frame(&mut gallery, &image, inside, false).0, 1);
        assert_eq!(frame(&mut gallery, &image, Rect::new(0, 9, 2, 1), false).0, hangs, "{protocol:?}");
    }
}

#[test]
fn sixels_need_to_know_the_cells() {
    let images = |protocol| {
        let mut gallery = ImageCache::new(protocol, 7);
        gallery.set_cell_size(None);
        gallery.image_display().map(|images| images.cell_size())
    };
    assert_eq!(images(ImageProtocol::Kitty), Some(CellSize::USUAL));
    assert_eq!(images(ImageProtocol::Iterm), Some(CellSize::USUAL));
    #[cfg(not(windows))]
    assert_eq!(images(ImageProtocol::Sixel), None);
}

#[test]
fn other_cells_are_another_picture() {
    let (mut gallery, image, area) = (gallery(ImageProtocol::Kitty), png(), Rect::new(2, 1, 2, 1));
    frame(&mut gallery, &image, area, false);
    gallery.set_cell_size(Some(CellSize { width: 8, height: 16 }));
    wait(&mut gallery);
    assert_eq!(frame(&mut gallery, &image, area, false).0, 0, "it was for other cells");
    wait(&mut gallery);
    assert_eq!(frame(&mut gallery, &image, area, false).0, 1);
}

#[test]
fn few_are_kept() {
    let mut gallery = gallery(ImageProtocol::Kitty);
    let images: Vec<_> = (0..5).map(|_| png()).collect();
    for image in &images {
        frame(&mut gallery, image, Rect::new(2, 1, 2, 1), false);
        wait(&mut gallery);
    }
    for kept in &mut gallery.kept {
        let text = "x".repeat(MOST_KEPT / 3);
        kept.encoded =
            Arc::new(EncodedImage { number: 1, way: super::super::encode::DisplayMethod::Placed, text });
    }
    frame(&mut gallery, &images[0], Rect::new(2, 1, 2, 1), false);
    gallery.evict_old();
    assert_eq!(gallery.kept.len(), 3);
    assert_eq!(frame(&mut gallery, &images[0], Rect::new(2, 1, 2, 1), false).0, 1);
    assert_eq!(frame(&mut gallery, &images[1], Rect::new(2, 1, 2, 1), false).0, 0);
}

#[test]
fn numbers_are_numbers() {
    for random in [0, 1, 0x7fff_ffff, u32::MAX] {
        assert!((1..=0x7fff_0000).contains(&ImageCache::new(ImageProtocol::Kitty, random).number));
    }
}
