//! What settings change, and what comes when.

use haft_protocol::event::AgentEvent;
use haft_protocol::rpc::Command;
use haft_tui::app::settings::Settings;
use haft_tui::app::{self, AppOptions, AppState, BackendReply, Effect, UiEvent};

use super::fake::{Fake, SESSION};

fn with(settings: &[(&str, &str)]) -> Fake {
    let mut options = AppOptions { settings: Settings::default(), ..AppOptions::default() };
    for (name, value) in settings {
        options.settings.set(name, value).unwrap();
    }
    Fake::with(options)
}

/// `tui.approve`, as the user's file sets it.
fn approve(tools: &str) -> app::SettingRow {
    app::SettingRow {
        name: "tui.approve".to_owned(),
        value: tools.to_owned(),
        origin: "the user's file".to_owned(),
        choices: Vec::new(),
        about: String::new(),
    }
}

/// The only extension, in a state.
fn todo_that_is(state: &str) -> String {
    format!(
        r#"{{"extensions":[{{"name":"todo","state":"{state}","origin":"global","dir":"/ext/todo",
        "required":false,"gates_off":false}}]}}"#
    )
}

#[test]
fn the_tools_to_be_asked_about_are_named_at_once() {
    let mut options = AppOptions::default();
    options.settings.set("tui.approve", "bash, edit").unwrap();
    let mut state = AppState::new(options, std::time::Instant::now());
    let effects = app::start(&mut state);
    let hello = effects.iter().find_map(|effect| {
        let Effect::Send(request) = effect else { return None };
        if let Command::Hello(hello) = &request.command { Some(hello) } else { None }
    });
    let hello = hello.unwrap();
    assert_eq!(
        (hello.ui, hello.approve.as_deref()),
        (Some(true), Some(["bash", "edit"].map(str::to_owned).as_slice()))
    );

    let mut fake = Fake::new();
    fake.enter("/settings tui.approve");
    fake.take_log();
    // The program knows no such row; the answer of another does.
    fake.tell(UiEvent::Answer(BackendReply::Set(Ok(approve("bash")))));
    assert!(fake.take_log().contains("> hello approve=[\"bash\"]"));
}

#[test]
fn a_tool_that_is_asked_about_and_not_there_is_told_of_once() {
    let mut fake = with(&[("tui.approve", "Bash, todo_add, *")]);
    let told =
        "tui.approve names Bash, and no tool is called that, so nothing is asked for it; did you mean bash?";
    let screen = |fake: &mut Fake| fake.screen().replace("\n  ", " ");
    assert_eq!(screen(&mut fake).matches(told).count(), 1, "{}", fake.screen());
    fake.enter("/tools");
    fake.keys("esc");
    assert_eq!(fake.screen().matches("tui.approve names").count(), 1);
    for names in ["bash", "*", "none", ""] {
        let mut fake = with(&[("tui.approve", names)]);
        assert!(!fake.screen().contains("tui.approve names"), "{names}");
    }
    fake.tell(UiEvent::Answer(BackendReply::Set(Ok(approve("rm")))));
    assert!(fake.screen().contains("tui.approve names rm, and no tool is called that"), "{}", fake.screen());
}

/// What an extension that starts has is not known yet.
#[test]
fn a_tool_that_is_asked_about_may_come_later() {
    let mut fake = Fake::new();
    fake.hold = vec!["list_extensions", "get_tools"];
    fake.enter("/ext");
    let request = fake.held.remove(0);
    fake.reply(&request, &todo_that_is("starting"));
    fake.keys("esc");
    fake.tell(UiEvent::Answer(BackendReply::Set(Ok(approve("todo_add")))));
    assert!(!fake.held.iter().any(|request| request.command.kind().name() == "get_tools"));
    fake.later(1.1);
    let request = fake.held.remove(0);
    fake.reply(&request, &todo_that_is("ready"));
    let request = fake.held.remove(0);
    let tools = r#"{"tools":[{"name":"todo_add","description":"","schema":{},"active":true}]}"#;
    fake.reply(&request, tools);
    assert!(!fake.screen().contains("tui.approve names"));
}

#[test]
fn the_bell_rings_where_it_is_wanted() {
    let mut fake = Fake::new();
    fake.enter("go");
    fake.answer("ok");
    assert!(!fake.take_log().contains("Bell"));
    let mut fake = with(&[("tui.bell", "on")]);
    fake.enter("go");
    fake.answer("ok");
    assert!(fake.take_log().contains("Bell"));
}

#[test]
fn without_a_screen_of_its_own_pages_stand_among_the_rest() {
    let mut fake = with(&[("tui.screen", "linear")]);
    fake.enter("/cost");
    assert!(!fake.state.transcript().is_empty());
    assert!(fake.screen().contains("input, read from the cache"));
}

#[test]
fn what_happens_before_the_conversation_is_known_follows_it() {
    let mut state = AppState::new(AppOptions::default(), std::time::Instant::now());
    let now = std::time::Instant::now();
    let effects = app::start(&mut state);
    let Some(Effect::Send(hello)) = effects.first() else { panic!("it greets first") };
    let data =
        format!(r#"{{"protocol_version":1,"version":"0","provider":"p","model":"m","session":"{SESSION}"}}"#);
    let data = haft_protocol::RawJson::parse(&data).unwrap();
    let reply =
        haft_protocol::rpc::RpcResponse::success_of_kind(hello.id.clone(), hello.command.kind(), data);
    let effects = app::update(&mut state, now, UiEvent::Line(Box::new(reply.into())));
    assert!(
        matches!(effects.as_slice(), [Effect::Ask(app::BackendRequest::Conversation { .. })]),
        "{effects:?}"
    );
    let event = AgentEvent::Error { message: "the file was mended".to_owned(), stage: None };
    let line = haft_protocol::rpc::EventLine { event: event.into(), session: Some(SESSION.to_owned()) };
    app::update(&mut state, now, UiEvent::Line(Box::new(line.into())));
    assert!(state.transcript().is_empty());
    let answer = BackendReply::Conversation(SESSION.to_owned(), Ok(std::sync::Arc::new(Vec::new())));
    app::update(&mut state, now, UiEvent::Answer(answer));
    assert!(!state.transcript().is_empty());
}

#[test]
fn while_extensions_start_it_is_asked_again_how_they_are() {
    let mut fake = Fake::new();
    fake.hold = vec!["list_extensions"];
    fake.enter("/ext");
    let request = fake.held.remove(0);
    fake.reply(&request, &todo_that_is("starting"));
    fake.keys("esc");
    assert!(fake.screen().contains("todo starting"));
    assert!(fake.state.wakes_at(fake.now).is_some());
    fake.later(1.1);
    let request = fake.held.remove(0);
    fake.reply(&request, &todo_that_is("ready"));
    assert!(!fake.screen().contains("todo starting"));
    fake.later(5.0);
    assert_eq!(fake.state.wakes_at(fake.now), None);
    assert!(fake.held.is_empty());
}

#[test]
fn a_theme_that_is_not_there_is_told_of() {
    let mut fake = with(&[("tui.theme", "nosuch")]);
    assert!(fake.screen().contains("✗ there is no theme nosuch (tui.theme); /theme shows them all"));
    for theme in ["auto", "dark", "light"] {
        assert!(!with(&[("tui.theme", theme)]).screen().contains("✗"), "{theme}");
    }
}

#[test]
fn what_counts_now_is_marked_in_every_list() {
    let mut fake = with(&[("tui.theme", "dark")]);
    for (command, current) in [("/model", "● claude-opus"), ("/thinking", "● high"), ("/theme", "● dark")]
    {
        fake.enter(command);
        let screen = fake.screen();
        assert!(screen.contains(current), "{command}: {screen}");
        assert_eq!(screen.matches('●').count(), 1, "{command}: {screen}");
        fake.keys("esc");
    }
}

#[test]
fn a_setting_says_what_it_is_for() {
    let mut fake = Fake::new();
    fake.enter("/settings");
    let screen = fake.screen();
    assert!(screen.contains("What it is for."), "{screen}");
    assert!(screen.contains("A screen of its own"), "the interface has its own words: {screen}");
}
