//! `haft rpc` with real extensions: tools, commands, notes, panels.

use haft_test_support::model_server::Scenario;
use serde_json::json;

use super::rpc_client::{Client, text_of};
use super::running::eventually;
use super::scene::Scene;

/// An extension with a tool, commands, and a panel that shows keys.
const TODO: &str = r#"
tool("todo_add")
emit("register_command", name="todo", description="shows the list")
emit("register_command", name="ask", description="has the model say something")
emit("ready")
lines = ["nothing yet"]
for frame in frames():
    if frame["type"] == "tool_call":
        emit("notify", level="success", message="saved")
        result(frame, "added " + frame["args"].get("text", ""))
    elif frame["type"] == "command_invoked" and frame["name"] == "ask":
        emit("command_response", id=frame["id"], action="prompt", prompt="What is left?")
    elif frame["type"] == "command_invoked":
        panel = {"id": "list", "title": "Todos", "lines": lines, "footer": "esc close"}
        emit("command_response", id=frame["id"], action="open_panel", open_panel=panel)
    elif frame["type"] == "panel_key" and frame["key"] == "esc":
        emit("panel_close", panel_id=frame["panel_id"])
    elif frame["type"] == "panel_key":
        emit("panel_render", panel_id=frame["panel_id"], title="Todos", lines=["key " + frame["key"]])
    elif frame["type"] == "panel_close":
        mark("closed " + frame["panel_id"])
"#;

/// Starts the server and waits for the extension, even on a busy machine.
#[track_caller]
fn with_todo(scene: &Scene) -> Client {
    let mut client = Client::of(scene, &[]);
    let runs = eventually(|| {
        let told = client.done("list_extensions", &json!({}));
        told["extensions"][0]["state"] == "ready"
    });
    assert!(runs, "{:?}", client.end());
    client
}

#[test]
fn calls_tool_and_reports_notes() {
    let call = Scenario::new().tool("t1", "todo_add", r#"{"text":"milk"}"#);
    let scene = Scene::new(vec![call, Scenario::text("Done.")]).python("todo", TODO);
    let mut client = with_todo(&scene);
    assert_eq!(client.prompt("add milk"), "Done.");
    let note = client.event("ext_notify");
    assert_eq!((&note["extension"], &note["message"]), (&json!("todo"), &json!("saved")));
    let result = client.event("tool_result");
    assert_eq!((text_of(&result).as_str(), &result["extension"]), ("added milk", &json!("todo")));
    let extensions = client.done("list_extensions", &json!({}));
    assert_eq!(extensions["extensions"][0]["name"], "todo");
    let tools = client.done("get_tools", &json!({}));
    assert!(tools["tools"].as_array().unwrap().iter().any(|tool| tool["extension"] == "todo"), "{tools}");
    client.end().expect(0);
}

#[test]
fn command_starts_prompt() {
    let scene = Scene::new(vec![Scenario::text("The tests."), Scenario::text("Still the tests.")]);
    let scene = scene.python("todo", TODO);
    let mut client = with_todo(&scene);
    let listed = client.done("list_commands", &json!({}));
    let todo = json!({"name": "todo", "description": "shows the list", "extension": "todo"});
    assert!(listed["commands"].as_array().unwrap().contains(&todo), "{listed}");
    assert_eq!(client.prompt("/ask"), "The tests.");
    let ran = client.done("run_command", &json!({"name": "ask"}));
    assert_eq!(ran, json!({"action": "prompt", "extension": "todo"}));
    client.event("done");
    assert_eq!(client.refused("run_command", &json!({"name": "fly"})).0, "command_not_found");
    let left = client.end();
    left.expect(0);
    assert_eq!(
        left.of("assistant_message").into_iter().map(text_of).collect::<Vec<_>>(),
        ["The tests.", "Still the tests."]
    );
    assert!(left.of("user_message").into_iter().all(|said| text_of(said).contains("What is left?")));
}

#[test]
fn panel_receives_keys_and_closes_from_both_sides() {
    let scene = Scene::scripted(&json!([])).python("todo", TODO);
    let mut client = with_todo(&scene);
    let ran = client.done("run_command", &json!({"name": "todo"}));
    assert_eq!(ran, json!({"action": "open_panel", "extension": "todo"}));
    let panel = client.event("panel_open");
    assert_eq!((&panel["extension"], &panel["lines"]), (&json!("todo"), &json!(["nothing yet"])));
    let key = |key: &str| json!({"extension": "todo", "panel_id": "list", "key": key});
    client.done("panel_key", &key("down"));
    assert_eq!(client.event("panel_render")["lines"], json!(["key down"]));
    client.done("panel_key", &key("esc"));
    assert_eq!(client.event("panel_close")["panel_id"], "list");
    client.done("run_command", &json!({"name": "todo"}));
    client.event("panel_open");
    client.done("panel_close", &json!({"extension": "todo", "panel_id": "list"}));
    client.end().expect(0);
    assert_eq!(scene.marks(), ["closed list"]);
}

/// Each session has its own processes.
#[test]
fn extension_runs_once_per_session() {
    let body = "emit(\"ready\")\nmark(\"begun\")\nfor frame in frames():\n    pass\nmark(\"left\")\n";
    let scene = Scene::scripted(&json!([])).python("counted", body);
    let mut client = Client::of(&scene, &[]);
    let begun = |times: usize| eventually(|| scene.marks().len() == times);
    assert!(begun(1), "{:?}", scene.marks());
    let second = client.done("new_session", &json!({}))["session"].clone();
    assert!(begun(2), "{:?}", scene.marks());
    client.done("close_session", &json!({"session": second}));
    client.end().expect(0);
    let marks = scene.marks();
    let count = |what: &str| marks.iter().filter(|mark| *mark == what).count();
    assert_eq!((count("begun"), count("left")), (2, 2), "{marks:?}");
}

#[test]
fn missing_required_extension_ends_server() {
    let scene = Scene::scripted(&json!([]));
    scene.named_python("guard", &json!({"required": true}), "sys.exit(3)\n");
    let left = Client::of(&scene, &[]).end();
    left.expect(3);
    assert!(
        left.stderr.contains("required extension guard is not running; run `haft doctor`"),
        "{}",
        left.stderr
    );
}

#[test]
fn reports_untrusted_project() {
    let scene = Scene::scripted(&json!([{"say": [{"text": "Hi."}]}]));
    scene.project_python(&scene.world.project(), "theirs", "mark(\"ran\")\n");
    let mut client = Client::of(&scene, &[]);
    let told = client.event("trust_required");
    assert_eq!(told["skipped"], json!(["extension theirs"]));
    assert_eq!(client.prompt("hi"), "Hi.");
    client.end().expect(0);
    assert_eq!(scene.marks(), Vec::<String>::new());
}

#[test]
fn replaced_tool_stays_replaced_in_every_run() {
    let more = json!({"permissions": {"tools": {"replace": ["bash"]}}});
    let bash = |id| Scenario::new().tool(id, "bash", r#"{"command":"true"}"#);
    let answers = vec![bash("1"), Scenario::text("Once."), bash("2"), Scenario::text("Twice.")];
    let scene = Scene::new(answers).custom_python(
        "shell",
        &more,
        &json!({"capabilities": ["tools_2"]}),
        r#"
emit("register_tool", name="bash", description="Runs nothing.", schema={"type": "object"}, replaces=True)
emit("ready")
for frame in frames():
    if frame["type"] == "tool_call":
        result(frame, "not today")
"#,
    );
    let mut client = Client::of(&scene, &[]);
    assert_eq!(client.prompt("Go."), "Once.");
    assert_eq!(client.prompt("Again."), "Twice.");
    client.end().expect(0);
    let last = scene.server.requests()[3].body.to_string();
    assert_eq!(last.matches("not today").count(), 2, "{last}");
}
