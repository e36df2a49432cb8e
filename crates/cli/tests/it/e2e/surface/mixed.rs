//! Extensions of all kinds in one session, and the bytes that those which know only zot's frames get.

use std::fs;
use std::path::{Path, PathBuf};

use haft_test_support::model_server::Scenario;
use serde_json::{Value, json};

use super::calls::Caller;
use crate::e2e::requests::said;
use crate::e2e::running::eventually;
use crate::e2e::scene::{Scene, bash_args};

/// A gate that knows only zot's frames, and marks what it sees.
const ZOT_GATE: &str = r#"
import json, os, sys
def emit(obj):
    sys.stdout.write(json.dumps(obj) + "\n")
    sys.stdout.flush()
def mark(text):
    with open(MARKS, "a") as marks:
        marks.write(text + "\n")
emit({"type": "hello", "name": "zot-gate", "version": "1.0.0", "capabilities": ["events"]})
emit({"type": "subscribe", "events": ["session_start", "turn_start", "tool_call", "assistant_message", "turn_end"],
      "intercept": ["tool_call", "turn_start", "assistant_message"]})
emit({"type": "ready"})
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "event_intercept":
        emit({"type": "event_intercept_response", "id": frame["id"]})
        if frame["event"] == "tool_call":
            mark("zot-gate " + frame["tool_name"])
    elif frame["type"] == "shutdown":
        emit({"type": "shutdown_ack"})
        break
"#;

/// A hook of PicoClaw that marks the calls that it is asked about.
const HOOK: &str = r#"
import json, os, sys
for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        if request["method"] == "hook.before_tool":
            with open(os.environ["MARKS"], "a") as marks:
                marks.write("hook " + request["params"]["tool"] + "\n")
        result = {"action": "continue"} if request["method"] == "hook.before_tool" else {"ok": True}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"#;

const HOOK_CONFIG: &str = "[hooks.processes.hook]\nenabled = true\ncommand = ['python3', 'hook.py']\n\
                           intercept = ['before_tool']\ntimeout_ms = 60000\n";

/// An extension with the newest frames: it mirrors the session, and marks the calls in it when a run has settled.
const MIRRORS: &str = r#"
emit("subscribe", events=["settled"])
emit("ready")
entries = []
for frame in frames():
    if frame["type"] == "entries":
        entries = frame["append"] if frame.get("reset") else entries + frame["append"]
    elif frame["type"] == "event":
        messages = [entry["message"] for entry in entries if entry["type"] == "message"]
        mark("mirror " + " ".join(message["name"] for message in messages if message["role"] == "tool"))
"#;

/// An extension with the newest hooks: it hides a word in results.
const HIDES: &str = r#"
emit("subscribe", intercept=["tool_result"])
emit("ready")
for frame in frames():
    if frame["type"] == "event_intercept":
        answer(frame, content=json.loads(json.dumps(frame["content"]).replace("SECRET", "[hidden]")))
"#;

/// Returns the directory of an example that knows only zot's frames.
fn example_dir(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/extensions").join(name)
}

fn write_zot_gate(scene: &Scene) -> PathBuf {
    let manifest = json!({"name": "zot-gate", "exec": "python3", "args": ["main.py"]});
    let dir = scene.world.extension("gates/zot-gate", &manifest.to_string());
    let marks = json!(scene.world.project().join("marks"));
    fs::write(dir.join("main.py"), format!("MARKS = {marks}\n{ZOT_GATE}")).unwrap();
    dir
}

#[test]
fn ten_extensions_of_all_kinds_share_a_session() {
    let step = Scenario::text("I work.")
        .tool("1", "bash", &bash_args("echo SECRET"))
        .tool("2", "now", r#"{"timezone":"Europe/Berlin"}"#)
        .tool("3", "note", r#"{"text":"It rains."}"#)
        .tool("4", "todo", r#"{"action":"add","text":"milk"}"#);
    let scene = Scene::new(vec![step, Scenario::text("Done."), Scenario::text("Hi.")]);
    let gate = write_zot_gate(&scene);
    fs::write(scene.world.project().join("hook.py"), HOOK).unwrap();
    fs::create_dir_all(scene.world.home()).unwrap();
    fs::write(scene.world.home().join("config.toml"), HOOK_CONFIG).unwrap();
    scene.world.trust();
    let mirror = json!({"capabilities": ["mirror", "events_2"], "mirror": ["entries"]});
    let scene =
        ["hello-py", "clock", "shout"].into_iter().fold(scene, |scene, name| scene.with(example_dir(name)));
    let scene = ["guard", "notes", "todo"].into_iter().fold(scene, Scene::shipped);
    let scene = scene.with(gate).python_with("mirrors", &mirror, MIRRORS).python("hides", HIDES);
    let mut caller = Caller::start(scene);

    let all_run = eventually(|| {
        let told = caller.client.done("list_extensions", &json!({}));
        let states = told["extensions"].as_array().unwrap().iter();
        states.filter(|extension| extension["state"] == "ready").count() == 11
    });
    assert!(all_run, "{}", caller.client.done("list_extensions", &json!({})));
    caller.client.prompt("Work.");
    let results = said(&caller.scene.server.requests()[1], "tool");
    let parts = ["[hidden]", "Europe/Berlin", "", "milk"];
    assert!(
        results.len() == 4 && results.iter().zip(parts).all(|(text, part)| text.contains(part)),
        "{results:?}"
    );
    assert_eq!(
        fs::read_to_string(caller.scene.world.project().join("NOTES.md")).unwrap().matches("rains").count(),
        1
    );
    let marks = caller.scene.marks();
    for who in ["zot-gate", "hook"] {
        let asked: Vec<&str> =
            marks.iter().filter_map(|mark| mark.strip_prefix(&format!("{who} "))).collect();
        for tool in ["bash", "now", "note", "todo"] {
            assert!(asked.contains(&tool), "{who} was asked about {asked:?}");
        }
    }
    let has_mirrored = eventually(|| caller.scene.marks().contains(&"mirror bash now note todo".to_owned()));
    assert!(has_mirrored, "{:?}", caller.scene.marks());

    for (command, args, shown) in [("shout", "rain", "RAIN"), ("clock", "Europe/Berlin", "Europe/Berlin")] {
        caller.client.done("run_command", &json!({"name": command, "args": args}));
        let text = caller.client.event("ext_display")["text"].take();
        assert!(text.as_str().unwrap().contains(shown), "{text}");
    }
    let tools = caller.call("get_tools", &json!({}));
    let named =
        |name: &str| tools["tools"].as_array().unwrap().iter().any(|tool: &Value| tool["name"] == name);
    assert!(named("now") && named("note") && named("todo"), "{tools}");
    caller.client.end().expect(0);
}

/// Returns a program that keeps what the host sends to an extension in a file beside it.
fn copying(scene: &Scene, name: &str, program: &str, dir: &Path) -> PathBuf {
    let command = format!("tee frames.txt | {program}");
    let manifest = json!({"name": name, "exec": "bash", "args": ["-c", command]});
    let copy = scene.world.extension(name, &manifest.to_string());
    for file in fs::read_dir(dir).unwrap() {
        let path = file.unwrap().path();
        if path.is_file() && path.file_name().unwrap() != "extension.json" {
            fs::copy(&path, copy.join(path.file_name().unwrap())).unwrap();
        }
    }
    copy
}

/// Returns the lines after `hello_ack`, questions first and then events, whose order among each other is free. Replaces
/// what differs between two runs: ids, and the id of the session.
fn stable_lines(transcript: &str) -> String {
    let (greeting, rest) = transcript.split_once('\n').unwrap();
    assert!(greeting.starts_with(r#"{"type":"hello_ack","protocol_version":1,"#), "{greeting}");
    let (events, questions): (Vec<&str>, Vec<&str>) =
        rest.lines().partition(|line| line.starts_with(r#"{"type":"event","#));
    let mut text = [questions, events].concat().join("\n");
    for line in rest.lines() {
        let frame: Value = serde_json::from_str(line).unwrap();
        let ids = ["id", "session_id"].map(|field| frame[field].as_str());
        for id in ids.into_iter().flatten() {
            text = text.replace(id, "<id>");
        }
    }
    text
}

#[test]
fn extensions_that_know_only_frames_of_zot_get_the_same_bytes_as_ever() {
    let step = Scenario::text("I look.").tool("1", "bash", &bash_args("echo a")).tool(
        "2",
        "now",
        r#"{"timezone":"UTC"}"#,
    );
    let scene = Scene::new(vec![step, Scenario::text("Done."), Scenario::text("Hi.")]);
    let gate = write_zot_gate(&scene);
    let programs = [
        ("zot-gate", "python3 main.py", gate),
        ("hello-py", "python3 hello.py", example_dir("hello-py")),
        ("clock", "node clock.js", example_dir("clock")),
        ("shout", "bash shout.sh", example_dir("shout")),
    ];
    let copies = programs.map(|(name, program, dir)| copying(&scene, name, program, &dir));
    let scene = copies.iter().cloned().fold(scene, Scene::with);
    let mut caller = Caller::start(scene);
    let all_run = eventually(|| {
        let told = caller.client.done("list_extensions", &json!({}));
        told["extensions"].as_array().unwrap().iter().all(|extension| extension["state"] == "ready")
    });
    assert!(all_run, "{}", caller.client.done("list_extensions", &json!({})));
    caller.client.prompt("Look.");
    for (name, args) in [("shout", "rain"), ("clock", "UTC"), ("hellopy", "")] {
        caller.client.done("run_command", &json!({"name": name, "args": args}));
    }
    caller.client.event("done");
    caller.client.end().expect(0);
    for dir in copies {
        let transcript = fs::read_to_string(dir.join("frames.txt")).unwrap();
        let name = dir.file_name().unwrap().to_string_lossy();
        insta::assert_snapshot!(&*name, stable_lines(&transcript));
    }
}
