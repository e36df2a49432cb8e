//! Tests of scrolling.

use haft_tui::keys::Scroll;

use super::{Shown, answers, delta, said};
use haft_protocol::event::AgentEvent as E;

/// Makes ten questions with answers of three rows.
fn talk(width: u16, height: u16) -> Shown {
    let mut shown = Shown::new(width, height);
    for number in 0..10 {
        shown.event(&said(&format!("question {number}")));
        shown.events(&answers(&format!("a{number}\n\nb{number}")));
    }
    shown.draw();
    shown
}

#[test]
fn follows_end_until_scrolled_up() {
    let mut shown = talk(40, 6);
    assert!(shown.transcript.is_following());
    assert_eq!(shown.rows(), ["", "› question 9", "", "a9", "", "b9"]);
    shown.transcript.scroll(Scroll::LineUp);
    assert!(!shown.transcript.is_following());
    assert_eq!(shown.rows(), ["b8", "", "› question 9", "", "a9", "── ↓ more · shift+end ──"]);
    shown.event(&said("new"));
    assert_eq!(shown.rows().last().unwrap(), "── ↓ 1 more · shift+end ──");
    shown.transcript.scroll(Scroll::Bottom);
    assert_eq!(shown.rows().last().unwrap(), "› new");
    shown.event(&said("newer"));
    assert_eq!(shown.rows().last().unwrap(), "› newer");
}

#[test]
fn scrolling_down_to_end_follows_it() {
    let mut shown = talk(40, 6);
    shown.transcript.scroll_lines(-7);
    assert!(!shown.transcript.is_following());
    shown.transcript.scroll_lines(6);
    assert!(!shown.transcript.is_following());
    shown.transcript.scroll_lines(1);
    assert!(shown.transcript.is_following());
    shown.transcript.scroll_lines(i32::MIN);
    assert_eq!(shown.rows()[0], "› question 0");
    shown.transcript.scroll_lines(i32::MAX);
    assert!(shown.transcript.is_following());
}

#[test]
fn pages_overlap() {
    let mut shown = talk(40, 6);
    shown.transcript.scroll(Scroll::Top);
    assert_eq!(shown.rows()[..5], ["› question 0", "", "a0", "", "b0"]);
    shown.transcript.scroll(Scroll::PageDown);
    assert_eq!(shown.rows()[..5], ["b0", "", "› question 1", "", "a1"]);
    shown.transcript.scroll(Scroll::PageUp);
    assert_eq!(shown.rows()[0], "› question 0");
    shown.transcript.scroll(Scroll::PageUp);
    assert_eq!(shown.rows()[0], "› question 0");
}

#[test]
fn moves_by_messages() {
    let mut shown = talk(40, 6);
    let mut tops = Vec::new();
    shown.transcript.scroll(Scroll::Top);
    for _ in 0..3 {
        shown.transcript.scroll(Scroll::MessageDown);
        tops.push(shown.rows()[0].clone());
    }
    shown.transcript.scroll_lines(1);
    for _ in 0..4 {
        shown.transcript.scroll(Scroll::MessageUp);
        tops.push(shown.rows()[0].clone());
    }
    assert_eq!(tops, ["a0", "› question 1", "a1", "a1", "› question 1", "a0", "› question 0"]);
    for _ in 0..30 {
        shown.transcript.scroll(Scroll::MessageDown);
    }
    assert!(shown.transcript.is_following());
}

#[test]
fn fitting_conversation_does_not_scroll() {
    let mut shown = Shown::new(40, 10);
    shown.event(&said("hi"));
    for action in [Scroll::Top, Scroll::LineUp, Scroll::PageDown, Scroll::MessageUp, Scroll::PageUp] {
        shown.transcript.scroll(action);
        assert_eq!(shown.rows(), ["› hi"]);
        assert!(shown.transcript.is_following(), "{action:?}");
    }
}

#[test]
fn resize_keeps_top_position() {
    let mut shown = talk(40, 6);
    shown.transcript.scroll(Scroll::Top);
    for _ in 0..5 {
        shown.transcript.scroll(Scroll::MessageDown);
    }
    assert_eq!(shown.rows()[0], "a2");
    for size in [(8, 6), (80, 3), (1, 1), (40, 6)] {
        shown.size = size;
        shown.draw();
    }
    assert_eq!(shown.rows()[0], "a2");
}

#[test]
fn streaming_below_does_not_move_view() {
    let mut shown = talk(40, 6);
    shown.transcript.scroll(Scroll::MessageUp);
    let before = shown.rows()[..5].to_vec();
    shown.event(&E::AssistantStart);
    for _ in 0..50 {
        shown.event(&delta("more and more\n\n"));
        assert_eq!(shown.rows()[..5], before);
    }
}
