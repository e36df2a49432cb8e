//! The mirror: an extension knows the session without a call.

use haft_protocol::ext::MirrorPart;
use haft_test_support::model_server::Scenario;
use serde_json::{Value, json};

use crate::e2e::rpc_client::Client;
use crate::e2e::scene::Scene;

/// A command that shows the mirror.
const LOOKS: &str = r#"
emit("register_command", name="look", description="Look at the session.")
emit("ready")
state, entries = {}, []
for frame in frames():
    if frame["type"] == "state":
        state.update(frame)
    elif frame["type"] == "entries":
        entries = frame["append"] if frame.get("reset") else entries + frame["append"]
    elif frame["type"] == "command_invoked":
        mark(json.dumps(dict(state, entries=entries)))
        emit("command_response", id=frame["id"], action="noop")
"#;

#[test]
fn mirror_equals_the_state_that_a_client_gets() {
    let parts: Vec<&str> = MirrorPart::ALL.iter().map(|part| part.name()).collect();
    let hello = json!({"capabilities": ["mirror"], "mirror": parts});
    let scene = Scene::new(vec![Scenario::text("Rain.")]).python_with("looks", &hello, LOOKS);
    let mut client = Client::of(&scene, &["--record"]);
    client.done("hello", &json!({}));
    client.prompt("Look.");
    client.done("set_thinking", &json!({"level": "high"}));
    client.done("set_tags", &json!({"tags": {"build": "red"}}));
    client.done("set_name", &json!({"name": "weather"}));
    client.done("run_command", &json!({"name": "look"}));
    let mirror: Value = serde_json::from_str(&scene.marks()[0]).unwrap();
    let state = client.done("get_state", &json!({}));
    for key in ["session", "provider", "model", "thinking", "busy", "queue", "context", "name"] {
        assert_eq!(mirror[key], state[key], "{key}");
    }
    assert_eq!(mirror["tags"], json!({"build": "red"}));
    assert_eq!(mirror["tools"], client.done("get_tools", &json!({}))["tools"]);
    let ids = |entries: &Value| {
        entries.as_array().unwrap().iter().map(|entry| entry["id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&mirror["entries"]), ids(&client.done("tree", &json!({}))["entries"]));
    client.end().expect(0);
}
