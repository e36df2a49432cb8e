//! The built-in commands.

use haft_protocol::RawJson;
use haft_protocol::event::AgentEvent;
use haft_protocol::rpc::{ClientEvent as SessionEvent, RpcEvent, UiAnswer, UiEnd, UiKind, UiRequest};
use haft_tui::app::UiEvent;
use haft_tui::app::commands::COMMANDS;
use haft_tui::app::settings::Screen;
use haft_tui::theme::Theme;

use super::fake::{Fake, extension};

#[track_caller]
fn check(typed: &str, expect: &str) {
    let mut fake = Fake::new();
    fake.enter(typed);
    let log = fake.take_log();
    let log = log.lines().filter(|line| !line.contains("get_state") && !line.starts_with("? Remember"));
    assert_eq!(log.collect::<Vec<_>>().join("\n"), expect, "{typed}");
}

#[test]
fn every_command_has_an_effect() {
    for command in COMMANDS {
        let mut fake = Fake::new();
        let before = fake.screen();
        fake.enter(&format!("/{}", command.name));
        let log = fake.take_log();
        let log: Vec<&str> = log.lines().filter(|line| !line.starts_with("? Remember")).collect();
        assert!(!log.is_empty() || fake.screen() != before, "/{}", command.name);
    }
}

#[test]
fn commands_with_an_argument_run_without_a_picker() {
    check("/model openai/gpt-5", "> get_models all=true\n> set_model model=\"openai/gpt-5\"");
    check("/thinking high", "> set_thinking level=\"high\"");
    check("/compact keep the names", "> compact instructions=\"keep the names\"");
    check("/export a.html", "? Export { session: \"0199-first\", to: Some(\"a.html\") }");
    check("/logout anthropic", "? Providers\n? Logout { provider: \"anthropic\" }");
    check("/reload-ext todo", "> reload_ext name=\"todo\"\n? Themes\n> list_commands\n> list_extensions");
    check("/q", "Quit");
    check("/clear", "> clear");
    check("/frobnicate the code", "> run_command args=\"the code\" name=\"frobnicate\"");
    check("/usr/bin is full", "> prompt message=\"/usr/bin is full\"\nTitle(\"haft – /usr/bin is full\")");
    check("/tools todo_add", "> get_tools\n> get_tools\n> set_tools tools=[\"bash\",\"todo_add\"]");
}

#[test]
fn login_hides_the_typed_key() {
    let mut fake = Fake::new();
    fake.enter("/login");
    fake.keys("down enter");
    fake.take_log();
    fake.type_text("sk-secret");
    assert!(!fake.screen().contains("secret"));
    fake.keys("enter");
    let log = fake.take_log();
    assert!(log.contains("Login { provider: \"openai\"") && !log.contains("sk-secret"), "{log}");
}

#[test]
fn trust_applies_only_to_the_shown_items() {
    let mut fake = Fake::new();
    fake.enter("/trust");
    let screen = fake.screen();
    assert!(screen.contains("extension guard") && screen.contains("AGENTS.md"), "{screen}");
    // Keys typed before the dialog was visible are ignored.
    fake.keys("y");
    assert!(!fake.take_log().contains("Grant"));
    fake.screen();
    fake.later(0.5);
    fake.keys("y");
    let log = fake.take_log();
    assert!(log.contains("? Grant { digest: \"d1\" }"), "{log}");
    assert!(log.contains("? Branch") && log.contains("? Themes"), "trust makes them available: {log}");
    assert!(fake.screen().contains("Start a new session?"));
    fake.keys("n");
    assert!(!fake.take_log().contains("new_session"));
}

#[test]
fn interface_settings_apply_immediately() {
    let mut fake = Fake::new();
    fake.enter("/settings");
    fake.keys("enter");
    fake.keys("down down enter");
    assert!(fake.take_log().contains("? Set { name: \"tui.screen\", value: \"linear\" }"));
    assert_eq!(fake.state.settings().screen(), Screen::Linear);
}

#[test]
fn theme_picker_previews_themes() {
    let mut fake = Fake::new();
    let is = |fake: &Fake, theme: Theme| fake.state.theme().name() == theme.name();
    fake.enter("/theme");
    fake.keys("down down");
    assert!(is(&fake, Theme::light()));
    fake.keys("esc");
    assert!(is(&fake, Theme::dark()));
    fake.enter("/theme");
    fake.keys("down down enter");
    assert!(is(&fake, Theme::light()));
    assert!(fake.take_log().contains("? Set { name: \"tui.theme\", value: \"light\" }"));
}

#[test]
fn tool_picker_stays_open_while_toggling() {
    let mut fake = Fake::new();
    fake.enter("/tools");
    fake.keys("enter");
    fake.keys("down enter");
    let log = fake.take_log();
    assert!(
        log.contains("> set_tools tools=[]") && log.contains("> set_tools tools=[\"todo_add\"]"),
        "{log}"
    );
    assert!(fake.screen().contains("todo_add"));
}

#[test]
fn reload_waits_until_agent_is_idle() {
    let mut fake = Fake::new();
    fake.enter("go");
    fake.hold = vec!["abort"];
    fake.enter("/reload-ext todo");
    let abort = fake.held.remove(0);
    fake.reply(&abort, "{}");
    let log = fake.take_log();
    assert!(log.contains("> abort") && !log.contains("> reload_ext"), "{log}");
    fake.done();
    let log = fake.take_log();
    assert_eq!(log.matches("> reload_ext name=\"todo\"").count(), 1, "{log}");
}

#[test]
fn reload_aborts_the_running_agent() {
    let mut fake = Fake::new();
    fake.enter("go");
    fake.take_log();
    fake.enter("/reload-ext");
    let log = fake.take_log();
    let log: Vec<&str> =
        log.lines().filter(|line| line.starts_with("> ") && !line.contains("get_state")).collect();
    assert_eq!(
        log,
        ["> abort queued=true", "> take_queued", "> reload_ext", "> list_commands", "> list_extensions"]
    );
}

fn question(id: &str, kind: UiKind) -> RpcEvent {
    RpcEvent::UiRequest(Box::new(UiRequest {
        id: id.to_owned(),
        extension: Some(extension("todo")),
        kind,
        title: "Delete all?".to_owned(),
        message: String::new(),
        options: Vec::new(),
        call: None,
        preview: None,
        placeholder: None,
        prefill: None,
        timeout_ms: Some(60_000),
        default: UiAnswer::Confirmed(false),
    }))
}

#[test]
fn timed_out_dialog_closes_and_the_next_is_answered() {
    let mut fake = Fake::new();
    fake.rpc(question("q1", UiKind::Confirm));
    fake.rpc(question("q2", UiKind::Confirm));
    assert!(fake.screen().contains("1 more question"));
    fake.event(SessionEvent::Rpc(RpcEvent::UiDone { id: "q1".to_owned(), why: UiEnd::Timeout }));
    fake.later(0.5);
    fake.keys("y");
    assert_eq!(fake.take_log(), "> ui_response confirmed=true request=\"q2\"");
    assert!(!fake.screen().contains("Delete all?"));
}

#[test]
fn next_thinking_level_follows_the_requested_one() {
    let mut fake = Fake::new();
    fake.keys("shift+tab shift+tab");
    assert_eq!(fake.take_log(), "> set_thinking level=\"xhigh\"\n> set_thinking level=\"default\"");
}

#[test]
fn cost_reports_an_unused_session() {
    let mut fake = Fake::new();
    fake.context = 0;
    fake.done();
    fake.enter("/cost");
    assert!(fake.screen().contains("· no tokens used yet"));
    fake.context = 12;
    fake.done();
    fake.enter("/cost");
    let screen = fake.screen();
    assert!(screen.contains("amount") && screen.contains("12 of 200000 tokens"), "{screen}");
}

#[test]
fn help_groups_commands_and_keys() {
    let mut fake = Fake::new();
    fake.resize(100, 400);
    fake.enter("/help");
    let screen = fake.screen();
    let headings = [
        "Commands of haft",
        "Commands of extensions",
        "Templates",
        "Skills",
        "Keys: editor",
        "Keys: prompt",
        "Keys: panel",
    ];
    let places: Vec<_> = headings.iter().map(|heading| screen.find(heading)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}\n{screen}");
}

#[test]
fn jobs_are_counted_listed_and_stopped() {
    let mut fake = Fake::new();
    fake.enter("/jobs");
    assert!(fake.screen().contains("no background commands"));
    let args = RawJson::parse(r#"{"command": "make", "background": true}"#).unwrap();
    fake.event(AgentEvent::ToolStart {
        id: haft_protocol::ids::ToolCallId::new("1"),
        name: "bash".into(),
        args,
        label: None,
    });
    fake.jobs = serde_json::json!([
        {"job": 1, "command": "true", "took_ms": 10, "end": "exit code 0"},
        {"job": 2, "command": "npm run dev", "took_ms": 65_000},
    ]);
    assert!(!fake.screen().contains("1 job"));
    fake.later(2.0);
    fake.tell(UiEvent::Tick);
    assert!(fake.screen().contains(" · 1 job"), "{}", fake.screen());
    fake.enter("/jobs");
    let screen = fake.screen();
    assert!(screen.contains("npm run dev") && screen.contains("running · 1m 05s"), "{screen}");
    fake.take_log();
    fake.keys("enter");
    let log = fake.take_log();
    assert!(log.contains("> stop_job job=2"), "{log}");
    fake.jobs[1]["end"] = "stopped".into();
    fake.later(2.0);
    fake.tell(UiEvent::Tick);
    let screen = fake.screen();
    assert!(screen.contains("job 2 has ended: stopped") && !screen.contains("1 job"), "{screen}");
}
