//! The effects of settings.

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

/// Returns the setting `tools.approve` as the user's file sets it.
fn approve(tools: &str) -> app::SettingRow {
    app::SettingRow {
        name: "tools.approve".to_owned(),
        value: tools.to_owned(),
        origin: "the user's file".to_owned(),
        choices: Vec::new(),
        about: String::new(),
    }
}

/// Returns a list with the extension `todo` in a state.
fn extensions_with_todo(state: &str) -> String {
    format!(
        r#"{{"extensions":[{{"name":"todo","state":"{state}","origin":"global","dir":"/ext/todo",
        "required":false,"gates_off":false}}]}}"#
    )
}

#[test]
fn hello_names_tools_that_need_approval() {
    let mut options = AppOptions::default();
    options.settings.set("tools.approve", "bash, edit").unwrap();
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
    fake.enter("/settings tools.approve");
    fake.take_log();
    // The fake backend has no such row, so the test sends the reply.
    fake.tell(UiEvent::Answer(BackendReply::Set(Ok(approve("bash")))));
    assert!(fake.take_log().contains("> hello approve=[\"bash\"]"));
}

#[test]
fn reports_unknown_approve_tool_once() {
    let mut fake = with(&[("tools.approve", "Bassh, Bash, Shell, todo_add, *")]);
    let note = "tools.approve names Bassh, but no tool has that name, so no approval is requested; did you mean bash?";
    let screen = |fake: &mut Fake| fake.screen().replace("\n  ", " ");
    assert_eq!(screen(&mut fake).matches(note).count(), 1, "{}", fake.screen());
    fake.enter("/tools");
    fake.keys("esc");
    assert_eq!(fake.screen().matches("tools.approve names").count(), 1);
    for names in ["bash", "*", "none", ""] {
        let mut fake = with(&[("tools.approve", names)]);
        assert!(!fake.screen().contains("tools.approve names"), "{names}");
    }
    fake.tell(UiEvent::Answer(BackendReply::Set(Ok(approve("rm")))));
    assert!(fake.screen().contains("tools.approve names rm, but no tool has that name"), "{}", fake.screen());
}

/// The tools of an extension that is starting are not known yet.
#[test]
fn waits_for_extensions_before_checking_approve_tools() {
    let mut fake = Fake::new();
    fake.hold = vec!["list_extensions", "get_tools"];
    fake.enter("/ext");
    let request = fake.held.remove(0);
    fake.reply(&request, &extensions_with_todo("starting"));
    fake.keys("esc");
    fake.tell(UiEvent::Answer(BackendReply::Set(Ok(approve("todo_add")))));
    assert!(!fake.held.iter().any(|request| request.command.kind().name() == "get_tools"));
    fake.later(1.1);
    let request = fake.held.remove(0);
    fake.reply(&request, &extensions_with_todo("ready"));
    let request = fake.held.remove(0);
    let tools = r#"{"tools":[{"name":"todo_add","description":"","schema":{},"active":true}]}"#;
    fake.reply(&request, tools);
    assert!(!fake.screen().contains("tools.approve names"));
}

#[test]
fn bell_rings_only_if_enabled() {
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
fn linear_mode_prints_pages() {
    let mut fake = with(&[("tui.screen", "linear")]);
    fake.enter("/cost");
    assert!(!fake.state.transcript().is_empty());
    assert!(fake.screen().contains("input, read from the cache"));
}

#[test]
fn defers_events_until_conversation_is_loaded() {
    let mut state = AppState::new(AppOptions::default(), std::time::Instant::now());
    let now = std::time::Instant::now();
    let effects = app::start(&mut state);
    let Some(Effect::Send(hello)) = effects.first() else { panic!("hello is not the first request") };
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
    let event = AgentEvent::Error { message: "the file was repaired".to_owned(), stage: None, advice: None };
    let line = haft_protocol::rpc::EventLine { event: event.into(), session: Some(SESSION.to_owned()) };
    app::update(&mut state, now, UiEvent::Line(Box::new(line.into())));
    assert!(state.transcript().is_empty());
    let answer = BackendReply::Conversation(SESSION.to_owned(), Ok(std::sync::Arc::new(Vec::new())));
    app::update(&mut state, now, UiEvent::Answer(answer));
    assert!(!state.transcript().is_empty());
}

#[test]
fn polls_extensions_while_they_start() {
    let mut fake = Fake::new();
    fake.hold = vec!["list_extensions"];
    fake.enter("/ext");
    let request = fake.held.remove(0);
    fake.reply(&request, &extensions_with_todo("starting"));
    fake.keys("esc");
    assert!(fake.screen().contains("todo starting"));
    assert!(fake.state.wakes_at(fake.now).is_some());
    fake.later(1.1);
    let request = fake.held.remove(0);
    fake.reply(&request, &extensions_with_todo("ready"));
    assert!(!fake.screen().contains("todo starting"));
    fake.later(5.0);
    assert_eq!(fake.state.wakes_at(fake.now), None);
    assert!(fake.held.is_empty());
}

#[test]
fn reports_unknown_theme() {
    let mut fake = with(&[("tui.theme", "nosuch")]);
    assert!(fake.screen().contains("✗ unknown theme nosuch (tui.theme); /theme lists all themes"));
    for theme in ["auto", "dark", "light"] {
        assert!(!with(&[("tui.theme", theme)]).screen().contains("✗"), "{theme}");
    }
}

#[test]
fn pickers_mark_the_current_row() {
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

/// A user who lowers the sandbox must not believe that it is lower already.
#[test]
fn changed_sandbox_takes_effect_at_next_start() {
    let mut fake = Fake::new();
    let row = app::SettingRow { name: "tools.sandbox".to_owned(), ..approve("read-only") };
    fake.tell(UiEvent::Answer(BackendReply::Set(Ok(row))));
    let screen = fake.screen();
    assert!(screen.contains("tools.sandbox takes effect when haft starts again"), "{screen}");
}

#[test]
fn settings_picker_shows_descriptions() {
    let mut fake = Fake::new();
    fake.enter("/settings");
    let screen = fake.screen();
    assert!(screen.contains("What it is for."), "{screen}");
    assert!(
        screen.contains("The part of the terminal"),
        "the description comes from the interface: {screen}"
    );
}
