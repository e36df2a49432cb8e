//! Tests that a grant counts only after its end was visible.

use haft_protocol::rpc::UiAnswer;
use haft_tui::dialog::{DialogKeyOutcome, Question};

use super::{Open, approve, gate, long_call, request};

const YES: DialogKeyOutcome = DialogKeyOutcome::Answered(UiAnswer::Confirmed(true));

/// Makes a long call, visible for long enough.
fn long() -> Open {
    let mut open = Open::new(long_call());
    open.shown(60);
    open.later(300)
}

#[test]
fn yes_scrolls_until_end_was_seen() {
    for keys in ["y", "space", "pagedown", "tab enter tab"] {
        let mut open = long();
        let first = open.shown(60);
        assert!(first.contains("more rows to read (pagedown)"), "{first}");
        assert!(first.contains("space next page"), "{first}");
        let mut shown = first;
        let mut pages = 0;
        while shown.contains("more row") {
            assert_eq!(open.keys(keys), DialogKeyOutcome::Open, "{keys}");
            shown = open.shown(60);
            pages += 1;
            assert!(pages < 9, "{shown}");
        }
        assert!(shown.contains("│line 60") && shown.contains("y allow"), "{shown}");
        // A key held down while scrolling to the end grants nothing.
        for _ in 0..9 {
            open = open.later(30);
            assert_eq!(open.keys("y"), DialogKeyOutcome::Open);
            open.shown(60);
        }
        let mut open = open.later(300);
        assert_eq!(open.keys("y"), YES, "{keys}");
    }
}

#[test]
fn no_is_accepted_before_end() {
    assert_eq!(long().keys("n"), DialogKeyOutcome::Answered(UiAnswer::Confirmed(false)));
    assert_eq!(long().keys("enter"), DialogKeyOutcome::Answered(UiAnswer::Confirmed(false)));
    assert_eq!(long().keys("esc esc"), DialogKeyOutcome::StopTurn);
}

#[test]
fn early_keys_do_not_skip_unseen_pages() {
    let mut open = long();
    // Two pages down before any of them is drawn.
    open.keys("pagedown pagedown");
    open.shown(60);
    open.keys("pagedown pagedown");
    let last = open.shown(60);
    assert!(last.contains("│line 60"), "{last}");
    assert!(last.contains("above not read (pageup)"), "{last}");
}

#[test]
fn jump_to_end_shows_number_of_unread_rows() {
    let mut open = long();
    open.keys("end");
    let end = open.shown(60);
    insta::assert_snapshot!(end);
    assert_eq!(open.keys("y"), DialogKeyOutcome::Open, "the dialog has just appeared");
    let mut open = open.later(300);
    assert_eq!(open.keys("y"), YES);
    // Going back and reading the rest completes it.
    let mut open = long();
    open.keys("end");
    open.shown(60);
    let mut open = open.later(300);
    open.keys("home");
    open.shown(60);
    for _ in 0..4 {
        open.keys("space");
        open.shown(60);
    }
    let all = open.shown(60);
    assert!(!all.contains("not read") && all.contains("end of text"), "{all}");
}

#[test]
fn resize_keeps_reading_progress() {
    let mut open = long();
    open.keys("space");
    let before = open.shown(60);
    assert!(before.contains("│line 36"), "{before}");
    // The position is kept, and reading continues there.
    for (width, height) in [(31, 12), (60, 24), (100, 9), (20, 3), (45, 20)] {
        open.shown_at(width, height);
    }
    let mut shown = open.shown_at(45, 20);
    assert!(shown.contains("more rows to read"), "{shown}");
    for _ in 0..9 {
        open = open.later(300);
        open.keys("space");
        shown = open.shown_at(45, 20);
    }
    assert!(shown.contains("end of text") && !shown.contains("not read"), "{shown}");
    let mut open = open.later(300);
    // Read text stays read at any smaller size.
    let small = open.shown_at(24, 8);
    assert!(!small.contains("not read"), "{small}");
    assert_eq!(open.keys("y"), YES);
}

#[test]
fn rows_hidden_by_size_are_unread() {
    let mut open = Open::new(long_call());
    open.shown_at(19, 24);
    let mut open = open.later(1000);
    open.keys("end");
    open.shown_at(19, 24);
    let mut open = open.later(1000);
    open.shown_at(60, 24);
    let mut open = open.later(300);
    assert_eq!(open.keys("y"), DialogKeyOutcome::Open);
}

#[test]
fn very_long_call_can_be_granted() {
    let text = "0123456789 abcdef\n".repeat(10_000);
    let mut open = Open::new(approve(&serde_json::json!({"path": "big", "content": text}).to_string()));
    open.shown(80);
    let mut open = open.later(300);
    assert_eq!(open.keys("y end"), DialogKeyOutcome::Open);
    let end = open.shown(80);
    assert!(end.contains("[Allow once, 99"), "{end}");
    let mut open = open.later(300);
    assert_eq!(open.keys("y"), YES);
}

#[test]
fn gate_decision_requires_reading_to_end() {
    let go_on = || DialogKeyOutcome::Answered(UiAnswer::Value("continue_without".to_owned()));
    let mut open = Open::new(gate());
    open.shown_at(40, 8);
    let mut open = open.later(300);
    assert_eq!(open.keys("2 enter"), DialogKeyOutcome::Open);
    open.shown_at(40, 8);
    let mut shown = open.shown_at(40, 8);
    assert!(shown.contains("space next page"), "{shown}");
    while shown.contains("more row") {
        open.keys("space");
        shown = open.shown_at(40, 8);
        assert_eq!(open.keys("enter"), DialogKeyOutcome::Open, "{shown}");
        shown = open.shown_at(40, 8);
    }
    let mut open = open.later(300);
    assert_eq!(open.keys("enter"), go_on());
    let mut stop = Open::new(gate());
    stop.shown_at(40, 8);
    assert_eq!(stop.later(300).keys("enter"), DialogKeyOutcome::Answered(UiAnswer::Value("stop".to_owned())));
}

#[test]
fn question_without_grant_is_answered_at_once() {
    let message = "a line\n".repeat(100);
    let mut open = Open::new(Question {
        message,
        ..Question::from_request(&request(haft_protocol::rpc::UiKind::Confirm))
    });
    open.shown(60);
    assert_eq!(open.keys("y"), YES);
}
