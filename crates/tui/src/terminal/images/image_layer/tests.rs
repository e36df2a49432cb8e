//! Tests of the output when images appear, stay, move and disappear.

use super::*;

const SCREEN: Rect = Rect { x: 0, y: 0, width: 20, height: 10 };

fn placed_image(number: u32, way: DisplayMethod, y: u16) -> PlacedImage {
    let encoded = Arc::new(EncodedImage { number, way, text: format!("<{number}>") });
    PlacedImage { encoded, area: Rect::new(1, y, 4, 2) }
}

/// Renders a frame that writes no cells.
fn frame(layer: &mut ImageLayer, next: &[PlacedImage]) -> String {
    let down = layer.remove_missing(next, &mut Buffer::empty(SCREEN));
    down + &layer.show_images(next.to_vec())
}

#[test]
fn placed_image_is_sent_once_moved_and_removed() {
    let mut layer = ImageLayer::default();
    let first = frame(&mut layer, &[placed_image(7, DisplayMethod::Placed, 2)]);
    assert_eq!(first, "\x1b[3;2H<7>\x1b_Ga=p,i=7,p=1,c=4,r=2,C=1,q=2\x1b\\");
    assert_eq!(frame(&mut layer, &[placed_image(7, DisplayMethod::Placed, 2)]), "");
    let moved = frame(&mut layer, &[placed_image(7, DisplayMethod::Placed, 3)]);
    assert_eq!(moved, "\x1b_Ga=d,d=i,i=7,p=1,q=2\x1b\\\x1b[4;2H\x1b_Ga=p,i=7,p=1,c=4,r=2,C=1,q=2\x1b\\");
    assert_eq!(frame(&mut layer, &[]), "\x1b_Ga=d,d=i,i=7,p=1,q=2\x1b\\");
    let again = frame(&mut layer, &[placed_image(7, DisplayMethod::Placed, 2)]);
    assert!(!again.contains("<7>") && again.contains("a=p,i=7"), "{again:?}");
    assert_eq!(layer.forget_images(), "\x1b_Ga=d,d=I,i=7,q=2\x1b\\");
    assert_eq!(layer.forget_images(), "");
    assert!(frame(&mut layer, &[placed_image(7, DisplayMethod::Placed, 2)]).contains("<7>"));
}

#[test]
fn deletes_images_beyond_terminal_limit() {
    let (mut layer, mut out) = (ImageLayer::default(), String::new());
    for number in 1..=20 {
        out += &frame(&mut layer, &[placed_image(number, DisplayMethod::Placed, 2)]);
    }
    for number in 1..=20 {
        assert_eq!(out.contains(&format!("d=I,i={number},")), number <= 4, "{number}");
    }
    assert_eq!(layer.sent.len(), MOST_SENT);
    let all: Vec<_> = (1..=20).map(|number| placed_image(number, DisplayMethod::Placed, 0)).collect();
    assert!(!frame(&mut layer, &all).contains("d=I"), "shown images stay");
}

#[test]
fn drawn_image_is_redrawn_after_cells_change() {
    let mut layer = ImageLayer::default();
    let one = [placed_image(7, DisplayMethod::Drawn, 2)];
    assert_eq!(frame(&mut layer, &one), "\x1b[3;2H<7>");
    assert_eq!(frame(&mut layer, &one), "");
    assert!(layer.covers_cell(4, 3) && !layer.covers_cell(5, 3) && !layer.covers_cell(4, 4));
    layer.forget_overwritten(&[(4, 3)]);
    assert_eq!(frame(&mut layer, &one), "\x1b[3;2H<7>");
    layer.forget_overwritten(&[(0, 0)]);
    assert_eq!(frame(&mut layer, &one), "");
}

#[test]
fn cells_below_removed_image_are_written() {
    let (mut layer, mut cells) = (ImageLayer::default(), Buffer::empty(SCREEN));
    frame(&mut layer, &[placed_image(7, DisplayMethod::Drawn, 2)]);
    assert_eq!(layer.remove_missing(&[], &mut cells), "");
    let (blank, mut written) = (Buffer::empty(SCREEN), Vec::new());
    written.extend(cells.diff_iter(&blank).map(|(x, y, _)| (x, y)));
    assert_eq!(written, [2, 3].map(|y| [1, 2, 3, 4].map(|x| (x, y))).concat());
}
