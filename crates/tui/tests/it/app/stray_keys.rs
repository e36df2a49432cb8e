//! Keys that were meant for a closed dialog.

use haft_protocol::rpc::{RpcEvent, UiAnswer, UiEnd, UiKind, UiRequest};
use haft_tui::app::settings::Settings;
use haft_tui::app::{AppOptions, UiEvent};

use super::fake::{Fake, extension};

fn question(id: &str, kind: UiKind) -> RpcEvent {
    RpcEvent::UiRequest(Box::new(UiRequest {
        id: id.to_owned(),
        extension: Some(extension("todo")),
        kind,
        title: "Which list?".to_owned(),
        message: String::new(),
        options: Vec::new(),
        call: None,
        preview: None,
        placeholder: None,
        prefill: None,
        timeout_ms: Some(60_000),
        default: UiAnswer::Cancelled,
    }))
}

fn timed_out(id: &str) -> RpcEvent {
    RpcEvent::UiDone { id: id.to_owned(), why: UiEnd::Timeout }
}

#[test]
fn ignores_keys_after_dialog_closes() {
    let mut fake = Fake::new();
    fake.rpc(question("q1", UiKind::Input));
    fake.type_text("secr");
    fake.rpc(timed_out("q1"));
    fake.take_log();
    for key in ["e", "t", "enter"] {
        fake.later(0.2);
        fake.keys(key);
    }
    fake.tell(UiEvent::Paste("secret".to_owned()));
    assert_eq!(fake.take_log(), "");
    let screen = fake.screen();
    assert!(
        screen.contains("the question closed before it was answered") && !screen.contains("› et"),
        "{screen}"
    );
    fake.later(0.4);
    fake.enter("a prompt");
    assert!(fake.take_log().contains("> prompt message=\"a prompt\""));
}

#[test]
fn stray_keys_answer_no_other_dialog_but_can_quit() {
    let mut fake = Fake::new();
    fake.rpc(question("q1", UiKind::Confirm));
    fake.rpc(question("q2", UiKind::Confirm));
    fake.rpc(timed_out("q1"));
    fake.take_log();
    fake.keys("y");
    assert_eq!(fake.take_log(), "");
    // A hidden dialog that times out does not affect the keyboard.
    fake.later(0.5);
    fake.rpc(question("q3", UiKind::Confirm));
    fake.rpc(timed_out("q3"));
    fake.keys("y");
    assert!(fake.take_log().contains("request=\"q2\""));
    fake.rpc(question("q4", UiKind::Confirm));
    fake.rpc(timed_out("q4"));
    fake.keys("ctrl+q");
    assert_eq!(fake.take_log().trim(), "Quit");
}

#[test]
fn ignores_rest_of_an_answer_word() {
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
fn line_after_closed_dialog_is_not_sent() {
    let mut settings = Settings::default();
    settings.set("tui.screen", "linear").unwrap();
    let mut fake = Fake::with(AppOptions { settings, ..AppOptions::default() });
    let rows = |fake: &mut Fake| {
        let rows = fake.state.take_linear_output(fake.now, 80).rows;
        rows.iter().map(|row| format!("{row}\n")).collect::<String>()
    };
    fake.rpc(question("q1", UiKind::Input));
    rows(&mut fake);
    fake.rpc(timed_out("q1"));
    assert!(rows(&mut fake).contains("the question closed before it was answered"));
    fake.later(2.0);
    fake.tell(UiEvent::TypedLine("secret".to_owned()));
    assert!(!fake.take_log().contains("> prompt"));
    assert!(
        rows(&mut fake).contains("not sent; an empty line sends this text, :drop discards it:\n  secret\n")
    );
    fake.tell(UiEvent::TypedLine("a prompt".to_owned()));
    assert!(fake.take_log().contains("> prompt message=\"a prompt\""));
}

#[test]
fn quit_hint_disappears_on_next_key_and_mentions_esc() {
    let mut fake = Fake::new();
    fake.keys("ctrl+c");
    assert!(fake.screen().contains("ctrl+c again to quit"));
    fake.keys("left");
    assert!(!fake.screen().contains("again to quit"));
    fake.keys("ctrl+c");
    assert_eq!(fake.take_log(), "");
    fake.keys("x ctrl+c");
    fake.enter("go");
    fake.keys("ctrl+c");
    assert!(fake.screen().contains("esc to stop the agent · ctrl+c again to quit"));
    assert!(fake.state.is_working() && fake.state.wakes_at(fake.now).is_some());
    fake.take_log();
    fake.keys("ctrl+c");
    assert_eq!(fake.take_log(), "Quit");
}

#[test]
fn esc_stops_agent_then_shell_command() {
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
fn status_line_lists_keys_in_browse_mode() {
    let mut fake = Fake::new();
    fake.enter("go");
    fake.keys("alt+s");
    let hint = "browsing: up down move · space mark · enter copy · esc back";
    assert!(fake.screen().contains(hint), "{}", fake.screen());
    fake.keys("esc");
    assert!(!fake.screen().contains("browsing"));
}
