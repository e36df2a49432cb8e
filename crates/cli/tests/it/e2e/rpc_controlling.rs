//! Extensions in Python that control the session, over the bare protocol.

use std::fs;

use haft_test_support::model_server::Scenario;
use serde_json::{Value, json};

use super::rpc_client::{Client, text_of};
use super::running::eventually;
use super::scene::Scene;

/// A command that names the session, limits the tools, and sends a prompt.
const CONTROLS: &str = r#"
emit("register_command", name="plan", description="Plan first.")
emit("ready")
steps = [
    ("set_name", {"name": "plan"}),
    ("set_tools", {"tools": ["read"]}),
    ("prompt", {"message": "Plan the work."}),
    ("wait_idle", {}),
    ("set_tools", {}),
    ("get_state", {}),
]
for frame in frames():
    if frame["type"] == "command_invoked":
        emit("host_call", call="set_working", args={"text": "Planning"})
        emit("host_call", id="0", call=steps[0][0], args=steps[0][1])
        emit("command_response", id=frame["id"], action="noop")
    elif frame["type"] == "host_result":
        mark(f"{steps[int(frame['id'])][0]}: {frame.get('code', 'done')}")
        step = int(frame["id"]) + 1
        if frame.get("is_error"):
            continue
        if step < len(steps):
            emit("host_call", id=str(step), call=steps[step][0], args=steps[step][1])
        else:
            emit("notify", level="info", message=f"planned {frame['value']['name']}")
"#;

fn scene() -> Scene {
    Scene::new(vec![Scenario::text("First this, then that.")])
}

#[test]
fn command_in_python_plans_with_fewer_tools() {
    let scene = scene().python("planner", CONTROLS);
    let mut client = Client::of(&scene, &[]);
    client.done("hello", &json!({}));
    client.done("run_command", &json!({"name": "plan"}));
    let working = client.event("set_working");
    assert_eq!((&working["extension"], &working["text"]), (&json!("planner"), &json!("Planning")));
    let said = client.event("assistant_message");
    assert_eq!(text_of(&said), "First this, then that.");
    assert_eq!(client.event("ext_notify")["message"], "planned plan");
    let left = client.end();
    left.expect(0);
    let request = &scene.server.requests()[0].body;
    let tools: Vec<&Value> =
        request["tools"].as_array().unwrap().iter().map(|tool| &tool["function"]["name"]).collect();
    assert_eq!(tools, ["read"]);
}

/// A gate that looks at its copy of the session, which the host sends before each question.
const MIRRORS: &str = r#"
emit("subscribe", intercept=["tool_call"], events=["agent_start", "settled"])
emit("register_command", name="look", description="Look at the session.")
emit("ready")
state, entries = {}, []
for frame in frames():
    if frame["type"] == "state":
        state.update(frame)
    elif frame["type"] == "entries":
        if frame.get("reset"):
            entries = []
        entries += frame["append"]
    elif frame["type"] == "event":
        emit("notify", level="info", message=f"{frame['event']} busy {state['busy']}")
    elif frame["type"] == "event_intercept":
        roles = [entry["message"]["role"] for entry in entries if entry["type"] == "message"]
        tools = [tool["name"] for tool in state["tools"] if tool["active"]]
        emit("notify", level="info", message=f"{roles} busy {state['busy']} tools {tools}")
        emit("event_intercept_response", id=frame["id"])
    elif frame["type"] == "command_invoked":
        kinds = sorted({entry["type"] for entry in entries})
        text = f"{state['name']} {state['thinking']} busy {state['busy']} {kinds}"
        emit("command_response", id=frame["id"], action="display", display=text)
"#;

#[test]
fn mirror_in_python_is_as_new_as_each_question() {
    let call = Scenario::new().tool("1", "read", r#"{"path":"notes.txt"}"#);
    let hello = json!({"capabilities": ["mirror", "events_2"],
        "mirror": ["entries", "busy", "tools", "name", "thinking"]});
    let scene = Scene::new(vec![call, Scenario::text("Rain.")]).python_with("mirror", &hello, MIRRORS);
    let mut client = Client::of(&scene, &[]);
    client.done("hello", &json!({}));
    client.done("set_tools", &json!({"tools": ["read"]}));
    client.done("prompt", &json!({"message": "Read the notes."}));
    for expect in
        ["agent_start busy True", "['user', 'assistant'] busy True tools ['read']", "settled busy False"]
    {
        assert_eq!(client.event("ext_notify")["message"], expect);
    }
    client.done("set_name", &json!({"name": "weather"}));
    client.done("set_thinking", &json!({"level": "high"}));
    client.done("run_command", &json!({"name": "look"}));
    let shown = client.event("ext_display");
    let text = shown["text"].as_str().unwrap();
    assert!(text.starts_with("weather high busy False ['message', "), "{text}");
    assert!(text.contains("'name'"), "{text}");
    client.end().expect(0);
}

/// Writes the events about runs and the setup as notes.
const WATCHES: &str = r#"
emit("subscribe", events=["agent_start", "settled", "model_changed", "thinking_changed"])
emit("ready")
for frame in frames():
    if frame["type"] == "event":
        about = [frame["event"]] + [frame[key] for key in ("model", "level") if key in frame]
        emit("notify", level="info", message=" ".join(about))
"#;

#[test]
fn extension_and_client_see_runs_and_changes_of_the_setup() {
    let scene = scene().python_with("watcher", &json!({"capabilities": ["events_2"]}), WATCHES);
    let mut client = Client::of(&scene, &[]);
    client.done("hello", &json!({}));
    let is_ready = eventually(|| {
        let told = client.done("list_extensions", &json!({}));
        told["extensions"][0]["state"] == "ready"
    });
    assert!(is_ready);
    client.done("set_thinking", &json!({"level": "high"}));
    client.done("set_model", &json!({"model": "other"}));
    client.prompt("Plan the work.");
    for expect in ["thinking_changed high", "model_changed openai-chat/other", "agent_start", "settled"] {
        assert_eq!(client.event("ext_notify")["message"], expect);
    }
    let left = client.end();
    left.expect(0);
    let kinds: Vec<&str> = left.lines.iter().filter_map(|line| line["type"].as_str()).collect();
    let about = ["agent_start", "settled", "model_changed", "thinking_changed", "done"];
    let seen: Vec<&str> = kinds.into_iter().filter(|kind| about.contains(kind)).collect();
    assert_eq!(seen, ["thinking_changed", "model_changed", "agent_start", "settled", "done"]);
}

/// A command that stores data, sends a message that starts a run, and finds the session by its tag.
const RECORDS: &str = r#"
emit("register_command", name="build", description="Build.")
emit("ready")
entry = "0f3a5c7e9b1d2f4061728394a5b6c7d8"
steps = [
    ("append_entry", {"entry": entry, "kind": "failures", "data": 1}),
    ("set_label", {"entry": entry, "label": "red"}),
    ("set_tags", {"tags": {"build": "red"}}),
    ("send_message", {"kind": "build", "content": "It failed.", "display": True, "turn": True}),
    ("wait_idle", {}),
    ("find_sessions", {"tags": {"build": None}}),
]
for frame in frames():
    if frame["type"] == "command_invoked":
        emit("host_call", id="0", call=steps[0][0], args=steps[0][1])
        emit("command_response", id=frame["id"], action="noop")
    elif frame["type"] == "host_result":
        step = int(frame["id"]) + 1
        if frame.get("is_error"):
            emit("notify", level="info", message=f"{steps[step - 1][0]}: {frame['code']}")
        elif step < len(steps):
            emit("host_call", id=str(step), call=steps[step][0], args=steps[step][1])
        else:
            emit("notify", level="info", message=f"found {len(frame['value']['sessions'])}")
"#;

#[test]
fn command_in_python_records_a_failure_and_has_the_model_work_on_it() {
    let scene = scene().python("builder", RECORDS);
    let mut client = Client::of(&scene, &["--record"]);
    client.done("hello", &json!({}));
    client.done("run_command", &json!({"name": "build"}));
    let told = client.event("custom_message");
    assert_eq!((&told["owner"], &told["kind"]), (&json!("builder"), &json!("build")));
    assert_eq!(text_of(&client.event("assistant_message")), "First this, then that.");
    assert_eq!(client.event("ext_notify")["message"], "found 1");
    client.end().expect(0);
    let request = scene.server.requests()[0].body.to_string();
    assert!(request.contains(r"[from extension builder]\nIt failed."), "{request}");
    let mut dirs = fs::read_dir(scene.world.home().join("sessions")).unwrap();
    let file = fs::read_dir(dirs.next().unwrap().unwrap().path()).unwrap().next().unwrap().unwrap().path();
    let saved = fs::read_to_string(file).unwrap();
    let kinds = |kind: &str| saved.matches(&format!(r#"{{"type":"{kind}","#)).count();
    assert_eq!([kinds("custom"), kinds("label"), kinds("tags"), kinds("custom_message")], [1, 1, 1, 1]);
}

/// Blocks new sessions, and summarizes the branches that the session leaves.
const KEEPS: &str = r#"
emit("subscribe", intercept=["before_switch", "before_fork", "before_tree"])
emit("ready")
for frame in frames():
    if frame.get("event") == "before_switch":
        answer(frame, block=True, reason="finish this one first")
    elif frame.get("event") == "before_fork":
        mark("fork: " + str("entry" in frame))
        answer(frame)
    elif frame.get("event") == "before_tree":
        answer(frame, summary=f"{len(frame['entries'])} messages were left")
"#;

#[test]
fn extension_in_python_decides_about_changes_of_the_session() {
    let scene = Scene::new(vec![Scenario::text("One."), Scenario::text("Two.")]).python("keeper", KEEPS);
    let mut client = Client::of(&scene, &[]);
    let ready =
        eventually(|| client.done("list_extensions", &json!({}))["extensions"][0]["state"] == "ready");
    assert!(ready, "{:?}", client.end());
    assert_eq!(client.prompt("one"), "One.");
    let (code, error) = client.refused("new_session", &json!({}));
    assert_eq!((code.as_str(), error.as_str()), ("blocked", "blocked by keeper: finish this one first"));
    assert!(client.done("fork", &json!({}))["session"].is_string());
    assert_eq!(scene.marks(), ["fork: True"]);
    let moved = client.done("move_to", &json!({"label": "first try"}));
    let tree = client.done("tree", &json!({}));
    let summary = tree["entries"].as_array().unwrap().iter().find(|entry| entry["id"] == moved["summary"]);
    let summary = summary.unwrap();
    assert_eq!((&summary["type"], &summary["label"]), (&json!("branch_summary"), &json!("first try")));
    assert_eq!(client.prompt("two"), "Two.");
    client.end().expect(0);
    let request = scene.server.requests()[1].body["messages"].to_string();
    assert!(request.contains("2 messages were left"), "{request}");
}
