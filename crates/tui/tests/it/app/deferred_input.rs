//! Messages that are entered before the session is ready.

use haft_protocol::content::ContentBlock;
use haft_protocol::message::Message;
use haft_protocol::rpc::{CommandFailure, ErrorCode, RpcEvent, UiAnswer, UiKind, UiRequest};
use haft_tui::app::settings::Settings;
use haft_tui::app::{AppOptions, UiEvent};

use super::fake::{Fake, SESSION, time};

/// Returns the log lines of sent messages and commands.
fn sent(fake: &mut Fake) -> String {
    let prefixes =
        ["> prompt", "> steer", "> follow_up", "> run_command", "> set_model", "> new_session", "? Shell"];
    let log = fake.take_log();
    log.lines()
        .filter(|line| prefixes.iter().any(|prefix| line.starts_with(prefix)))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn sends_deferred_messages_in_order_after_loading() {
    let mut fake = Fake::waiting(AppOptions::default());
    fake.enter("/model openai/gpt-5");
    fake.enter("first");
    fake.enter("!ls");
    fake.type_text("second");
    fake.keys("alt+enter");
    fake.type_text("a draft");
    let screen = fake.screen();
    assert!(screen.contains("↳ when the session is open: first\n"), "{screen}");
    assert!(screen.contains("› a draft"), "{screen}");
    assert_eq!(sent(&mut fake), "");
    fake.read(SESSION);
    insta::assert_snapshot!(sent(&mut fake), @r#"
    > set_model model="openai/gpt-5"
    > prompt message="first"
    ? Shell { number: 1, shell: ShellRequest { command: "ls", excluded: false } }
    > follow_up message="second"
    "#);
    let screen = fake.screen();
    assert!(!screen.contains("when the session") && screen.contains("› a draft"), "{screen}");
    fake.read(SESSION);
    assert_eq!(sent(&mut fake), "");
}

#[test]
fn sends_command_line_prompt_first_and_once() {
    let mut fake =
        Fake::waiting(AppOptions { prompt: Some("/todo as it stands".to_owned()), ..AppOptions::default() });
    fake.enter("and this");
    fake.read(SESSION);
    insta::assert_snapshot!(sent(&mut fake), @r#"
    > prompt message="/todo as it stands"
    > steer message="and this"
    "#);
}

#[test]
fn defers_typed_lines_until_loaded() {
    let mut settings = Settings::default();
    settings.set("tui.screen", "linear").unwrap();
    let mut fake = Fake::waiting(AppOptions { settings, ..AppOptions::default() });
    fake.tell(UiEvent::TypedLine("say hello".to_owned()));
    fake.tell(UiEvent::TypedLine("/modle".to_owned()));
    let rows = |fake: &mut Fake| {
        let rows = fake.state.take_linear_output(fake.now, 80).rows;
        rows.iter().map(|row| format!("{row}\n")).collect::<String>()
    };
    let printed = rows(&mut fake);
    assert!(printed.contains("queued until the session is open: say hello\n"), "{printed}");
    fake.read(SESSION);
    assert_eq!(sent(&mut fake), "> prompt message=\"say hello\"");
    let printed = rows(&mut fake);
    assert!(printed.contains("unknown command /modle") && !printed.contains("not sent"), "{printed}");
    assert!(!printed.contains("you: say hello"), "the typed line is already on the terminal: {printed}");
}

#[test]
fn interrupt_restores_unsent_lines() {
    let mut settings = Settings::default();
    settings.set("tui.screen", "linear").unwrap();
    let mut fake = Fake::waiting(AppOptions { settings, ..AppOptions::default() });
    fake.tell(UiEvent::TypedLine("say hello".to_owned()));
    fake.tell(UiEvent::Interrupt);
    let rows = fake.state.take_linear_output(fake.now, 80).rows;
    assert!(
        rows.iter().any(|row| row.as_str().starts_with("not sent; an empty line sends this text")),
        "{rows:?}"
    );
    fake.read(SESSION);
    assert_eq!(sent(&mut fake), "");
}

#[test]
fn restores_misspelled_command_after_loading() {
    let mut fake = Fake::waiting(AppOptions::default());
    fake.enter("/modle");
    fake.read(SESSION);
    let screen = fake.screen();
    assert!(screen.contains("did you mean /model") && screen.contains("› /modle"), "{screen}");
}

#[test]
fn esc_restores_unsent_messages() {
    let mut fake = Fake::waiting(AppOptions::default());
    fake.enter("one");
    fake.enter("two");
    fake.keys("esc");
    let screen = fake.screen();
    assert!(screen.contains("› one\n\n  two"), "{screen}");
    fake.read(SESSION);
    assert_eq!(sent(&mut fake), "");
}

#[test]
fn sends_deferred_messages_to_the_new_session() {
    let mut fake = Fake::waiting(AppOptions::default());
    fake.keeps_conversations = false;
    fake.enter("/new");
    fake.enter("hello");
    fake.read(SESSION);
    insta::assert_snapshot!(sent(&mut fake), @r#"
    > new_session
    > set_model model="anthropic/claude-opus" @0199-next-1
    > prompt message="hello" @0199-next-1
    "#);
}

#[test]
fn sends_command_line_prompt_after_session_choice() {
    let options = || AppOptions { prompt: Some("hi".to_owned()), resume: true, ..AppOptions::default() };
    let mut fake = Fake::with(options());
    assert!(fake.screen().contains("write a parser"));
    assert!(!fake.state.is_working());
    fake.keys("enter");
    assert_eq!(sent(&mut fake), "> prompt message=\"hi\" @0188-old");
    let mut fake = Fake::with(options());
    fake.keys("esc");
    assert_eq!(sent(&mut fake), "> prompt message=\"hi\"");
}

#[test]
fn restores_unsent_messages_when_new_session_fails() {
    let mut fake = Fake::new();
    fake.hold = vec!["new_session"];
    fake.enter("/new");
    fake.enter("a new beginning");
    fake.enter("and more");
    fake.type_text("draft");
    let request = fake.held.remove(0);
    fake.fail(&request, CommandFailure::new(ErrorCode::Failed, "there is no room"));
    let screen = fake.screen();
    assert!(screen.contains("› a new beginning\n\n  and more\n\n  draft"), "{screen}");
    assert_eq!(sent(&mut fake), "> new_session");
    // Later messages go to the session that stayed open.
    fake.keys("enter");
    assert!(sent(&mut fake).contains("> prompt message="));
}

#[test]
fn shows_deferred_notices_after_the_conversation() {
    let mut fake = Fake::waiting(AppOptions::default());
    fake.tell(UiEvent::Copied(Err("the clipboard takes nothing".to_owned())));
    let content = vec![ContentBlock::text("what was said before")];
    fake.messages = vec![Message::User { content, time: time() }];
    fake.read(SESSION);
    let screen = fake.screen();
    let (message, error) = (screen.find("what was said before"), screen.find("the clipboard takes nothing"));
    assert!(message.is_some() && message < error, "{screen}");
}

#[test]
fn opens_dialog_of_new_session_after_switch() {
    let mut fake = Fake::new();
    fake.hold = vec!["new_session"];
    fake.enter("/new");
    let next = || Some("0199-next-1".to_owned());
    for _ in 0..3000 {
        let event = haft_protocol::event::AgentEvent::AssistantStart;
        fake.event_of(event, next());
    }
    let request = UiRequest {
        id: "q1".to_owned(),
        extension: None,
        kind: UiKind::Confirm,
        title: "Go on?".to_owned(),
        message: String::new(),
        options: Vec::new(),
        call: None,
        preview: None,
        placeholder: None,
        prefill: None,
        timeout_ms: Some(60_000),
        default: UiAnswer::Cancelled,
    };
    fake.event_of(RpcEvent::UiRequest(Box::new(request)), next());
    assert!(!fake.screen().contains("Go on?"));
    let request = fake.held.remove(0);
    fake.reply(&request, r#"{"session":"0199-next-1","ephemeral":false}"#);
    assert!(fake.screen().contains("Go on?"));
}
