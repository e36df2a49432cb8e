//! Events: an extension sees what a client sees.

use std::fs;

use haft_protocol::event::AgentEventKind;
use haft_test_support::model_server::{Scenario, WireFormat};
use serde_json::json;

use super::calls::CALLER;
use crate::e2e::gates::BROKEN;
use crate::e2e::rpc_client::Client;
use crate::e2e::running::eventually;
use crate::e2e::scene::{Scene, bash};

/// Marks each event.
const WATCHES: &str = r#"
emit("subscribe", events=EVENTS)
emit("ready")
for frame in frames():
    if frame["type"] == "event":
        mark(frame["event"])
"#;

/// Adds an extension that marks every event.
fn watched(scene: Scene) -> Scene {
    let names: Vec<&str> = AgentEventKind::names_for_extensions().collect();
    let body = format!("EVENTS = {}\n{WATCHES}", json!(names));
    scene.python_with("watcher", &json!({"capabilities": ["events_2"]}), &body)
}

/// Waits until the extension has marked each of these events.
#[track_caller]
fn expect_events(scene: &Scene, events: &[&str]) {
    let missing = || {
        let marks = scene.marks();
        events.iter().filter(|event| !marks.iter().any(|mark| mark == *event)).copied().collect::<Vec<_>>()
    };
    eventually(|| missing().is_empty());
    assert_eq!(missing(), [""; 0], "the extension saw {:?}", scene.marks());
}

#[test]
fn extension_sees_the_events_of_a_run() {
    let call =
        Scenario::new().think("Hm.", "sig").say("I look.").tool("1", "bash", r#"{"command":"echo a"}"#);
    let scene = watched(Scene::speaking(WireFormat::Anthropic, vec![call, Scenario::text("Done.")]));
    scene.haft(&["-p", "Look."]).expect(0);
    let events = [
        "session",
        "agent_start",
        "user_message",
        "turn_start",
        "model_request",
        "model_response",
        "assistant_start",
        "thinking_delta",
        "text_delta",
        "tool_use_start",
        "tool_use_args",
        "tool_use_end",
        "usage",
        "assistant_message",
        "tool_call",
        "tool_start",
        "tool_progress",
        "tool_end",
        "tool_result",
        "turn_end",
        "settled",
        "done",
    ];
    expect_events(&scene, &events);
}

#[test]
fn extension_sees_failures_of_the_model() {
    let busy = Scenario::status(503, "overloaded", "try again");
    let refused = || Scenario::status(401, "invalid_key", "no");
    let scene = watched(Scene::new(vec![busy, refused(), refused()]));
    scene.haft(&["-p", "--fallback", "openai-chat/other", "Look."]);
    expect_events(&scene, &["retry", "model_fallback", "error"]);
}

/// Returns a gate that answers each call with these fields.
fn gate(role: &str, answer: &str) -> String {
    let roles = json!([{"event": "tool_call", "role": role}]);
    format!(
        r#"
emit("subscribe", intercept={roles})
emit("ready")
for frame in frames():
    if frame.get("event") == "tool_call":
        answer(frame, {answer})
"#
    )
}

#[test]
fn extension_sees_what_other_extensions_do_with_calls() {
    let scene = watched(Scene::new(vec![bash("1", "env"), Scenario::text("Done.")]))
        .python("one", &gate("rewrite", r#"modified_args={"command": "echo one"}"#))
        .python("two", &gate("rewrite", r#"modified_args={"command": "echo two"}"#))
        .python("three", &gate("gate", r#"block=True, reason="no""#));
    scene.haft(&["-p", "Look."]).expect(0);
    expect_events(&scene, &["tool_rewritten", "tool_rewrite_conflict", "tool_blocked"]);
}

#[test]
fn extension_sees_that_a_gate_is_off() {
    let scene =
        watched(Scene::new(["1", "2", "3", "4"].map(|id| bash(id, "env")).into()).python("guard", BROKEN));
    let mut client = Client::of(&scene, &[]);
    client.done("hello", &json!({"ui": true}));
    client.done("prompt", &json!({"message": "Look."}));
    let asked = client.event("ui_request");
    client.done("ui_response", &json!({"request": asked["id"], "value": "continue_without"}));
    expect_events(&scene, &["extension_error", "gate_off"]);
    client.end();
}

#[test]
fn extension_sees_interventions_in_a_run() {
    // sleep: the command ends when the test says so
    let wait = r#"{"command":"until test -e go; do sleep 0.01; done"}"#;
    let two =
        |first: &str| Scenario::new().tool("1", "bash", first).tool("2", "bash", r#"{"command":"env"}"#);
    let answers = vec![two(wait), two(wait), Scenario::text("Half of it."), Scenario::text("All of it.")];
    let scene = watched(Scene::new(answers));
    let go = scene.world.project().join("go");
    let mut client = Client::of(&scene, &[]);
    client.done("hello", &json!({}));
    client.done("prompt", &json!({"message": "Build."}));
    client.event("tool_start");
    client.done("steer", &json!({"message": "Not in src/."}));
    fs::write(&go, "").unwrap();
    client.event("steering_injected");
    fs::remove_file(&go).unwrap();
    client.event("tool_start");
    client.done("interrupt", &json!({"hint": "What is left?"}));
    fs::write(&go, "").unwrap();
    client.event("done");
    client.end().expect(0);
    expect_events(&scene, &["queue_update", "steering_injected", "tool_skipped", "interrupted"]);
}

#[test]
fn extension_sees_changes_of_the_session() {
    let answers =
        vec![Scenario::text("Rain. ".repeat(400)), Scenario::text("Snow."), Scenario::text("It rains.")];
    let scene = watched(Scene::new(answers));
    let mut client = Client::of(&scene, &[]);
    client.done("hello", &json!({}));
    client.done("set_model", &json!({"model": "other"}));
    client.done("set_thinking", &json!({"level": "high"}));
    client.done("send_message", &json!({"kind": "build", "content": "It failed.", "display": true}));
    client.prompt("Look.");
    client.prompt("And now?");
    client.done("compact", &json!({}));
    client.event("compact_done");
    let events =
        ["model_changed", "thinking_changed", "custom_message", "compaction_start", "compaction_end"];
    expect_events(&scene, &events);
    client.end().expect(0);
}

#[test]
fn extension_sees_that_a_turn_is_discarded() {
    const HOOK: &str = r#"
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        result = {"action": "hard_abort"} if request["method"] == "hook.before_tool" else {"ok": True}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"#;
    let config = "[hooks.processes.gate]\nenabled = true\ncommand = ['python3', 'gate.py']\n\
                  intercept = ['before_tool']\ntimeout_ms = 60000\n";
    let scene = watched(Scene::new(vec![bash("1", "env")]));
    fs::write(scene.world.project().join("gate.py"), HOOK).unwrap();
    fs::create_dir_all(scene.world.home()).unwrap();
    fs::write(scene.world.home().join("config.toml"), config).unwrap();
    scene.world.trust();
    scene.haft(&["-p", "Look."]);
    expect_events(&scene, &["turn_discarded"]);
}

#[test]
fn extension_sees_that_the_session_is_repaired() {
    let takes_away = bash("1", "rm -r \"$HAFT_HOME/sessions\"/*");
    let scene = watched(Scene::new(vec![takes_away, Scenario::text("Gone.")]));
    scene.haft(&["--sandbox", "full", "--json", "Look."]).expect(0);
    expect_events(&scene, &["session_repaired"]);
}

/// A command that shows a text and a note, and takes the note away.
const SHOWS: &str = r#"
emit("register_command", name="show", description="Show.")
emit("ready")
for frame in frames():
    if frame["type"] == "command_invoked":
        emit("notify", level="info", message="soon")
        emit("clear_notes")
        emit("command_response", id=frame["id"], action="display", display="shown")
"#;

#[test]
fn extension_sees_what_other_extensions_show_and_call() {
    let scene = watched(Scene::new(Vec::new())).python("shows", SHOWS).python("caller", CALLER);
    let mut client = Client::of(&scene, &[]);
    client.done("hello", &json!({}));
    client.done("run_command", &json!({"name": "show"}));
    let write = json!({"id": "1", "call": "write", "args": {"path": "a.txt", "content": "one"}});
    client.done("run_command", &json!({"name": "call", "args": write.to_string()}));
    let events = ["ext_notify", "ext_clear_notes", "ext_display", "host_call_start", "host_call_end"];
    expect_events(&scene, &events);
    client.end().expect(0);
}
