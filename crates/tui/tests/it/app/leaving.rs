//! Pending work of a session that is replaced by another one.

use haft_protocol::content::ContentBlock;
use haft_protocol::message::Message;
use haft_protocol::rpc::{CommandFailure, ErrorCode};
use haft_tui::app::{BackendReply, UiEvent};

use super::fake::{Fake, image, time};

fn ended(fake: &mut Fake, number: u64, output: &str) {
    fake.tell(UiEvent::Answer(BackendReply::ShellEnd(number, Ok((output.to_owned(), Some(0))))));
}

fn steers(fake: &mut Fake) -> Vec<String> {
    let log = fake.take_log();
    log.lines().filter(|line| line.starts_with("> steer")).map(str::to_owned).collect()
}

#[test]
fn queued_prompts_return_to_the_composer() {
    for command in ["/new", "/resume 0188-old", "/fork"] {
        let mut fake = Fake::new();
        fake.enter("go");
        fake.enter("the first one");
        fake.type_text("and then the other");
        fake.keys("alt+enter");
        fake.take_log();
        fake.enter(command);
        let log = fake.take_log();
        let (taken, closed) = (log.find("> take_queued\n"), log.find("> close_session\n"));
        assert!(taken.is_some() && taken < closed, "{command}: {log}");
        let screen = fake.screen();
        assert!(
            screen.contains("2 queued prompts of the previous session are back in the editor"),
            "{screen}"
        );
        assert!(screen.contains("› the first one\n\n  and then the other"), "{screen}");
        assert!(!screen.contains("↳"), "{screen}");
    }
}

#[test]
fn unstarted_prompt_returns_to_the_composer() {
    let mut fake = Fake::new();
    fake.hold = vec!["prompt"];
    fake.enter("go");
    fake.enter("/new");
    let request = fake.held.remove(0);
    fake.fail(&request, CommandFailure::new(ErrorCode::Shutdown, "the session is closed"));
    let screen = fake.screen();
    assert!(screen.contains("a queued prompt of the previous session is back in the editor"), "{screen}");
    assert!(screen.contains("› go") && !fake.state.is_working(), "{screen}");
    // A prompt that has started belongs to its session.
    let mut fake = Fake::new();
    fake.hold = vec!["prompt"];
    fake.enter("go");
    fake.enter("/new");
    let request = fake.held.remove(0);
    fake.reply(&request, r#"{"started":true}"#);
    assert!(!fake.state.is_working() && !fake.screen().contains("› go"));
}

#[test]
fn prompt_with_pending_images_is_not_sent_to_another_session() {
    let mut fake = Fake::new();
    fake.type_text("see ");
    fake.tell(UiEvent::Paste("/pictures/a.png".to_owned()));
    fake.tell(UiEvent::Answer(BackendReply::Image(1, Ok(image()))));
    fake.keys("enter");
    fake.keys("alt+r enter");
    fake.tell(UiEvent::Answer(BackendReply::Image(2, Ok(image()))));
    assert!(!fake.take_log().contains("> prompt"));
    let screen = fake.screen();
    assert!(
        screen.contains("› see [image #1: a.png]") && screen.contains("is back in the editor"),
        "{screen}"
    );
}

#[test]
fn prompt_with_pending_paste_is_not_sent_to_another_session() {
    let mut fake = Fake::new();
    fake.type_text("see ");
    fake.tell(UiEvent::Paste("/pictures/a.png".to_owned()));
    fake.keys("enter");
    fake.keys("alt+r enter");
    fake.tell(UiEvent::Answer(BackendReply::Image(1, Ok(image()))));
    assert!(!fake.take_log().contains("> prompt"));
    assert!(fake.screen().contains("› see [image #1: a.png]"), "{}", fake.screen());
}

#[test]
fn running_shell_command_stays_visible_but_is_not_reported() {
    let mut fake = Fake::new();
    fake.enter("!ls");
    fake.enter("/new");
    fake.take_log();
    fake.tell(UiEvent::Answer(BackendReply::ShellOutput(1, "a.rs\n".to_owned())));
    ended(&mut fake, 1, "a.rs\n");
    assert_eq!(steers(&mut fake), Vec::<String>::new());
    let screen = fake.screen();
    assert!(screen.contains("a.rs") && screen.contains("session closed: the output is not sent"), "{screen}");
}

#[test]
fn fork_receives_shell_output() {
    let mut fake = Fake::new();
    fake.enter("!ls");
    fake.enter("!pwd");
    ended(&mut fake, 1, "a.rs");
    fake.take_log();
    fake.enter("/fork");
    ended(&mut fake, 2, "/projects");
    let told = steers(&mut fake);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("I ran `ls`") && told[1].contains("I ran `pwd`"), "{told:?}");
    assert!(told.iter().all(|line| line.ends_with("@0199-next-1")), "{told:?}");
}

#[test]
fn outdated_state_does_not_change_the_queue() {
    let mut fake = Fake::new();
    fake.hold = vec!["get_state"];
    fake.enter("/model openai/gpt-5");
    let request = fake.held.remove(0);
    fake.enter("!ls");
    ended(&mut fake, 1, "a.rs");
    assert!(fake.screen().contains("↳ with your next prompt: !ls"));
    let queue = r#"{"steering":[],"follow_up":[],"next_turn":[]}"#;
    let usage = r#"{"input":0,"output":0,"cache_read":0,"cache_write":0,"cost_usd":0.0}"#;
    let data = format!(
        r#"{{"provider":"p","model":"m","cwd":"/","message_count":0,"busy":false,"usage":{usage},"session":"0199-first",
        "thinking":"high","context":{{"tokens":0,"estimated":0}},"prompts":0,"queue":{queue}}}"#
    );
    fake.reply(&request, &data);
    let screen = fake.screen();
    assert!(screen.contains("\nm") && screen.contains("↳ with your next prompt: !ls"), "{screen}");
}

#[test]
fn shell_output_waits_for_next_prompt_of_its_session() {
    let mut fake = Fake::new();
    fake.enter("!ls");
    ended(&mut fake, 1, "a.rs");
    let screen = fake.screen();
    assert!(screen.contains("↳ with your next prompt: !ls\n"), "{screen}");
    // Only prompts return to the composer.
    fake.take_log();
    fake.keys("alt+up");
    assert_eq!(steers(&mut fake).len(), 1);
    let screen = fake.screen();
    assert!(screen.contains("↳ with your next prompt: !ls\n") && !screen.contains("I ran"), "{screen}");
    fake.enter("/new");
    let screen = fake.screen();
    assert!(
        screen.contains("the output of `ls` was not sent to the model: its session is closed"),
        "{screen}"
    );
    assert!(!screen.contains("↳"), "{screen}");
}

#[test]
fn running_shell_command_survives_reload_and_clear() {
    let mut fake = Fake::new();
    fake.enter("!one");
    fake.enter("!two");
    ended(&mut fake, 1, "first");
    let content = vec![ContentBlock::text("what was said before")];
    fake.messages = vec![Message::User { content, time: time() }];
    fake.enter("/tree");
    fake.keys("up enter");
    fake.keys("ctrl+c");
    let screen = fake.screen();
    assert!(
        screen.contains("what was said before") && screen.contains("two") && !screen.contains("first"),
        "{screen}"
    );
    fake.enter("/clear");
    fake.tell(UiEvent::Answer(BackendReply::ShellOutput(2, "second\n".to_owned())));
    ended(&mut fake, 2, "second");
    let screen = fake.screen();
    assert!(screen.contains("second") && !screen.contains("what was said"), "{screen}");
}

#[test]
fn new_session_keeps_model_and_thinking_level() {
    let mut fake = Fake::new();
    fake.hold = vec!["get_state"];
    fake.enter("/model openai/gpt-5");
    fake.keys("shift+tab");
    fake.take_log();
    fake.enter("/new");
    let log = fake.take_log();
    let model = log.find("> set_model model=\"openai/gpt-5\" @0199-next-1\n");
    assert!(model.is_some() && model < log.find("> switch_session"), "{log}");
    assert!(log.contains("> set_thinking level=\"xhigh\" @0199-next-1\n"), "{log}");
    // A resumed session keeps its own model and level.
    fake.enter("/resume 0188-old");
    assert!(!fake.take_log().contains("> set_"));
}

#[test]
fn fork_reports_its_origin() {
    let mut fake = Fake::new();
    fake.enter("/name the parser");
    fake.enter("/fork e2");
    let screen = fake.screen();
    assert!(
        screen.contains("forked from the parser at entry e2; /resume 0199-first returns to that session"),
        "{screen}"
    );
    let mut fake = Fake::new();
    fake.enter("/fork");
    let screen = fake.screen();
    assert!(screen.contains("forked from 0199-first at its last entry"), "{screen}");
}
