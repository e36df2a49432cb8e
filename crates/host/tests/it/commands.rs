//! Commands of extensions and their outcomes.

use std::sync::{Arc, Mutex};

use haft_host::{CommandError, Frontend, Host};
use haft_protocol::event::{AgentEvent, NoteLevel};
use haft_protocol::ext::{CommandAction, Panel, PanelKey, PanelRender, PanelResize};
use haft_protocol::ids::{ExtensionName, PanelId};
use haft_test_support::FakePeer;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{Events, builder, fault, host_with, host_with_two};

fn register(name: &str) -> Value {
    json!({"type": "register_command", "name": name, "description": "for tests"})
}

async fn run(
    host: &Host,
    peer: &mut FakePeer,
    name: &str,
    args: &str,
    answer: Value,
) -> (Result<CommandAction, CommandError>, Value) {
    let cancel = CancellationToken::new();
    let reply = async {
        let question = peer.expect("command_invoked").await;
        peer.answer(&question, "command_response", answer).await;
        question
    };
    let (outcome, question) = tokio::join!(host.run_command(&cancel, name, args), reply);
    (outcome.map(|outcome| outcome.action), question)
}

#[tokio::test(start_paused = true)]
async fn executes_every_command_action() {
    let (host, mut peer, events) = host_with("hello", [register("hello")]).await;
    let prompt = |text: &str| CommandAction::Prompt(format!("[from extension hello, command hello]\n{text}"));
    let actions = [
        (json!({"action": "prompt", "prompt": "greet me"}), prompt("greet me")),
        (json!({"action": "prompt", "prompt": "/trust"}), prompt("/trust")),
        (json!({"action": "insert", "insert": "text"}), CommandAction::Insert("text".into())),
        (json!({"action": "display", "display": "note"}), CommandAction::Display("note".into())),
        (json!({"action": "noop"}), CommandAction::Noop),
        (json!({}), CommandAction::Noop),
        (json!({"action": "prompt", "error": "no network"}), CommandAction::Failed("no network".into())),
    ];
    for (answer, expect) in actions {
        let (action, question) = run(&host, &mut peer, "hello", "  two  words ", answer).await;
        assert_eq!(action, Ok(expect));
        assert_eq!(question["args"], "two  words");
    }
    let display = AgentEvent::ExtDisplay { extension: ExtensionName::new("hello"), text: "note".into() };
    assert_eq!(events.all(), [display]);
}

#[tokio::test(start_paused = true)]
async fn removes_invisible_characters_from_prompt() {
    let (host, mut peer, events) = host_with("hello", [register("hello")]).await;
    let answer = json!({"action": "prompt", "prompt": "greet me\u{e0041}\u{e0042}"});
    let (action, _) = run(&host, &mut peer, "hello", "", answer).await;
    assert_eq!(action, Ok(CommandAction::Prompt("[from extension hello, command hello]\ngreet me".into())));
    insta::assert_snapshot!(events.only_message(), @"removed 2 invisible characters from the prompt of command hello");
}

#[tokio::test(start_paused = true)]
async fn unknown_action_and_command_are_errors() {
    let (host, mut peer, events) = host_with("hello", [register("hello")]).await;
    let (outcome, _) = run(&host, &mut peer, "hello", "", json!({"action": "explode"})).await;
    insta::assert_snapshot!(outcome.unwrap_err(), @r##"extension hello/hello failed: sent an invalid answer: unknown action "explode": use prompt, insert, display, open_panel or noop"##);
    assert_eq!(events.faults(), [fault("hello", "frame_invalid")]);
    let unknown = host.run_command(&CancellationToken::new(), "nothing", "").await;
    assert_eq!(unknown, Err(CommandError::Unknown { name: "nothing".into() }));
}

#[tokio::test(start_paused = true)]
async fn ignores_case_and_sends_registered_name() {
    let (host, mut peer, _) = host_with("hello", [register("Hello")]).await;
    let (_, question) = run(&host, &mut peer, "hello", "", json!({})).await;
    assert_eq!(question["name"], "Hello");
}

#[tokio::test(start_paused = true)]
async fn first_extension_owns_command_name() {
    let (host, [_first, _second], events) = host_with_two(
        ("first", [register("go"), register("help"), register("bad name")]),
        ("second", [register("go"), register("stop")]),
    )
    .await;
    let known: Vec<_> =
        host.commands().into_iter().map(|command| (command.name, command.extension.to_string())).collect();
    assert_eq!(known, [("go".into(), "first".into()), ("stop".into(), "second".into())]);
    let rejected = |name| fault(name, "register_rejected");
    assert_eq!(events.faults(), [rejected("first"), rejected("first"), rejected("second")]);
}

#[tokio::test(start_paused = true)]
async fn keeps_notes_sent_during_registration() {
    let note = json!({"type": "notify", "level": "warn", "message": "no cache"});
    let (_host, _peer, events) = host_with("early", [note, json!({"type": "clear_notes"})]).await;
    let extension = ExtensionName::new("early");
    let note = AgentEvent::ExtNotify {
        extension: extension.clone(),
        level: NoteLevel::Warn,
        message: "no cache".into(),
    };
    assert_eq!(events.all(), [note, AgentEvent::ExtClearNotes { extension }]);
}

/// Records the requests to a front end.
#[derive(Default)]
struct Screen(Mutex<Vec<String>>);

impl Screen {
    fn note(&self, text: String) {
        self.0.lock().unwrap().push(text);
    }
}

impl Frontend for Screen {
    fn open_panel(&self, extension: &ExtensionName, panel: &Panel) {
        self.note(format!("{extension} opens {}", panel.id));
    }

    fn render_panel(&self, extension: &ExtensionName, panel: &PanelRender) {
        self.note(format!("{extension} draws {} {:?}", panel.panel_id, panel.lines));
    }

    fn close_panel(&self, extension: &ExtensionName, panel: &PanelId) {
        self.note(format!("{extension} closes {panel}"));
    }

    fn insert(&self, extension: &ExtensionName, text: &str) {
        self.note(format!("{extension} inserts {text}"));
    }

    fn registrations_changed(&self, extension: &ExtensionName) {
        self.note(format!("{extension} registers"));
    }

    fn extension_gone(&self, extension: &ExtensionName) {
        self.note(format!("{extension} is gone"));
    }
}

#[tokio::test(start_paused = true)]
async fn front_end_learns_of_later_registrations() {
    let (events, screen) = (Events::default(), Arc::new(Screen::default()));
    let (mut peer, reader, writer) = FakePeer::pair();
    let start = builder(&events).frontend(Arc::clone(&screen) as _).streams("todo", reader, writer).start();
    let (host, ()) = tokio::join!(start, peer.greet("todo", [register("todo")]));
    let mut changes = host.changes();
    let mut send = async |frame: Value| {
        changes.mark_unchanged();
        peer.send(frame).await;
        changes.changed().await.unwrap();
        std::mem::take(&mut *screen.0.lock().unwrap())
    };
    let registers = ["todo registers"];
    assert_eq!(send(register("done")).await, registers);
    assert_eq!(
        send(json!({"type": "register_tool", "name": "milk", "description": "Buys milk."})).await,
        registers
    );
    assert_eq!(send(json!({"type": "subscribe", "events": ["turn_end"]})).await, [""; 0]);
    assert_eq!(host.commands().len(), 2);
    host.shutdown().await;
    assert_eq!(*screen.0.lock().unwrap(), ["todo is gone"]);
}

#[tokio::test(start_paused = true)]
async fn panel_opens_draws_closes_and_receives_keys() {
    let (events, screen) = (Events::default(), Arc::new(Screen::default()));
    let (mut peer, reader, writer) = FakePeer::pair();
    let start = builder(&events).frontend(Arc::clone(&screen) as _).streams("todo", reader, writer).start();
    let (host, ()) = tokio::join!(start, peer.greet("todo", [register("todo")]));
    let panel = json!({"action": "open_panel", "open_panel": {"id": "main", "lines": ["x"]}});
    run(&host, &mut peer, "todo", "", panel).await.0.unwrap();
    let todo = ExtensionName::new("todo");
    host.panel_resized(&todo, PanelResize { panel_id: PanelId::new("main"), width: 80, height: 10 });
    host.panel_key(&todo, PanelKey { panel_id: PanelId::new("main"), key: "down".into(), text: None });
    assert_eq!(peer.expect("panel_key").await["key"], "down", "a resize requires the capability");
    host.panel_closed(&todo, PanelId::new("main"));
    assert_eq!(peer.expect("panel_close").await["panel_id"], "main");
    peer.send(json!({"type": "panel_render", "panel_id": "main", "lines": ["y"]})).await;
    peer.send(json!({"type": "panel_close", "panel_id": "main"})).await;
    drop(peer);
    host.shutdown().await;
    let seen = ["todo opens main", "todo draws main [\"y\"]", "todo closes main", "todo is gone"];
    assert_eq!(*screen.0.lock().unwrap(), seen);
}

fn completing(name: &str) -> Value {
    json!({"type": "register_command", "name": name, "completes": true})
}

#[tokio::test(start_paused = true)]
async fn extension_completes_its_command() {
    let (host, mut peer, events) = host_with("todo", [completing("todo"), register("plain")]).await;
    let completes: Vec<_> = host.commands().into_iter().map(|command| command.completes).collect();
    assert_eq!(completes, [true, false]);
    let cancel = CancellationToken::new();
    let reply = async {
        let question = peer.expect("command_completions").await;
        let item = json!({"value": "done 1", "description": "milk"});
        peer.answer(&question, "command_completions_response", json!({"items": [item]})).await;
        question
    };
    let (items, question) = tokio::join!(host.complete_command(&cancel, "TODO", "d"), reply);
    assert_eq!(items.unwrap()[0].value, "done 1");
    assert_eq!((&question["name"], &question["prefix"]), (&json!("todo"), &json!("d")));
    assert_eq!(host.complete_command(&cancel, "plain", "d").await, Ok(Vec::new()), "no request is sent");
    let unknown = host.complete_command(&cancel, "nothing", "").await;
    assert_eq!(unknown, Err(CommandError::Unknown { name: "nothing".into() }));
    assert_eq!(events.faults(), []);
}

#[tokio::test(start_paused = true)]
async fn newer_completion_request_replaces_older_one() {
    let (host, mut peer, events) = host_with("todo", [completing("todo")]).await;
    let cancel = CancellationToken::new();
    let newer = async {
        let older = peer.expect("command_completions").await;
        let asked = host.complete_command(&cancel, "todo", "do");
        let reply = async {
            let question = peer.expect("command_completions").await;
            peer.answer(&question, "command_completions_response", json!({"items": [{"value": "do"}]})).await;
            peer.answer(&older, "command_completions_response", json!({})).await;
        };
        tokio::join!(asked, reply).0
    };
    let (older, newer) = tokio::join!(host.complete_command(&cancel, "todo", "d"), newer);
    assert_eq!(older, Err(CommandError::Superseded { name: "todo".into() }));
    assert_eq!(newer.unwrap().len(), 1);
    assert_eq!(events.faults(), []);
}

#[tokio::test(start_paused = true)]
async fn stops_completions_after_repeated_failures() {
    let (host, mut peer, events) = host_with("todo", [completing("todo")]).await;
    let cancel = CancellationToken::new();
    for _ in 0..3 {
        assert_eq!(host.complete_command(&cancel, "todo", "").await, Ok(Vec::new()));
        peer.expect("command_completions").await;
    }
    let before = tokio::time::Instant::now();
    assert_eq!(host.complete_command(&cancel, "todo", "").await, Ok(Vec::new()));
    assert_eq!(before.elapsed(), std::time::Duration::ZERO);
    assert_eq!(
        events.faults(),
        [fault("todo", "call_timeout"), fault("todo", "call_timeout"), fault("todo", "call_timeout")]
    );
}
