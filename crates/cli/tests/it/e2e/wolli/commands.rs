//! Commands, notes, and messages between extensions.

use std::fs;

use haft_test_support::model_server::Scenario;
use serde_json::json;

use super::{Language, connect, expect_notes, invoke, invoke_shown};
use crate::e2e::requests::said;
use crate::e2e::scene::{Scene, bash};

pub(super) fn first_extension_does_four_things(language: Language) {
    let call = bash("1", "mkdir made; rm -rf kept").tool("2", "greet", r#"{"name":"Ada"}"#);
    let scene = language.scene("quick_start", vec![call, Scenario::text("Done.")]);
    let mut client = connect(&scene, &[]);
    expect_notes(&mut client, &["Extension loaded!"]);
    assert_eq!(invoke_shown(&mut client, "hello", "Ada"), "Hello Ada!");
    assert_eq!(invoke_shown(&mut client, "hello", ""), "Hello world!");
    client.done("prompt", &json!({"message": "Clean up."}));
    let asked = client.event("ui_request");
    assert_eq!((&asked["kind"], &asked["title"]), (&json!("confirm"), &json!("Dangerous!")));
    client.done("ui_response", &json!({"request": asked["id"], "confirmed": false}));
    client.event("done");
    client.end().expect(0);
    let results = said(&scene.server.requests()[1], "tool");
    assert!(results[0].contains("Blocked by user"), "{results:?}");
    assert_eq!(results[1], "Hello, Ada!");
    assert!(!scene.world.project().join("made").exists());
}

pub(super) fn file_names_the_commands(language: Language) {
    let scene = language.scene("startup_work", Vec::new());
    let file = scene.world.project().join("startup_work/commands.json");
    fs::write(file, r#"{"deploy":"deployed","rollback":"rolled back"}"#).unwrap();
    let mut client = connect(&scene, &[]);
    assert_eq!(invoke_shown(&mut client, "deploy", ""), "deployed");
    assert_eq!(invoke_shown(&mut client, "rollback", ""), "rolled back");
    client.end().expect(0);
}

pub(super) fn command_waits_for_the_end_of_the_run(language: Language) {
    // sleep: the command ends when the test says so
    let wait = bash("1", "until test -e go; do sleep 0.01; done");
    let scene = language.scene("wait_idle", vec![wait, Scenario::text("Done.")]);
    let mut client = connect(&scene, &[]);
    client.done("prompt", &json!({"message": "Build."}));
    client.event("tool_start");
    invoke(&mut client, "rename", "");
    assert_eq!(client.done("get_state", &json!({}))["name"], json!(null));
    fs::write(scene.world.project().join("go"), "").unwrap();
    expect_notes(&mut client, &["renamed"]);
    assert_eq!(client.done("get_state", &json!({}))["name"], "renamed");
    let left = client.end();
    left.expect(0);
    let at = |kind: &str| left.lines.iter().position(|line| line["type"] == kind).unwrap();
    assert!(at("done") < at("ext_notify"), "{:?}", left.lines);
}

pub(super) fn command_shows_the_tokens(language: Language) {
    let scene = language.scene("context_usage", vec![Scenario::text("Rain.")]);
    let mut client = connect(&scene, &[]);
    client.prompt("Look.");
    let tokens = client.done("get_state", &json!({}))["context"]["tokens"].as_u64().unwrap();
    assert!(tokens > 0);
    assert_eq!(invoke_shown(&mut client, "usage", ""), format!("{tokens} tokens: enough room"));
    client.end().expect(0);
}

pub(super) fn command_compacts_with_instructions(language: Language) {
    let answers =
        vec![Scenario::text("Rain. ".repeat(400)), Scenario::text("Snow."), Scenario::text("It rains.")];
    let scene = language.scene("compact_command", answers);
    let mut client = connect(&scene, &[]);
    client.prompt("Look.");
    client.prompt("And now?");
    invoke(&mut client, "shrink", "");
    expect_notes(&mut client, &["Compaction completed"]);
    assert_eq!(client.event("compact_done")["summary"], "It rains.");
    client.end().expect(0);
    let request = scene.server.requests()[2].body.to_string();
    assert!(request.contains("Focus on recent changes"), "{request}");
}

pub(super) fn arguments_are_completed(language: Language) {
    let scene = language.scene("completion", Vec::new());
    let mut client = connect(&scene, &[]);
    for (prefix, expect) in [("", vec!["dev", "staging", "prod"]), ("st", vec!["staging"]), ("x", Vec::new())]
    {
        let told = client.done("complete_command", &json!({"name": "deploy", "prefix": prefix}));
        let items = told["items"].as_array().cloned().unwrap_or_default();
        let values: Vec<&str> = items.iter().map(|item| item["value"].as_str().unwrap()).collect();
        assert_eq!(values, expect, "{prefix}");
    }
    assert_eq!(invoke_shown(&mut client, "deploy", "staging"), "Deploying: staging");
    client.end().expect(0);
}

pub(super) fn commands_of_extensions_are_listed(language: Language) {
    let scene = language.scene("list_commands", Vec::new()).shipped("hello");
    let mut client = connect(&scene, &[]);
    let shown = invoke_shown(&mut client, "commands", "");
    assert_eq!(shown, "/commands of list_commands\n/hello of hello\n/summon of hello");
    client.end().expect(0);
}

pub(super) fn command_selects_a_model(language: Language) {
    let scene = language.scene("set_model", vec![Scenario::text("Hi.")]);
    let mut client = connect(&scene, &[]);
    let command = json!({"name": "use", "args": "anthropic/claude-sonnet-4-5"});
    let (_, error) = client.refused("run_command", &command);
    assert!(error.contains("no API key for anthropic"), "{error}");
    assert_eq!(invoke_shown(&mut client, "use", "other"), "now openai-chat/other");
    client.prompt("Hello.");
    client.end().expect(0);
    assert_eq!(scene.server.requests()[0].body["model"], "other");
}

/// An extension that tells the others something, and notes what they tell.
const OTHER: &str = r#"
emit("subscribe", events=["bus"])
emit("register_command", name="call", description="Tell the others.")
emit("ready")
for frame in frames():
    if frame["type"] == "event":
        emit("notify", level="info", message=f"{frame['from']}: {frame['channel']} {json.dumps(frame['data'])}")
    elif frame["type"] == "command_invoked":
        emit("host_call", call="emit", args={"channel": "build", "data": {"passed": True}})
        emit("command_response", id=frame["id"], action="noop")
"#;

pub(super) fn extensions_exchange_messages(language: Language) {
    let scene: Scene = language.scene("event_bus", Vec::new());
    let scene = scene.python_with("other", &json!({"capabilities": ["bus"]}), OTHER);
    let mut client = connect(&scene, &[]);
    invoke(&mut client, "announce", "rain");
    let heard = client.event("ext_notify");
    assert_eq!(
        (&heard["extension"], &heard["message"]),
        (&json!("other"), &json!("event_bus: my:event \"rain\""))
    );
    invoke(&mut client, "call", "");
    let heard = client.event("ext_notify");
    assert_eq!(heard["extension"], "event_bus");
    let message = heard["message"].as_str().unwrap().replace(": true", ":true");
    assert_eq!(message, r#"other: build {"passed":true}"#);
    client.end().expect(0);
}
