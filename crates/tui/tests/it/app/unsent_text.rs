//! Unsent text is kept, whatever happens meanwhile.

use haft_protocol::event::AgentEvent;
use haft_protocol::rpc::{CommandFailure, ErrorCode, RpcEvent};
use haft_tui::app::{BackendReply, UiEvent};

use super::fake::{Fake, extension, image};

/// Returns an interface in which a prompt was rejected after further keys.
fn refused(keys: &str) -> Fake {
    let mut fake = Fake::new();
    fake.hold = vec!["prompt"];
    fake.enter("a prompt");
    fake.keys(keys);
    let request = fake.held.remove(0);
    fake.fail(&request, CommandFailure::new(ErrorCode::QueueFull, "64 prompts wait already"));
    fake
}

#[test]
fn text_added_during_history_search_is_kept() {
    let mut fake = refused("ctrl+r");
    fake.keys("esc");
    assert!(fake.screen().contains("› a prompt"), "{}", fake.screen());
    let mut fake = Fake::new();
    fake.keys("ctrl+r");
    fake.rpc(RpcEvent::Insert { extension: extension("todo"), text: "inserted".into() });
    fake.keys("esc");
    assert!(fake.screen().contains("› inserted"), "{}", fake.screen());
}

#[test]
fn text_added_during_external_edit_is_kept() {
    let mut fake = refused("x ctrl+g");
    fake.tell(UiEvent::Edited(Ok("edited".into())));
    let screen = fake.screen();
    assert!(screen.contains("› a prompt\n\n  edited") && !screen.contains('x'), "{screen}");
    let mut fake = Fake::new();
    fake.type_text("before");
    fake.keys("ctrl+g");
    fake.tell(UiEvent::Edited(Ok("edited".into())));
    assert!(fake.screen().contains("› edited") && !fake.screen().contains("before"), "{}", fake.screen());
}

#[test]
fn clipboard_is_pasted_at_the_cursor() {
    let mut fake = Fake::new();
    fake.type_text("before ");
    fake.keys("ctrl+v");
    fake.type_text("!");
    assert!(fake.screen().contains("› before copied text!"), "{}", fake.screen());
    let none = CommandFailure::new(ErrorCode::Failed, "the clipboard has neither a text nor an image");
    fake.tell(UiEvent::Answer(BackendReply::Clipboard(Err(none))));
    assert!(fake.screen().contains("the clipboard has neither a text nor an image"), "{}", fake.screen());
}

#[test]
fn cleared_prompt_is_not_sent_and_can_be_undone() {
    let mut fake = Fake::new();
    fake.type_text("see ");
    fake.tell(UiEvent::Paste("/pictures/a.png".to_owned()));
    fake.keys("enter ctrl+c");
    fake.type_text("do not");
    fake.take_log();
    fake.tell(UiEvent::Answer(BackendReply::Image(1, Ok(image()))));
    assert!(!fake.take_log().contains("> prompt"));
    assert!(fake.screen().contains("› do not"));
    fake.keys("ctrl+c");
    fake.keys("ctrl+_");
    assert!(fake.screen().contains("› do not"), "{}", fake.screen());
}

#[test]
fn commands_ignore_case_and_keys_are_not_stored() {
    let mut fake = Fake::new();
    fake.enter("/Login openai sk-live-1");
    let log = fake.take_log();
    assert!(!log.contains("> prompt") && !log.contains("Remember"), "{log}");
    fake.enter("/NEW");
    assert!(fake.take_log().contains("> new_session"), "/NEW was not recognized");
}

#[test]
fn paste_leaves_browse_mode() {
    let mut fake = Fake::new();
    for at in 0..40 {
        fake.answer(&format!("answer {at}"));
    }
    fake.keys("alt+s k k k");
    fake.tell(UiEvent::Paste("pasted".to_owned()));
    fake.answer("the last one");
    let screen = fake.screen();
    assert!(screen.contains("› pasted") && screen.contains("the last one"), "{screen}");
}

#[test]
fn closed_session_is_renamed_by_the_backend() {
    let mut fake = Fake::new();
    fake.hold = vec!["list_sessions"];
    fake.keys("alt+r");
    let request = fake.held.remove(0);
    let row = r#"{"session":"0177","open":false,"current":false,"busy":false,"cwd":"/w","messages":3,"created":"2026-01-02T03:04:05Z","usage":{"input":1,"output":1,"cache_read":0,"cache_write":0,"cost_usd":0.1}}"#;
    fake.reply(&request, &format!(r#"{{"sessions":[{row}]}}"#));
    fake.keys("alt+r");
    fake.type_text("x");
    fake.take_log();
    fake.keys("enter");
    let log = fake.take_log();
    assert!(!log.contains("> set_name") && log.contains("? Rename"), "{log}");
    assert!(fake.screen().contains("x  3 messages"), "{}", fake.screen());
}

#[test]
fn esc_restores_queue_after_failed_run() {
    let mut fake = Fake::new();
    fake.enter("go");
    fake.enter("not like this");
    fake.busy = false;
    fake.event(AgentEvent::Error { message: "overloaded".into(), stage: None, advice: None });
    fake.event(AgentEvent::QueueUpdate {
        steering: vec!["not like this".into()],
        follow_up: Vec::new(),
        next_turn: Vec::new(),
    });
    fake.event(AgentEvent::Done);
    assert!(!fake.state.is_working());
    fake.take_log();
    fake.keys("esc");
    assert!(fake.take_log().contains("> take_queued"));
    assert!(fake.screen().contains("› not like this"), "{}", fake.screen());
    fake.keys("esc");
    assert!(!fake.take_log().contains("> take_queued"));
}
