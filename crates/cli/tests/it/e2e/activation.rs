//! Extensions in consecutive sessions of `haft`: those that act by themselves, and those whose manifest declares
//! activation events.

use std::time::{Duration, Instant};

use haft_test_support::model_server::Scenario;
use serde_json::{Value, json};

use super::rpc_client::Client;
use super::running::eventually;
use super::scene::Scene;

/// Runs a timer, and is never asked anything.
const TIMER: &str = r#"
import threading, time

def tick():
    while True:
        mark(f"tick of {os.getpid()}")
        # sleep: the timer
        time.sleep(0.02)

emit("ready")
threading.Thread(target=tick, daemon=True).start()
for frame in frames():
    pass
"#;

#[test]
fn timer_extension_works_in_tenth_session() {
    let scene = Scene::new(Vec::new());
    scene.home_python("timer", TIMER);
    for session in 1..=10 {
        let before = scene.marks().len();
        let client = Client::of(&scene, &[]);
        assert!(eventually(|| scene.marks().len() > before + 2), "no tick in session {session}");
        client.end().expect(0);
    }
    let mut processes = scene.marks();
    processes.dedup();
    assert_eq!(processes.len(), 10, "one process each: {processes:?}");
}

/// Returns the time since its start as a command, like zot's example `clock`.
const CLOCK: &str = r#"
import time
STARTED_AT = time.monotonic()
mark("started")
emit("register_command", name="uptime", description="how long the clock has run")
emit("ready")
for frame in frames():
    if frame["type"] == "command_invoked":
        uptime = int((time.monotonic() - STARTED_AT) * 1000)
        emit("command_response", id=frame["id"], action="display", display=f"{uptime} ms")
"#;

#[test]
fn clock_shows_uptime_in_second_session() {
    let scene = Scene::new(Vec::new());
    scene.home_python("clock", CLOCK);
    for session in 1..=2 {
        let began = Instant::now();
        let mut client = Client::of(&scene, &[]);
        assert!(eventually(|| scene.marks().len() == session), "it is not started in session {session}");
        let started = Instant::now();
        // sleep: the time that the clock shows
        std::thread::sleep(Duration::from_millis(200));
        let least = started.elapsed().as_millis();
        client.done("run_command", &json!({"name": "uptime"}));
        let shown = client.event("ext_display");
        let shown = shown["text"].as_str().unwrap().trim_end_matches(" ms").parse::<u128>().unwrap();
        let most = began.elapsed().as_millis();
        assert!((least..=most).contains(&shown), "session {session}: {shown} not in {least}..={most}");
        client.end().expect(0);
    }
}

/// Returns the declarations for [`TOOLBOX`].
fn uses() -> Value {
    json!({
        "activation": ["tool:lookup", "command:look", "event:compaction_end"],
        "tools": [{"name": "lookup", "description": "looks things up", "schema": {"type": "object"}}],
        "commands": [{"name": "look", "description": "looks around"}],
    })
}

/// A tool and a command, without any other activity.
const TOOLBOX: &str = r#"
mark("started")
emit("register_tool", name="lookup", description="looks things up", schema={"type": "object"})
emit("register_command", name="look", description="looks around")
emit("subscribe", events=["compaction_end"])
emit("ready")
for frame in frames():
    if frame["type"] == "tool_call":
        result(frame, "found")
    if frame["type"] == "command_invoked":
        emit("command_response", id=frame["id"], action="display", display="seen")
"#;

#[test]
fn unused_extension_with_activation_does_not_start() {
    let scene = Scene::new(Vec::new());
    scene.server.answer_with(|_| Scenario::text("one"));
    scene.home_python_with("oracle", &uses(), TOOLBOX);
    for _ in 0..2 {
        scene.haft(&["-p", "go"]).expect(0);
        assert_eq!(scene.marks().len(), 0, "the extension is not started");
    }
    let requests = scene.server.requests();
    let offered = requests[0].body["tools"].to_string();
    assert!(offered.contains("lookup") && offered.contains("looks things up"), "{offered}");
    let mut answers =
        [Scenario::text("Looking.").tool("t1", "lookup", "{}"), Scenario::text("two")].into_iter();
    scene.server.answer_with(move |_| answers.next().unwrap());
    let ran = scene.haft(&["--json", "go"]);
    ran.expect(0);
    assert_eq!(scene.marks().len(), 1, "the model called it");
    assert_eq!(
        (ran.faults(), ran.of("ext_notify")),
        (Vec::new(), Vec::new()),
        "it registered what is declared"
    );
    assert!(ran.of("tool_result")[0].to_string().contains("found"));
    let after = scene.server.requests().last().unwrap().body["tools"].to_string();
    assert_eq!(after, offered, "the model receives the same tools");
}

#[test]
fn typed_command_activates_extension() {
    let scene = Scene::new(Vec::new());
    scene.home_python_with("oracle", &uses(), TOOLBOX);
    let mut client = Client::of(&scene, &[]);
    let listed = client.done("list_commands", &json!({}));
    let look = json!({"name": "look", "description": "looks around", "extension": "oracle"});
    assert!(listed["commands"].as_array().unwrap().contains(&look), "{listed}");
    let listed = client.done("list_extensions", &json!({}));
    assert_eq!((&listed["extensions"][0]["state"], scene.marks().len()), (&json!("idle"), 0), "{listed}");
    client.done("run_command", &json!({"name": "look"}));
    assert_eq!(client.event("ext_display")["text"], "seen");
    assert_eq!(scene.marks().len(), 1);
    client.end().expect(0);
}

#[test]
fn invalid_activation_is_reported_and_extension_starts() {
    let scene = Scene::new(Vec::new());
    scene.server.answer_with(|_| Scenario::text("one"));
    scene.home_python_with("oracle", &json!({"activation": ["tool:lookup"]}), TOOLBOX);
    let ran = scene.haft(&["--json", "--tools", "lookup", "go"]);
    ran.expect(0);
    assert_eq!(scene.marks().len(), 1);
    let faults = ran.of("extension_error");
    assert_eq!((faults.len(), &faults[0]["code"]), (1, &json!("manifest_invalid")), "{faults:?}");
    let message = faults[0]["message"].as_str().unwrap();
    assert!(
        message.ends_with(
            "`activation` names tool:lookup; describe that tool in `tools`; the extension starts immediately"
        ),
        "{message}"
    );
}
