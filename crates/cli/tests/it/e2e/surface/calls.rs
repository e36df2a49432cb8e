//! Calls of an extension: each returns what a client gets from the command of the same name.

use std::fs;

use haft_test_support::model_server::{AnswerFault, Scenario};
use serde_json::{Value, json};

use crate::e2e::rpc_client::Client;
use crate::e2e::running::eventually;
use crate::e2e::scene::{Scene, bash};

/// A command that makes the calls of a test, and marks their results.
pub(super) const CALLER: &str = r#"
emit("register_command", name="call", description="Make a call.")
emit("ready")
for frame in frames():
    if frame["type"] == "command_invoked":
        emit("command_response", id=frame["id"], action="noop")
        emit("host_call", **json.loads(frame["args"]))
    elif frame["type"] == "host_result":
        mark(json.dumps(frame))
"#;

/// A running `haft rpc` with an extension that makes calls.
pub(super) struct Caller {
    pub(super) scene: Scene,
    pub(super) client: Client,
    calls: usize,
}

impl Caller {
    /// Starts the program with an extension that makes calls.
    pub(super) fn start(scene: Scene) -> Self {
        let scene = scene.python_with("caller", &json!({"capabilities": ["bus"]}), CALLER);
        let mut client = Client::of(&scene, &[]);
        client.done("hello", &json!({"ui": true}));
        Self { scene, client, calls: 0 }
    }

    /// Begins a call, and returns its id.
    pub(super) fn begin_call(&mut self, call: &str, args: &Value, more: &Value) -> String {
        self.calls += 1;
        let id = format!("{call}-{}", self.calls);
        let mut frame = json!({"id": id, "call": call, "args": args});
        frame.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.client.done("run_command", &json!({"name": "call", "args": frame.to_string()}));
        id
    }

    /// Waits for the result of a call, which must not fail, and returns its value.
    #[track_caller]
    pub(super) fn finish_call(&self, id: &str) -> Value {
        let mut result = Value::Null;
        let arrived = eventually(|| {
            let marks = self.scene.marks();
            let mut results = marks.iter().filter_map(|mark| serde_json::from_str(mark).ok());
            result = results.rfind(|result: &Value| result["id"] == id).unwrap_or_default();
            !result.is_null()
        });
        assert!(arrived, "{id} has no result");
        assert!(result["is_error"].is_null(), "{result}");
        result["value"].take()
    }

    /// Makes a call, and returns its value.
    #[track_caller]
    pub(super) fn call(&mut self, call: &str, args: &Value) -> Value {
        let id = self.begin_call(call, args, &json!({}));
        self.finish_call(&id)
    }
}

#[test]
fn calls_that_read_the_session_return_what_a_client_gets() {
    let mut caller = Caller::start(Scene::new(vec![Scenario::text("Rain.")]));
    caller.client.prompt("Look.");
    for call in [
        "get_messages",
        "tree",
        "get_models",
        "get_tools",
        "list_sessions",
        "list_commands",
        "list_extensions",
    ] {
        let value = caller.call(call, &json!({}));
        assert_eq!(value, caller.client.done(call, &json!({})), "{call}");
    }
    caller.client.end().expect(0);
}

#[test]
fn calls_list_and_stop_background_commands() {
    let args = json!({"command": "echo $$ >pid; exec sleep 600", "background": true}).to_string();
    let answers = vec![Scenario::new().tool("t1", "bash", &args), Scenario::text("It runs.")];
    let mut caller = Caller::start(Scene::new(answers));
    caller.client.prompt("Start it.");
    let listed = caller.call("list_jobs", &json!({}));
    let jobs = caller.client.done("list_jobs", &json!({}));
    assert_eq!(listed["jobs"][0]["command"], jobs["jobs"][0]["command"]);
    assert_eq!((&jobs["jobs"][0]["job"], &jobs["jobs"][0]["end"]), (&json!(1), &Value::Null), "{jobs}");
    let pid = caller.scene.world.project().join("pid");
    assert!(eventually(|| fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n'))));
    caller.call("stop_job", &json!({"job": 1}));
    assert!(eventually(|| caller.client.done("list_jobs", &json!({}))["jobs"][0]["end"] == "stopped"));
    let process = std::path::Path::new("/proc").join(fs::read_to_string(&pid).unwrap().trim());
    assert!(!cfg!(target_os = "linux") || eventually(|| !process.exists()), "it is left behind");
    let (code, _) = caller.client.refused("stop_job", &json!({"job": 2}));
    assert_eq!(code, "not_open");
    caller.client.end().expect(0);
}

#[test]
fn background_command_ends_with_the_printed_answer() {
    let args = json!({"command": "echo $$ >pid; exec sleep 600", "background": true}).to_string();
    // sleep: looks for the file again
    let wait = json!({"command": "while [ ! -s pid ]; do sleep 0.01; done"}).to_string();
    let steps = [("t1", &args), ("t2", &wait)].map(|(id, args)| Scenario::new().tool(id, "bash", args));
    let scene = Scene::new(steps.into_iter().chain([Scenario::text("It runs.")]).collect());
    assert_eq!(scene.haft(&["-p", "Start it."]).expect(0).stdout, "It runs.\n");
    let pid = fs::read_to_string(scene.world.project().join("pid")).unwrap();
    let process = std::path::Path::new("/proc").join(pid.trim());
    assert!(!cfg!(target_os = "linux") || eventually(|| !process.exists()), "it is left behind");
}

#[test]
fn calls_ask_the_person() {
    let mut caller = Caller::start(Scene::new(Vec::new()));
    for (call, args, answer, expect) in [
        ("confirm", json!({"title": "Sure?"}), json!({"confirmed": true}), json!({"confirmed": true})),
        (
            "select",
            json!({"title": "Which?", "options": ["a", "b"]}),
            json!({"value": "b"}),
            json!({"value": "b"}),
        ),
        ("input", json!({"title": "Name?"}), json!({"value": "haft"}), json!({"value": "haft"})),
        (
            "editor",
            json!({"title": "Text?", "prefill": "a"}),
            json!({"value": "a\nb"}),
            json!({"value": "a\nb"}),
        ),
    ] {
        let id = caller.begin_call(call, &args, &json!({}));
        let asked = caller.client.event("ui_request");
        assert_eq!((&asked["kind"], &asked["extension"]), (&json!(call), &json!("caller")));
        let mut answer = answer;
        answer["request"] = asked["id"].clone();
        caller.client.done("ui_response", &answer);
        let value = caller.finish_call(&id);
        let key = if expect["confirmed"].is_null() { "value" } else { "confirmed" };
        assert_eq!((&value[key], &value["why"]), (&expect[key], &json!("answered")), "{value}");
    }
    caller.client.end().expect(0);
}

#[test]
fn calls_change_the_screen() {
    let mut caller = Caller::start(Scene::new(Vec::new()));
    for (call, args) in [
        ("set_title", json!({"text": "3 open"})),
        ("set_working", json!({"text": "Shopping"})),
        ("set_editor", json!({"text": "/todo done milk"})),
        ("insert", json!({"text": "/todo "})),
    ] {
        caller.call(call, &args);
        let shown = caller.client.event(call);
        assert_eq!((&shown["extension"], &shown["text"]), (&json!("caller"), &args["text"]));
    }
    caller.call("open_panel", &json!({"id": "todo", "lines": ["milk"]}));
    let shown = caller.client.event("panel_open");
    assert_eq!((&shown["extension"], &shown["lines"]), (&json!("caller"), &json!(["milk"])));
    caller.client.end().expect(0);
}

#[test]
fn shortcut_runs_code_until_it_is_removed() {
    const PLAN: &str = r#"
emit("register", kind="shortcut", name="ctrl+g", description="Show the plan")
emit("ready")
for frame in frames():
    if frame["type"] == "ext_call":
        emit("notify", level="info", message="3 steps in " + frame["session"])
        emit("unregister", kind="shortcut", name=frame["args"]["name"])
        emit("ext_result", id=frame["id"])
"#;
    let scene = Scene::new(Vec::new()).python_with("plan", &json!({"capabilities": ["calls"]}), PLAN);
    let mut client = Client::of(&scene, &[]);
    client.done("hello", &json!({"ui": true}));
    let listed = client.done("list_extensions", &json!({}));
    assert_eq!(listed["extensions"][0]["shortcuts"][0]["key"], "ctrl+g", "{listed}");
    client.done("run_shortcut", &json!({"extension": "plan", "key": "ctrl+g"}));
    let note = client.event("ext_notify");
    assert_eq!(note["message"], format!("3 steps in {}", note["session"].as_str().unwrap()));
    assert_eq!(client.event("registrations_changed")["extension"], "plan");
    let listed = client.done("list_extensions", &json!({}));
    assert_eq!(
        (&listed["extensions"][0]["name"], &listed["extensions"][0]["shortcuts"]),
        (&json!("plan"), &Value::Null),
        "{listed}"
    );
    client.end().expect(0);
}

#[test]
fn status_has_colors_of_the_theme() {
    const COUNT: &str = r#"
emit("ready")
emit("set_status", key="open", text="3", styled=[
    {"text": "\x1b[31m3", "fg": "warning", "bold": True}, {"text": " open\n", "fg": "mauve"}])
for frame in frames():
    pass
"#;
    let scene = Scene::new(Vec::new()).python("todo", COUNT);
    let mut client = Client::of(&scene, &[]);
    client.done("hello", &json!({"ui": true}));
    let shown = client.event("ext_status");
    let styled = json!([{"text": "3", "fg": "warning", "bold": true}, {"text": " open"}]);
    assert_eq!((&shown["extension"], &shown["text"]), (&json!("todo"), &json!("3 open")));
    assert_eq!(shown["styled"], styled);
    let listed = client.done("list_extensions", &json!({}));
    assert_eq!(listed["extensions"][0]["status"][0]["styled"], styled);
    client.end().expect(0);
}

#[test]
fn calls_lock_a_file() {
    let mut caller = Caller::start(Scene::new(Vec::new()));
    let path = caller.scene.world.project().join("a.txt");
    fs::write(&path, "one\n").unwrap();
    let lease = caller.call("lock_file", &json!({"path": "a.txt"}));
    assert!(lease["lease"].is_string(), "{lease}");
    caller.call("unlock_file", &json!({"lease": lease["lease"]}));
    caller.client.end().expect(0);
}

#[test]
fn call_reaches_the_other_extensions() {
    const LISTENER: &str = r#"
emit("subscribe", events=["bus"])
emit("ready")
for frame in frames():
    if frame["type"] == "event":
        emit("notify", level="info", message=f"{frame['from']}: {frame['channel']} {frame['data']}")
"#;
    let scene = Scene::new(Vec::new()).python_with("listener", &json!({"capabilities": ["bus"]}), LISTENER);
    let mut caller = Caller::start(scene);
    caller.call("emit", &json!({"channel": "build", "data": "red"}));
    assert_eq!(caller.client.event("ext_notify")["message"], "caller: build red");
    caller.client.end().expect(0);
}

#[test]
fn calls_control_a_run() {
    let hang = Scenario::new().say("It").fault(AnswerFault::Hang);
    // sleep: the command ends when the test says so
    let sleep = bash("1", "until test -e go; do sleep 0.01; done");
    let mut caller = Caller::start(Scene::new(vec![hang, sleep, Scenario::text("Half of it.")]));
    caller.client.done("prompt", &json!({"message": "Build."}));
    caller.client.event("text_delta");
    caller.call("steer", &json!({"message": "Not in src/."}));
    caller.call("follow_up", &json!({"message": "Then test."}));
    let taken = caller.call("take_queued", &json!({}));
    assert_eq!(taken.to_string().matches("Then test.").count(), 1, "{taken}");
    caller.call("abort", &json!({}));
    caller.client.event("done");

    caller.client.done("prompt", &json!({"message": "Again."}));
    caller.client.event("tool_start");
    caller.call("interrupt", &json!({"hint": "What is left?"}));
    // The run ends after the running tool.
    fs::write(caller.scene.world.project().join("go"), "").unwrap();
    caller.client.event("done");
    caller.call("wait_idle", &json!({}));
    caller.call("clear", &json!({}));
    let kept = caller.client.done("get_messages", &json!({}));
    assert_eq!(kept["messages"], json!([]));
    caller.client.end().expect(0);
}

#[test]
fn calls_change_the_setup() {
    let mut caller = Caller::start(Scene::new(vec![Scenario::text("Rain.")]));
    caller.call("set_model", &json!({"model": "other"}));
    caller.call("set_thinking", &json!({"level": "high"}));
    let state = caller.call("get_state", &json!({}));
    assert_eq!((&state["model"], &state["thinking"]), (&json!("other"), &json!("high")));
    caller.call("set_tools", &json!({"tools": ["read"]}));
    let tools = caller.call("get_tools", &json!({}));
    let active = tools["tools"].as_array().unwrap().iter().filter(|tool| tool["active"] == true);
    assert_eq!(active.map(|tool| &tool["name"]).collect::<Vec<_>>(), ["read"]);
    caller.client.end().expect(0);
}
