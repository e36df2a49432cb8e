//! Tests with a hundred thousand messages.

use haft_protocol::content::ContentBlock;
use haft_protocol::event::AgentEvent as E;
use haft_protocol::message::{AssistantMessage, Message};
use haft_tui::app::MouseKind;
use haft_tui::keys::Scroll;
use haft_tui::transcript::SearchOutcome;

use super::{Shown, block, delta, time};

/// The number of items that a frame may lay out when all visible items are new.
const FRAME: usize = 40;

fn many() -> Shown {
    let mut messages = Vec::new();
    for number in 0..50_000 {
        let content = vec![ContentBlock::text(format!("question {number}"))];
        messages.push(Message::User { content, time: time() });
        let content = vec![block(&format!("answer {number}"))];
        messages.push(Message::Assistant(AssistantMessage::new(content, time())));
    }
    let mut shown = Shown::new(80, 24);
    shown.transcript.restore(&messages);
    shown
}

#[test]
fn frame_cost_depends_on_visible_items() {
    let mut shown = many();
    assert_eq!(shown.rows().last().unwrap(), "answer 49999");
    let mut before = shown.transcript.layout_count();
    assert!(before <= FRAME, "{before}");

    // A streaming text: one item per frame.
    shown.event(&E::AssistantStart);
    for _ in 0..200 {
        shown.event(&delta("a word and "));
        shown.event(&delta("another\n\n"));
        shown.draw();
    }
    let made = shown.transcript.layout_count() - before;
    assert!((200..=200 + FRAME).contains(&made), "{made}");

    for action in
        [Scroll::PageUp, Scroll::MessageUp, Scroll::Top, Scroll::PageDown, Scroll::LineUp, Scroll::Bottom]
    {
        before = shown.transcript.layout_count();
        shown.transcript.scroll(action);
        shown.draw();
        let made = shown.transcript.layout_count() - before;
        assert!(made <= 2 * FRAME, "{action:?}: {made}");
    }

    // Far from the streaming item, streaming costs nothing.
    shown.transcript.scroll(Scroll::Top);
    shown.draw();
    before = shown.transcript.layout_count();
    for _ in 0..100 {
        shown.event(&delta("word "));
        shown.draw();
    }
    assert_eq!(shown.transcript.layout_count(), before);
}

#[test]
fn global_change_lays_out_visible_items() {
    let mut shown = many();
    shown.transcript.scroll(Scroll::Top);
    shown.draw();
    let before = shown.transcript.layout_count();
    shown.size = (60, 30);
    shown.draw();
    shown.transcript.toggle_calls();
    shown.transcript.toggle_thinking();
    shown.draw();
    let made = shown.transcript.layout_count() - before;
    assert!(made <= 2 * FRAME, "{made}");
    shown.transcript.search("answer 49998");
    while let SearchOutcome::Searching(_) = shown.transcript.continue_search() {}
    assert_eq!(
        shown.transcript.search_outcome(),
        SearchOutcome::Match,
        "the search moves from the first match to the last but one"
    );
    let made = shown.transcript.layout_count() - before;
    assert!(made <= 6 * FRAME, "{made}");
    assert!(shown.draw().contains("answer 49998"));
}

#[test]
fn selection_beyond_clipboard_limit_is_not_laid_out() {
    let mut shown = many();
    shown.transcript.scroll(Scroll::Top);
    shown.draw();
    shown.transcript.handle_mouse(MouseKind::Press, 0, 0);
    shown.transcript.scroll(Scroll::Bottom);
    shown.draw();
    let before = shown.transcript.layout_count();
    shown.transcript.handle_mouse(MouseKind::Drag, 70, 20);
    let copied = shown.transcript.handle_mouse(MouseKind::Release, 70, 20).unwrap();
    assert!((100_000..110_000).contains(&copied.len()), "{}", copied.len());
    let made = shown.transcript.layout_count() - before;
    assert!(made <= 10_000, "{made}");
}
