//! What is written and not sent is not lost, whatever comes meanwhile.

use haft_protocol::event::AgentEvent;
use haft_protocol::rpc::{CommandFailure, ErrorCode, RpcEvent};
use haft_tui::app::{BackendReply, UiEvent};

use super::fake::{Fake, extension, image};

/// A prompt that is on its way while something else is done, and comes back.
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
fn what_comes_while_prompts_are_searched_stays() {
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
fn what_comes_while_the_own_editor_is_open_stays_beside_what_was_written_there() {
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
fn what_was_thrown_away_comes_back_by_undo_and_is_not_sent() {
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
fn commands_are_known_in_large_letters_too_and_keys_are_kept_nowhere() {
    let mut fake = Fake::new();
    fake.enter("/Login openai sk-live-1");
    let log = fake.take_log();
    assert!(!log.contains("> prompt") && !log.contains("Remember"), "{log}");
    fake.enter("/NEW");
    assert!(fake.take_log().contains("> new_session"), "no command");
}

#[test]
fn who_pastes_is_in_the_transcript_no_more() {
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
fn a_session_that_is_not_open_is_named_by_the_program() {
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
fn what_waits_after_a_run_that_failed_is_in_the_editor_again() {
    let mut fake = Fake::new();
    fake.enter("go");
    fake.enter("not like this");
    fake.busy = false;
    fake.event(AgentEvent::Error { message: "overloaded".into(), stage: None });
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
