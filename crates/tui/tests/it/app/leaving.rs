//! What was under way in a session that is left for another one.

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
fn prompts_that_wait_come_back_into_the_editor() {
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
        assert!(screen.contains("2 prompts that waited in the session before are in the editor"), "{screen}");
        assert!(screen.contains("› the first one\n\n  and then the other"), "{screen}");
        assert!(!screen.contains("↳"), "{screen}");
    }
}

#[test]
fn a_prompt_that_had_not_begun_comes_back() {
    let mut fake = Fake::new();
    fake.hold = vec!["prompt"];
    fake.enter("go");
    fake.enter("/new");
    let request = fake.held.remove(0);
    fake.fail(&request, CommandFailure::new(ErrorCode::Shutdown, "the session is closed"));
    let screen = fake.screen();
    assert!(screen.contains("a prompt that waited in the session before is in the editor"), "{screen}");
    assert!(screen.contains("› go") && !fake.state.is_working(), "{screen}");
    // One that had begun is worked on there, and not here.
    let mut fake = Fake::new();
    fake.hold = vec!["prompt"];
    fake.enter("go");
    fake.enter("/new");
    let request = fake.held.remove(0);
    fake.reply(&request, r#"{"started":true}"#);
    assert!(!fake.state.is_working() && !fake.screen().contains("› go"));
}

#[test]
fn a_prompt_whose_images_are_being_read_is_not_said_in_another_session() {
    let mut fake = Fake::new();
    fake.type_text("see ");
    fake.tell(UiEvent::Paste("/pictures/a.png".to_owned()));
    fake.tell(UiEvent::Answer(BackendReply::Image(1, Ok(image()))));
    fake.keys("enter");
    fake.keys("alt+r enter");
    fake.tell(UiEvent::Answer(BackendReply::Image(2, Ok(image()))));
    assert!(!fake.take_log().contains("> prompt"));
    let screen = fake.screen();
    assert!(screen.contains("› see [image #1: a.png]") && screen.contains("is in the editor"), "{screen}");
}

#[test]
fn nor_is_one_with_a_path_that_may_be_an_image() {
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
fn a_command_that_runs_is_shown_in_the_next_session_and_told_to_nobody() {
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
fn a_fork_is_told_what_a_command_prints() {
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
fn how_a_session_was_before_says_nothing_of_what_waits_since() {
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
fn what_a_command_printed_waits_for_the_next_prompt_and_is_not_told_elsewhere() {
    let mut fake = Fake::new();
    fake.enter("!ls");
    ended(&mut fake, 1, "a.rs");
    let screen = fake.screen();
    assert!(screen.contains("↳ with your next prompt: !ls\n"), "{screen}");
    // What is taken back are prompts.
    fake.take_log();
    fake.keys("alt+up");
    assert_eq!(steers(&mut fake).len(), 1);
    let screen = fake.screen();
    assert!(screen.contains("↳ with your next prompt: !ls\n") && !screen.contains("I ran"), "{screen}");
    fake.enter("/new");
    let screen = fake.screen();
    assert!(screen.contains("the model was not told what `ls` printed: that session is closed"), "{screen}");
    assert!(!screen.contains("↳"), "{screen}");
}

#[test]
fn a_command_that_runs_is_still_shown_when_the_conversation_is_read_anew_or_forgotten() {
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
fn a_new_session_goes_on_with_model_and_level() {
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
    // One that is gone on with has its own.
    fake.enter("/resume 0188-old");
    assert!(!fake.take_log().contains("> set_"));
}

#[test]
fn a_fork_says_what_it_comes_from() {
    let mut fake = Fake::new();
    fake.enter("/name the parser");
    fake.enter("/fork e2");
    let screen = fake.screen();
    assert!(screen.contains("forked from the parser at e2; /resume 0199-first goes back to it"), "{screen}");
    let mut fake = Fake::new();
    fake.enter("/fork");
    let screen = fake.screen();
    assert!(screen.contains("forked from 0199-first where it stood"), "{screen}");
}
