//! Switching between sessions.

use haft_protocol::content::ContentBlock;
use haft_protocol::event::{AgentEvent, NoteLevel};
use haft_protocol::ext::SetWorkingCall;
use haft_protocol::message::Message;
use haft_protocol::rpc::{CommandFailure, ErrorCode, RpcEvent, SessionEnd};
use haft_tui::app::{AppOptions, UiEvent};

use super::fake::{Fake, SESSION, extension, time};

/// Returns the log lines about sessions, in order.
fn steps(log: &str) -> String {
    let matters = [
        "new_session",
        "fork",
        "switch_session",
        "close_session",
        "Conversation",
        "move_to",
        "Delete",
        "set_name",
    ];
    let lines = log
        .lines()
        .filter(|line| !line.starts_with("? Remember") && matters.iter().any(|word| line.contains(word)));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn new_session_replaces_the_shown_one() {
    let mut fake = Fake::new();
    fake.enter("hello there");
    fake.answer("hi");
    fake.take_log();
    fake.enter("/new");
    let log = fake.take_log();
    assert!(log.contains("? Branch"), "{log}");
    insta::assert_snapshot!(steps(&log), @r#"
    > new_session
    > switch_session @0199-next-1
    ? Conversation { session: "0199-next-1" }
    > close_session
    "#);
    assert_eq!(fake.state.session(), Some("0199-next-1"));
    assert!(fake.state.transcript().is_empty());
    // Events of the previous session are ignored.
    fake.rpc(RpcEvent::SessionClosed { reason: SessionEnd::Requested });
    assert!(fake.state.transcript().is_empty());
}

#[test]
fn session_that_an_extension_opened_replaces_the_shown_one() {
    let mut fake = Fake::new();
    fake.take_log();
    let switched = RpcEvent::SessionSwitched { extension: extension("handoff") };
    fake.event_of(switched.clone(), Some("0199-next-1".to_owned()));
    insta::assert_snapshot!(steps(&fake.take_log()), @r#"
    > switch_session @0199-next-1
    ? Conversation { session: "0199-next-1" }
    > close_session
    "#);
    assert!(fake.screen().contains("[handoff] opened another session"));
    // The shown session stays.
    fake.event_of(switched, Some("0199-next-1".to_owned()));
    assert_eq!(steps(&fake.take_log()), "");
}

#[test]
fn keeps_events_of_session_being_opened() {
    let mut fake = Fake::new();
    fake.hold = vec!["new_session"];
    fake.enter("/new");
    let note = AgentEvent::ExtNotify {
        extension: extension("todo"),
        level: NoteLevel::Info,
        message: "welcome".to_owned(),
    };
    fake.event_of(note, Some("0199-next-1".to_owned()));
    let request = fake.held.remove(0);
    fake.reply(&request, r#"{"session":"0199-next-1","ephemeral":false}"#);
    assert!(fake.screen().contains("[todo] welcome"));
}

#[test]
fn resume_picker_switches_session() {
    let mut fake = Fake::new();
    fake.enter("/resume");
    let screen = fake.screen();
    assert!(screen.contains("write a parser") && screen.contains("current · 3 messages"), "{screen}");
    // The most recent other session is selected.
    fake.keys("enter");
    insta::assert_snapshot!(steps(&fake.take_log()), @r#"
    > switch_session @0188-old
    ? Conversation { session: "0188-old" }
    > close_session
    "#);
    let options = AppOptions { resume: true, ..AppOptions::default() };
    assert!(Fake::with(options).screen().contains("write a parser"));
}

#[test]
fn switch_restores_the_title_and_the_line_of_work() {
    let mut fake = Fake::new();
    let todo = || extension("todo");
    fake.rpc(RpcEvent::SetTitle { extension: todo(), text: "3 open".to_owned() });
    let hidden = SetWorkingCall { visible: Some(false), ..SetWorkingCall::default() };
    fake.rpc(RpcEvent::SetWorking { extension: todo(), working: hidden });
    assert!(fake.take_log().contains(r#"Title("3 open [todo]")"#));
    fake.enter("/resume");
    fake.keys("enter");
    assert!(fake.take_log().contains(r#"Title("haft"#));
    fake.enter("go");
    fake.event(AgentEvent::TurnStart { step: 1 });
    fake.event(AgentEvent::AssistantStart);
    assert!(fake.screen().contains("· esc to stop"), "{}", fake.screen());
}

#[test]
fn resume_picker_hides_empty_sessions() {
    let mut fake = Fake::new();
    fake.said = 0;
    fake.enter("/resume");
    let screen = fake.screen();
    assert!(screen.contains("write a parser") && !screen.contains("(empty)"), "{screen}");
    fake.keys("enter");
    assert_eq!(fake.state.session(), Some("0188-old"));
}

#[test]
fn fork_replaces_the_shown_session() {
    let mut fake = Fake::new();
    fake.enter("/fork e2");
    insta::assert_snapshot!(steps(&fake.take_log()), @r#"
    > fork entry="e2"
    > switch_session @0199-next-1
    ? Conversation { session: "0199-next-1" }
    > close_session
    "#);
}

#[test]
fn tree_moves_prompt_into_composer() {
    let mut fake = Fake::new();
    fake.enter("/tree");
    fake.keys("up enter");
    insta::assert_snapshot!(steps(&fake.take_log()), @r#"
    > move_to before=true entry="e3"
    ? Conversation { session: "0199-first" }
    "#);
    let screen = fake.screen();
    assert!(
        screen.contains("› the first\n") && screen.contains("  with all that was said of it"),
        "{screen}"
    );
    // A draft stays.
    let mut fake = Fake::new();
    fake.hold = vec!["move_to"];
    fake.enter("/tree");
    fake.keys("up enter");
    fake.type_text("and this");
    let request = fake.held.remove(0);
    fake.reply(&request, r#"{"text":"the first"}"#);
    let screen = fake.screen();
    assert!(screen.contains("› the first\n") && screen.contains("  and this"), "{screen}");
}

#[test]
fn name_shows_in_title_status_line_and_picker() {
    let mut fake = Fake::new();
    fake.enter("/name the parser");
    assert_eq!(fake.take_log().lines().last(), Some("Title(\"haft – the parser\")"));
    assert!(fake.screen().contains("the parser · haft"));
    fake.enter("go");
    fake.answer("ok");
    assert!(fake.screen().contains("the parser · haft"));
    fake.enter("/resume");
    assert!(fake.screen().contains("● the parser"));
}

#[test]
fn resume_shows_stored_messages() {
    let mut fake = Fake::new();
    let content = vec![ContentBlock::text("what was said before")];
    fake.messages = vec![Message::User { content, time: time() }];
    fake.enter("/resume 0188");
    assert!(fake.screen().contains("› what was said before"));
    // Only one session is opened at a time.
    fake.hold = vec!["new_session"];
    fake.enter("/new");
    fake.take_log();
    fake.enter("/new");
    assert!(!fake.take_log().contains("new_session"));
}

#[test]
fn reports_closed_session_and_quits_on_disconnect() {
    let mut fake = Fake::new();
    fake.enter("go");
    fake.rpc(RpcEvent::SessionClosed { reason: SessionEnd::Failed });
    assert!(!fake.state.is_working());
    assert!(fake.screen().contains("this session is closed"));
    fake.take_log();
    fake.tell(UiEvent::Disconnected);
    assert_eq!(fake.state.session(), Some(SESSION));
    assert_eq!(fake.take_log().trim(), "Quit", "the terminal is restored before the reason is printed");
}

#[test]
fn defers_messages_to_session_being_opened() {
    let mut fake = Fake::new();
    fake.hold = vec!["new_session"];
    fake.enter("/new");
    fake.enter("a new beginning");
    fake.enter("");
    assert!(!fake.take_log().contains("> prompt"));
    assert!(fake.screen().contains("↳ when the session is open: a new beginning"));
    let request = fake.held.remove(0);
    fake.reply(&request, r#"{"session":"0199-next-1","ephemeral":false}"#);
    let log = fake.take_log();
    assert_eq!(log.matches("> prompt message=\"a new beginning\" @0199-next-1").count(), 1, "{log}");
    // If no session is opened, the message returns to the composer.
    let mut fake = Fake::new();
    fake.hold = vec!["new_session"];
    fake.enter("/new");
    fake.enter("a new beginning");
    let request = fake.held.remove(0);
    fake.fail(&request, CommandFailure::new(ErrorCode::Failed, "there is no room"));
    assert!(fake.screen().contains("› a new beginning"));
    assert!(!fake.take_log().contains("> prompt"));
}

#[test]
fn reports_untrusted_items_once() {
    let mut fake = Fake::new();
    let event = |skipped: &str| AgentEvent::TrustRequired {
        project: "/projects/haft".to_owned(),
        skipped: vec![skipped.to_owned()],
        message: "`haft trust` shows it".to_owned(),
    };
    fake.event(event("AGENTS.md"));
    fake.event(event("AGENTS.md"));
    let screen = fake.screen();
    assert_eq!(screen.matches("is not trusted; not used: AGENTS.md").count(), 1, "{screen}");
    assert!(screen.contains("run /trust to review and trust it"), "{screen}");
    fake.event(event("extension guard"));
    assert!(fake.screen().contains("not used: extension guard"));
}
