//! Keys that were meant for something that is over.

use haft_protocol::rpc::{RpcEvent, UiAnswer, UiEnd, UiKind, UiRequest};
use haft_tui::app::settings::Settings;
use haft_tui::app::{AppOptions, UiEvent};

use super::fake::{Fake, extension};

fn question(id: &str, kind: UiKind) -> RpcEvent {
    RpcEvent::UiRequest(UiRequest {
        id: id.to_owned(),
        extension: Some(extension("todo")),
        kind,
        title: "Which list?".to_owned(),
        message: String::new(),
        options: Vec::new(),
        call: None,
        timeout_ms: 60_000,
        default: UiAnswer::Cancelled,
    })
}

fn over(id: &str) -> RpcEvent {
    RpcEvent::UiDone { id: id.to_owned(), why: UiEnd::Timeout }
}

#[test]
fn an_answer_to_a_question_that_closes_by_itself_is_no_prompt() {
    let mut fake = Fake::new();
    fake.rpc(question("q1", UiKind::Input));
    fake.type_text("secr");
    fake.rpc(over("q1"));
    fake.take_log();
    for key in ["e", "t", "enter"] {
        fake.later(0.2);
        fake.keys(key);
    }
    fake.tell(UiEvent::Paste("secret".to_owned()));
    assert_eq!(fake.take_log(), "");
    let screen = fake.screen();
    assert!(screen.contains("the question is closed") && !screen.contains("› et"), "{screen}");
    fake.later(0.4);
    fake.enter("a prompt");
    assert!(fake.take_log().contains("> prompt message=\"a prompt\""));
}

#[test]
fn it_answers_no_other_question_either_and_the_key_that_quits_quits() {
    let mut fake = Fake::new();
    fake.rpc(question("q1", UiKind::Confirm));
    fake.rpc(question("q2", UiKind::Confirm));
    fake.rpc(over("q1"));
    fake.take_log();
    fake.keys("y");
    assert_eq!(fake.take_log(), "");
    // One that is not shown goes without anybody having typed at it.
    fake.later(0.5);
    fake.rpc(question("q3", UiKind::Confirm));
    fake.rpc(over("q3"));
    fake.keys("y");
    assert!(fake.take_log().contains("request=\"q2\""));
    fake.rpc(question("q4", UiKind::Confirm));
    fake.rpc(over("q4"));
    fake.keys("ctrl+q");
    assert_eq!(fake.take_log().trim(), "Quit");
}

#[test]
fn the_rest_of_a_word_that_answered_is_no_prompt() {
    let mut fake = Fake::new();
    fake.type_text("draft");
    fake.rpc(question("q1", UiKind::Confirm));
    fake.type_text("yes");
    fake.keys("enter");
    assert_eq!(fake.take_log(), "> ui_response confirmed=true request=\"q1\"");
    assert!(fake.screen().contains("› draft\n"));
    fake.rpc(question("q2", UiKind::Confirm));
    fake.keys("n");
    fake.type_text(" more");
    assert!(fake.screen().contains("› draft more\n"));
}

#[test]
fn a_line_that_comes_after_its_question_waits_to_be_sent() {
    let mut settings = Settings::default();
    settings.set("tui.screen", "linear").unwrap();
    let mut fake = Fake::with(AppOptions { settings, ..AppOptions::default() });
    let rows = |fake: &mut Fake| {
        let rows = fake.state.take_linear_output(fake.now, 80).rows;
        rows.iter().map(|row| format!("{row}\n")).collect::<String>()
    };
    fake.rpc(question("q1", UiKind::Input));
    rows(&mut fake);
    fake.rpc(over("q1"));
    assert!(rows(&mut fake).contains("the question is over"));
    fake.later(2.0);
    fake.tell(UiEvent::TypedLine("secret".to_owned()));
    assert!(!fake.take_log().contains("> prompt"));
    assert!(rows(&mut fake).contains("not sent; an empty line sends it, :drop forgets it:\n  secret\n"));
    fake.tell(UiEvent::TypedLine("a prompt".to_owned()));
    assert!(fake.take_log().contains("> prompt message=\"a prompt\""));
}

#[test]
fn the_offer_to_quit_goes_with_the_next_key_and_says_what_esc_does() {
    let mut fake = Fake::new();
    fake.keys("ctrl+c");
    assert!(fake.screen().contains("ctrl+c again quits"));
    fake.keys("left");
    assert!(!fake.screen().contains("again quits"));
    fake.keys("ctrl+c");
    assert_eq!(fake.take_log(), "");
    fake.keys("x ctrl+c");
    fake.enter("go");
    fake.keys("ctrl+c");
    assert!(fake.screen().contains("esc stops the agent; ctrl+c again quits"));
    assert!(fake.state.is_working() && fake.state.wakes_at(fake.now).is_some());
    fake.take_log();
    fake.keys("ctrl+c");
    assert_eq!(fake.take_log(), "Quit");
}

#[test]
fn esc_stops_the_agent_and_then_the_command() {
    let mut fake = Fake::new();
    fake.enter("!sleep 60");
    fake.enter("go");
    assert!(fake.screen().contains("esc to stop the agent, then !sleep 60\n"));
    fake.take_log();
    fake.keys("esc");
    assert!(fake.take_log().contains("> abort") && !fake.state.is_working());
    fake.keys("esc");
    assert!(fake.take_log().contains("? StopShell { number: 1 }"));
}

#[test]
fn the_keys_of_the_transcript_are_named_while_it_has_the_keyboard() {
    let mut fake = Fake::new();
    fake.enter("go");
    fake.keys("alt+s");
    let hint = "browsing: up down move · space marks · enter copies · esc goes back";
    assert!(fake.screen().contains(hint), "{}", fake.screen());
    fake.keys("esc");
    assert!(!fake.screen().contains("browsing"));
}
