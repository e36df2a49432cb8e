//! Rejected input and its messages.

use haft_protocol::content::Image;
use haft_protocol::event::AgentEvent;
use haft_protocol::rpc::{CommandFailure, ErrorCode, MAX_LINE, RpcResponse, ServerLine};
use haft_tui::app::{BackendReply, UiEvent};

use super::fake::Fake;

#[test]
fn restores_prompt_over_the_size_limit() {
    let mut fake = Fake::new();
    fake.tell(UiEvent::Paste("x".repeat(MAX_LINE)));
    fake.keys("enter");
    assert!(!fake.take_log().contains("> prompt"));
    let screen = fake.screen();
    assert!(screen.contains("the prompt was not sent: 16.0 MiB exceeds the limit of 16 MiB"), "{screen}");
    assert!(screen.contains("[paste #1"), "{screen}");
    assert!(!fake.state.is_working());
}

#[test]
fn restores_prompt_with_images_over_the_size_limit() {
    let mut fake = Fake::new();
    fake.tell(UiEvent::Paste("/tmp/a.png".to_owned()));
    fake.tell(UiEvent::Paste(" /tmp/b.png".to_owned()));
    fake.keys("enter");
    let log = fake.take_log();
    let numbers = log.matches("? Image").count();
    // Each image is loaded when it is pasted and again when it is sent.
    for number in 1..=2 * numbers as u64 {
        let image = Image { mime_type: "image/png".into(), data: "A".repeat(MAX_LINE / 8 * 5).into() };
        fake.tell(UiEvent::Answer(BackendReply::Image(number, Ok(image))));
    }
    assert!(numbers > 0 && !fake.take_log().contains("> prompt"), "{log}");
    let screen = fake.screen();
    assert!(screen.contains("MiB with its images"), "{screen}");
    assert!(screen.contains("[image #1"), "{screen}");
}

#[test]
fn restores_command_over_the_size_limit() {
    let mut fake = Fake::new();
    fake.hold = vec!["run_command"];
    fake.enter("/review all of it");
    let request = fake.held.remove(0);
    fake.fail(&request, CommandFailure::new(ErrorCode::LineTooLong, "the line is too long"));
    let screen = fake.screen();
    assert!(screen.contains("the line is too long") && screen.contains("› /review all of it"), "{screen}");
}

#[test]
fn shows_failure_without_request_id() {
    let mut fake = Fake::new();
    let failure = CommandFailure::new(ErrorCode::Malformed, "malformed json: not an object");
    let reply = |id| RpcResponse { id, command: String::new(), outcome: Err(failure.clone()) };
    fake.tell(UiEvent::Line(Box::new(ServerLine::Reply(reply(None)))));
    assert_eq!(fake.screen().matches("malformed json: not an object").count(), 1);
    // A failure with an unknown ID is not shown.
    fake.tell(UiEvent::Line(Box::new(ServerLine::Reply(reply(Some("ui-999".to_owned()))))));
    assert_eq!(fake.screen().matches("malformed json: not an object").count(), 1);
}

#[test]
fn rejects_unknown_model_of_known_provider() {
    let set = |fake: &mut Fake| -> Vec<String> {
        let log = fake.take_log();
        log.lines().filter_map(|line| line.strip_prefix("> set_model ").map(str::to_owned)).collect()
    };
    let mut fake = Fake::new();
    fake.enter("/model claude-hiku");
    assert!(set(&mut fake).is_empty());
    let screen = fake.screen();
    assert!(screen.contains("claude-hiku is not among the 2 known models of anthropic"), "{screen}");
    assert!(screen.contains("anthropic/claude-haiku"), "{screen}");
    fake.enter("/model nosuch");
    assert!(fake.screen().contains("/model lists all models"));
    // Known models of all providers and names with a provider are accepted.
    for (model, expect) in [
        ("claude-haiku", r#"model="claude-haiku""#),
        ("gpt-5", r#"model="gpt-5""#),
        ("anthropic/nosuch", r#"model="anthropic/nosuch""#),
    ] {
        fake.enter(&format!("/model {model}"));
        assert_eq!(set(&mut fake), [expect]);
    }
    // Without a list of models, the agent checks the name.
    let mut fake = Fake::new();
    fake.hold = vec!["get_models"];
    fake.enter("/model nosuch");
    for request in std::mem::take(&mut fake.held) {
        fake.fail(&request, CommandFailure::other("no list"));
    }
    assert_eq!(set(&mut fake), [r#"model="nosuch""#]);
}

#[test]
fn key_typed_after_login_is_not_stored() {
    let mut fake = Fake::new();
    fake.enter("/login openai sk-secret");
    let (log, screen) = (fake.take_log(), fake.screen());
    assert!(!log.contains("sk-secret") && !screen.contains("sk-secret"), "{log}\n{screen}");
    assert!(screen.contains("/login takes only the name of a provider"), "{screen}");
    fake.keys("up");
    assert!(!fake.screen().contains("sk-secret"));
}

#[test]
fn failed_compaction_ends_activity() {
    let mut fake = Fake::new();
    fake.enter("/compact");
    assert!(fake.screen().contains("Summarizing"));
    fake.enter("meanwhile");
    // The error is the only event that ends the compaction.
    fake.event(AgentEvent::Error {
        message: "there is nothing to sum up yet".into(),
        stage: None,
        advice: None,
    });
    assert!(!fake.screen().contains("Summarizing"));
    let log = fake.take_log();
    assert!(log.contains("> prompt message=\"meanwhile\""), "{log}");
    fake.answer("ok");
    assert!(!fake.state.is_working());
    fake.enter("hello");
    let log = fake.take_log();
    assert!(log.contains("> prompt message=\"hello\""), "{log}");
}
