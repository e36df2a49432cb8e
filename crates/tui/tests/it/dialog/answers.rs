//! Tests of input that answers a dialog, and input that does not.

use haft_protocol::rpc::UiAnswer;
use haft_tui::dialog::{AnswerKind, DialogKeyOutcome, Question};

use super::{Open, approve, asked_by_todo, gate, numbered, question};
use crate::shown::screen;

const YES: DialogKeyOutcome = DialogKeyOutcome::Answered(UiAnswer::Confirmed(true));

#[track_caller]
fn check(question: Question, keys: &str, expect: Option<UiAnswer>) {
    let mut open = Open::new(question);
    open.shown(80);
    let mut open = open.later(300);
    let reply = open.keys(keys);
    assert_eq!(reply, expect.map_or(DialogKeyOutcome::Open, DialogKeyOutcome::Answered), "{keys}");
}

#[test]
fn keys_answer_confirmation() {
    for question in [asked_by_todo(AnswerKind::Confirm), approve("{}")] {
        let check = |keys: &str, expect| check(question.clone(), keys, expect);
        check("y", Some(UiAnswer::Confirmed(true)));
        check("n", Some(UiAnswer::Confirmed(false)));
        check("enter", Some(UiAnswer::Confirmed(false)));
        check("tab enter", Some(UiAnswer::Confirmed(true)));
        check("left enter", Some(UiAnswer::Confirmed(true)));
        check("up down enter", Some(UiAnswer::Confirmed(false)));
        check("x", None);
        check("1", None);
        check("1 enter", Some(UiAnswer::Confirmed(false)));
    }
}

#[test]
fn esc_closes_question_without_call() {
    for key in ["esc", "ctrl+c"] {
        check(asked_by_todo(AnswerKind::Confirm), key, Some(UiAnswer::Cancelled));
        check(Question { call: None, ..approve("{}") }, key, Some(UiAnswer::Cancelled));
    }
}

#[test]
fn second_esc_stops_turn() {
    let shown = || {
        let mut open = Open::new(approve("{}"));
        open.shown(80);
        open.later(300)
    };
    let mut open = shown();
    assert_eq!(open.keys("esc"), DialogKeyOutcome::Open);
    let lower = open.shown(80).lines().last().unwrap().to_owned();
    insta::assert_snapshot!(lower, @"╰─ esc again to stop the turn · y allow · n deny · enter select · esc stop ────╯");
    assert_eq!(open.keys("esc"), DialogKeyOutcome::StopTurn);
    assert_eq!(shown().keys("ctrl+c ctrl+c"), DialogKeyOutcome::StopTurn);
    // Another key and a pause disarm the key.
    assert_eq!(shown().keys("esc x esc"), DialogKeyOutcome::Open);
    let mut open = shown();
    open.keys("esc");
    let mut open = open.later(2001);
    assert_eq!(open.keys("esc"), DialogKeyOutcome::Open);
    assert_eq!(shown().keys("esc n"), DialogKeyOutcome::Answered(UiAnswer::Confirmed(false)));
}

#[test]
fn keys_choose_option() {
    let value = |text: &str| Some(UiAnswer::Value(text.to_owned()));
    let check_of = |keys: &str, expect| check(asked_by_todo(numbered(12)), keys, expect);
    check_of("enter", value("choice 1"));
    check_of("down down enter", value("choice 3"));
    check_of("up enter", value("choice 12"));
    check_of("7 enter", value("choice 7"));
    check_of("7", None);
    check_of("7 0 x enter", value("choice 7"));
    check_of("esc", Some(UiAnswer::Cancelled));
    check(asked_by_todo(numbered(0)), "down up 1 enter", None);
    let preset = Question { default: Some("choice 4".to_owned()), ..asked_by_todo(numbered(5)) };
    check(preset, "enter", value("choice 4"));
    check(gate(), "enter", value("stop"));
    check(gate(), "down enter", value("restart"));
    check(gate(), "2 enter", value("continue_without"));
}

#[test]
fn keys_type_text() {
    let value = |text: &str| Some(UiAnswer::Value(text.to_owned()));
    let input = || asked_by_todo(AnswerKind::Input { secret: false });
    check(input(), "y n 1 enter", value("yn1"));
    check(input(), "a shift+enter b ctrl+b backspace c up down enter", value("cb"));
    check(input(), "enter", value(""));
    check(input(), "ctrl+g", None);
    check(input(), "a esc", Some(UiAnswer::Cancelled));
    let editor = || asked_by_todo(AnswerKind::Editor("ab\ncd".to_owned()));
    check(editor(), "up x enter", value("abx\ncd"));
    check(editor(), "shift+enter y enter", value("ab\ncd\ny"));
    check(editor(), "tab x enter", value("ab\ncd\tx"));
}

#[test]
fn continued_typing_grants_nothing() {
    let mut open = Open::new(approve("{}"));
    // Before the dialog is drawn, and afterwards, at typing speed.
    for _ in 0..20 {
        assert_eq!(open.keys("y enter tab enter n"), DialogKeyOutcome::Open);
        open.shown(80);
        open = open.later(250);
    }
    open.dialog.paste("y", open.now);
    let mut open = open.later(299);
    assert_eq!(open.keys("y"), DialogKeyOutcome::Open);
    let mut open = open.later(300);
    assert_eq!(open.keys("y"), DialogKeyOutcome::Answered(UiAnswer::Confirmed(true)));
    // Without a grant, keys count at once.
    assert_eq!(
        Open::new(question(AnswerKind::Confirm)).keys("y"),
        DialogKeyOutcome::Answered(UiAnswer::Confirmed(true))
    );
}

#[test]
fn quiet_period_begins_after_frame_is_written() {
    let mut open = Open::new(approve("{}"));
    let look = open.look();
    // The frame is drawn, and the terminal does not accept it.
    screen((80, 24), |area, buffer| open.dialog.draw(area, buffer, &look));
    let mut open = open.later(5000);
    assert_eq!(open.keys("y"), DialogKeyOutcome::Open);
    open.dialog.mark_drawn(open.now);
    // Earlier input arrives now.
    assert_eq!(open.keys("y"), DialogKeyOutcome::Open);
    let mut open = open.later(300);
    assert_eq!(open.keys("y"), YES);
}

#[test]
fn keys_delayed_by_slow_terminal_grant_nothing() {
    let mut open = Open::new(approve("{}"));
    open.shown(80);
    let mut open = open.later(150);
    let look = open.look();
    screen((80, 24), |area, buffer| open.dialog.draw(area, buffer, &look));
    // Typed soon after the dialog appeared, and read after the terminal accepted the next frame.
    let mut open = open.later(2000);
    open.dialog.mark_drawn(open.now);
    assert_eq!(open.keys("y"), DialogKeyOutcome::Open);
    let mut open = open.later(300);
    assert_eq!(open.keys("y"), YES);
}

#[test]
fn hidden_dialog_grants_nothing() {
    let mut open = Open::new(approve("{}"));
    open.shown(80);
    let mut open = open.later(5000);
    // Another program owned the terminal.
    open.dialog.mark_hidden();
    assert_eq!(open.keys("y"), DialogKeyOutcome::Open);
    let mut open = open.later(5000);
    assert_eq!(open.keys("y"), DialogKeyOutcome::Open);
    open.shown(80);
    let mut open = open.later(300);
    assert_eq!(open.keys("y"), YES);
}

#[test]
fn shows_hint_for_unknown_key() {
    let lower = |open: &mut Open| open.shown(80).lines().last().unwrap().to_owned();
    let mut open = Open::new(question(AnswerKind::Confirm));
    let before = lower(&mut open);
    assert_eq!(open.keys("h"), DialogKeyOutcome::Open);
    insta::assert_snapshot!(lower(&mut open), @"╰─ unknown key: y yes · n no · enter select · esc cancel ──────────────────────╯");
    let over = open.dialog.wakes_at(open.now).unwrap();
    open.now = over;
    assert_eq!((lower(&mut open), open.dialog.wakes_at(over)), (before, None));
    let mut early = Open::new(approve("{}"));
    early.shown(80);
    early.keys("y");
    insta::assert_snapshot!(lower(&mut early), @"╰─ too early, press again: y allow · n deny · enter select · esc stop ─────────╯");
    let mut gate = Open::new(gate());
    gate.shown(80);
    let mut gate = gate.later(300);
    gate.keys("9");
    insta::assert_snapshot!(lower(&mut gate), @"╰─ unknown key: ↑↓ choose · enter select · esc stop ───────────────────────────╯");
    gate.keys("3");
    assert!(!lower(&mut gate).contains("unknown key"));
}

#[test]
fn unreadable_dialog_grants_nothing() {
    let mut open = Open::new(approve("{}"));
    open.shown_at(19, 3);
    let mut open = open.later(1000);
    assert_eq!(open.keys("y"), DialogKeyOutcome::Open);
    open.shown_at(20, 3);
    let mut open = open.later(300);
    for _ in 0..2 {
        assert_eq!(open.keys("y"), DialogKeyOutcome::Open);
        open.shown_at(20, 3);
    }
    let mut open = open.later(300);
    assert_eq!(open.keys("y"), DialogKeyOutcome::Answered(UiAnswer::Confirmed(true)));
}
