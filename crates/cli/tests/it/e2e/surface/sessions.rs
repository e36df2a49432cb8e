//! Calls of an extension about several sessions, other extensions, and the end of the program.

use haft_test_support::model_server::Scenario;
use serde_json::json;

use super::calls::Caller;
use crate::e2e::scene::Scene;

/// A command that says hello.
const GREETER: &str = r#"
emit("register_command", name="greet", description="Greet.")
emit("ready")
for frame in frames():
    if frame["type"] == "command_invoked":
        emit("command_response", id=frame["id"], action="display", display="hello " + frame["args"])
"#;

#[test]
fn calls_open_and_close_sessions() {
    let mut caller = Caller::start(Scene::new(vec![Scenario::text("Rain."), Scenario::text("Snow.")]));
    caller.client.prompt("Look.");
    let first = caller.client.done("get_state", &json!({}))["session"].clone();
    let tree = caller.call("tree", &json!({}));
    let entry = tree["entries"][0]["id"].clone();

    let fork = caller.call("fork", &json!({}));
    assert_ne!(fork["session"], first);
    let beside = caller.call("new_session", &json!({"ephemeral": true}));
    let id = caller.begin_call("close_session", &json!({}), &json!({"session": beside["session"]}));
    caller.finish_call(&id);
    let id = caller.begin_call("switch_session", &json!({}), &json!({"session": first}));
    assert_eq!(caller.finish_call(&id)["session"], first);

    caller.call("move_to", &json!({"entry": entry}));
    assert_eq!(caller.call("tree", &json!({}))["leaf"], entry);
    caller.client.end().expect(0);
}

#[test]
fn calls_compact_the_conversation() {
    let answers =
        vec![Scenario::text("Rain. ".repeat(400)), Scenario::text("Snow."), Scenario::text("It rains.")];
    let mut caller = Caller::start(Scene::new(answers));
    caller.client.prompt("Look.");
    caller.client.prompt("And now?");
    caller.call("compact", &json!({"instructions": "Be brief."}));
    caller.client.event("compact_done");
    caller.client.end().expect(0);
}

#[test]
fn calls_use_and_restart_other_extensions() {
    let mut caller = Caller::start(Scene::new(Vec::new()).python("greeter", GREETER));
    caller.call("run_command", &json!({"name": "greet", "args": "haft"}));
    assert_eq!(caller.client.event("ext_display")["text"], "hello haft");
    caller.call("reload_ext", &json!({"name": "greeter"}));
    caller.client.end().expect(0);
}

#[test]
fn call_ends_the_program() {
    let mut caller = Caller::start(Scene::new(Vec::new()));
    let id = caller.begin_call("shutdown", &json!({}), &json!({}));
    caller.finish_call(&id);
    caller.client.wait().expect(0);
}
