//! From placements to what hangs.

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

fn gallery(protocol: Protocol) -> Gallery {
    let mut gallery = Gallery::new(protocol, 7);
    gallery.measured(Some(CellSize::USUAL));
    gallery
}

fn frame(gallery: &mut Gallery, image: &Arc<Image>, area: Rect, cover: bool) -> (usize, Buffer) {
    let mut buffer = Buffer::empty(SCREEN);
    buffer.set_string(area.x, area.y, "[PNG]", ratatui_core::style::Style::new());
    let space = Rect { width: SCREEN.width - area.x, ..area };
    let placement = Placement::mark(image.clone(), area, space, &mut buffer);
    if cover {
        buffer.set_string(area.x, area.y, "x", ratatui_core::style::Style::new());
    }
    let hung = gallery.hang(&[placement], &mut buffer).len();
    (hung, buffer)
}

fn row(buffer: &Buffer, y: u16) -> String {
    (0..20).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned()
}

fn wait(gallery: &mut Gallery) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(gallery.ready());
}

#[test]
fn words_stand_until_an_image_is_ready_and_where_it_is_covered() {
    let (mut gallery, image, area) = (gallery(Protocol::Kitty), png(), Rect::new(2, 1, 2, 1));
    let (hung, buffer) = frame(&mut gallery, &image, area, false);
    assert_eq!((hung, row(&buffer, 1)), (0, "  [PNG]".to_owned()));
    wait(&mut gallery);
    let (hung, buffer) = frame(&mut gallery, &image, area, false);
    assert_eq!((hung, row(&buffer, 1)), (1, String::new()));
    let (hung, buffer) = frame(&mut gallery, &image, area, true);
    assert_eq!((hung, row(&buffer, 1)), (0, "  xPNG]".to_owned()));
    assert!(gallery.job.is_none());
    // Another size is another picture.
    assert_eq!(frame(&mut gallery, &image, Rect::new(2, 1, 1, 1), false).0, 0);
    assert!(gallery.job.is_some());
}

#[test]
fn what_is_covered_is_not_decoded() {
    let mut gallery = gallery(Protocol::Kitty);
    frame(&mut gallery, &png(), Rect::new(2, 1, 2, 1), true);
    assert!(gallery.job.is_none());
}

#[test]
fn what_cannot_be_decoded_takes_no_space_from_then_on() {
    let (mut gallery, image) = (gallery(Protocol::Kitty), broken());
    let before = gallery.images().unwrap();
    let facts = ImageFacts { pixels: Some((20, 20)), ..ImageFacts::of(&image) };
    assert_eq!(before.space(&image, &facts, 20, 24), Some((2, 1)));
    frame(&mut gallery, &image, Rect::new(0, 0, 2, 1), false);
    wait(&mut gallery);
    let after = gallery.images().unwrap();
    assert!(!Arc::ptr_eq(&before, &after));
    assert_eq!(after.space(&image, &facts, 20, 24), None);
}

#[test]
fn what_is_drawn_does_not_have_the_terminal_scroll() {
    for (protocol, hangs) in [(Protocol::Kitty, 1), (Protocol::Iterm, 0), (Protocol::Sixel, 0)] {
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
        let mut gallery = Gallery::new(protocol, 7);
        gallery.measured(None);
        gallery.images().map(|images| images.cell())
    };
    assert_eq!(images(Protocol::Kitty), Some(CellSize::USUAL));
    assert_eq!(images(Protocol::Iterm), Some(CellSize::USUAL));
    #[cfg(not(windows))]
    assert_eq!(images(Protocol::Sixel), None);
}

#[test]
fn other_cells_are_another_picture() {
    let (mut gallery, image, area) = (gallery(Protocol::Kitty), png(), Rect::new(2, 1, 2, 1));
    frame(&mut gallery, &image, area, false);
    gallery.measured(Some(CellSize { width: 8, height: 16 }));
    wait(&mut gallery);
    assert_eq!(frame(&mut gallery, &image, area, false).0, 0, "it was for other cells");
    wait(&mut gallery);
    assert_eq!(frame(&mut gallery, &image, area, false).0, 1);
}

#[test]
fn few_are_kept() {
    let mut gallery = gallery(Protocol::Kitty);
    let images: Vec<_> = (0..5).map(|_| png()).collect();
    for image in &images {
        frame(&mut gallery, image, Rect::new(2, 1, 2, 1), false);
        wait(&mut gallery);
    }
    for kept in &mut gallery.kept {
        let text = "x".repeat(MOST_KEPT / 3);
        kept.encoded = Arc::new(Encoded { number: 1, way: super::super::encode::Way::Placed, text });
    }
    frame(&mut gallery, &images[0], Rect::new(2, 1, 2, 1), false);
    gallery.forget_old();
    assert_eq!(gallery.kept.len(), 3);
    assert_eq!(frame(&mut gallery, &images[0], Rect::new(2, 1, 2, 1), false).0, 1);
    assert_eq!(frame(&mut gallery, &images[1], Rect::new(2, 1, 2, 1), false).0, 0);
}

#[test]
fn numbers_are_numbers() {
    for random in [0, 1, 0x7fff_ffff, u32::MAX] {
        assert!((1..=0x7fff_0000).contains(&Gallery::new(Protocol::Kitty, random).number));
    }
}
