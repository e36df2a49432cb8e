//! Tests of image space and image positions in the transcript.

use std::sync::Arc;

use haft_protocol::content::{ContentBlock, Image};
use haft_protocol::event::AgentEvent as E;
use haft_tui::image::{CellSize, ImageDisplay, ImagePlacement};
use haft_tui::keys::Scroll;
use ratatui_core::layout::Rect;

use super::{Shown, id, said, time};
use crate::images::png;

fn content(across: u32, down: u32) -> ContentBlock {
    ContentBlock::Image(Image { mime_type: "image/png".into(), data: png(across, down).into() })
}

fn shown(width: u16, height: u16) -> Shown {
    let images = Some(Arc::new(ImageDisplay::new(CellSize::USUAL)));
    Shown { images, ..Shown::new(width, height) }
}

fn tool_gives(shown: &mut Shown, images: &[(u32, u32)]) {
    shown.event(&E::ToolResult {
        id: id("1"),
        name: "read".into(),
        is_error: false,
        content: images.iter().map(|(across, down)| content(*across, *down)).collect(),
        extension: None,
        synthetic_by: None,
        details: None,
        entry: None,
    });
}

fn areas(shown: &Shown) -> Vec<Rect> {
    shown.transcript.image_placements().iter().map(|ImagePlacement { area, .. }| *area).collect()
}

#[test]
fn shows_image_below_prompt() {
    let mut shown = shown(40, 20);
    shown.event(&E::UserMessage {
        content: vec![ContentBlock::text("look"), content(100, 60)],
        time: time(),
        entry: None,
    });
    shown.event(&said("more"));
    let rows = shown.rows();
    assert_eq!(rows[0], "› look");
    assert_eq!(rows[5], "› more");
    assert_eq!(areas(&shown), [Rect::new(2, 1, 10, 3)]);
}

#[test]
fn shows_tool_images_below_call() {
    let mut shown = shown(40, 20);
    tool_gives(&mut shown, &[(100, 60), (20, 20)]);
    shown.draw();
    assert_eq!(areas(&shown), [Rect::new(2, 1, 10, 3), Rect::new(2, 4, 2, 1)]);
}

#[test]
fn image_alone_is_a_message() {
    let mut shown = shown(40, 20);
    shown.event(&E::UserMessage { content: vec![content(100, 60)], time: time(), entry: None });
    shown.draw();
    assert_eq!(areas(&shown), [Rect::new(2, 0, 10, 3)]);
}

#[test]
fn partly_visible_image_shows_label() {
    let mut shown = shown(40, 5);
    tool_gives(&mut shown, &[(100, 40)]);
    for at in 0..4 {
        shown.event(&said(&format!("message {at}")));
    }
    shown.draw();
    shown.transcript.scroll(Scroll::Top);
    shown.draw();
    assert_eq!(areas(&shown), [Rect::new(2, 1, 10, 2)]);
    shown.transcript.scroll(Scroll::LineDown);
    shown.draw();
    assert_eq!(areas(&shown), [Rect::new(2, 0, 10, 2)]);
    shown.transcript.scroll(Scroll::LineDown);
    let rows = shown.rows();
    assert_eq!((rows[0].as_str(), areas(&shown)), ("  [PNG, 100×40, 91 bytes]", Vec::new()));
    shown.transcript.scroll(Scroll::LineDown);
    shown.draw();
    assert_eq!(areas(&shown), []);
}

#[test]
fn image_cut_off_below_shows_label() {
    let mut shown = shown(40, 8);
    shown.event(&said("one"));
    tool_gives(&mut shown, &[(100, 80)]);
    shown.event(&said("two"));
    shown.event(&said("three"));
    shown.draw();
    shown.transcript.scroll(Scroll::Top);
    shown.draw();
    assert_eq!(areas(&shown), [Rect::new(2, 3, 10, 4)]);
    shown.size = (40, 6);
    assert!(shown.draw().contains("[PNG, 100×80,"));
    assert_eq!(areas(&shown), []);
}

#[test]
fn layout_is_unchanged_without_image_support() {
    let mut with = shown(40, 20);
    let mut without = Shown::new(40, 20);
    for shown in [&mut with, &mut without] {
        tool_gives(shown, &[(40_000, 40_000)]);
        shown.event(&E::UserMessage { content: vec![content(70_000, 70_000)], time: time(), entry: None });
    }
    assert_eq!(with.draw(), without.draw());
    assert_eq!(areas(&with), []);
}

#[test]
fn broken_image_frees_its_space() {
    let mut shown = shown(40, 20);
    tool_gives(&mut shown, &[(100, 100)]);
    shown.event(&said("more"));
    assert_eq!(shown.rows().len(), 8);
    let broken = shown.transcript.image_placements()[0].image.clone();
    shown.images = shown.images.map(|images| Arc::new(images.without_image(&broken)));
    let rows = shown.rows();
    assert_eq!(rows[1..], ["  [PNG, 100×100, 91 bytes]", "", "› more"]);
    assert_eq!(areas(&shown), []);
}

#[test]
fn labels_are_copied_and_kept_at_exit() {
    let mut shown = shown(40, 20);
    tool_gives(&mut shown, &[(100, 100)]);
    let theme = shown.theme.clone();
    let tail = shown.transcript.last_rows(40, 20, &theme);
    assert_eq!(tail.len(), 2);
    assert!(tail[1].to_string().contains("[PNG, 100×100"));
}

#[test]
fn draws_images_on_small_screens() {
    for (width, height) in [(1, 1), (2, 3), (20, 6), (5, 40), (30, 3)] {
        let mut shown = shown(width, height);
        tool_gives(&mut shown, &[(100, 100), (1, 9000), (9000, 1)]);
        shown.event(&E::UserMessage { content: vec![content(100, 100)], time: time(), entry: None });
        for _ in 0..30 {
            shown.draw();
            let screen = Rect::new(0, 0, width, height);
            assert!(areas(&shown).iter().all(|area| screen.intersection(*area) == *area));
            shown.transcript.scroll(Scroll::LineUp);
        }
    }
}
