//! Every event reaches an observing extension, in order, up to the last one.

use haft_test_support::model_server::Scenario;

use serde_json::Value;

use super::running::Ran;
use super::scene::{Scene, bash};

// `crates/host/tests/it/processes.rs` tests thirty ends of a host for races.
#[test]
fn delivers_last_event() {
    let watcher = r#"
emit("subscribe", events=["session_start", "turn_start", "tool_call", "assistant_message", "turn_end"])
emit("ready")
for frame in frames():
    if frame["type"] == "event":
        mark(" ".join(str(frame[key]) for key in ("event", "step", "stop", "tool_id", "text") if key in frame))
mark("left")
"#;
    let steps = vec![bash("t1", "true"), Scenario::text("Done.")];
    let scene = Scene::new(steps).python("watcher", watcher);
    scene.haft(&["--json", "go"]).expect(0);
    assert_eq!(
        scene.marks(),
        [
            "session_start",
            "turn_start 1",
            "assistant_message",
            "tool_call t1",
            "turn_end tool_use",
            "turn_start 2",
            "assistant_message Done.",
            "turn_end end",
            "left",
        ]
    );
}

/// The session as a front end receives it.
fn begun(ran: &Ran) -> Value {
    ran.expect(0);
    let event: Value = serde_json::from_str(ran.stdout.lines().next().unwrap()).unwrap();
    assert_eq!(event["type"], "session");
    event
}

#[test]
fn extension_receives_session() {
    let watcher = r#"
emit("subscribe", events=["session_start"])
emit("ready")
for frame in frames():
    if frame["type"] == "event":
        mark(frame["session_id"] + " " + frame.get("session_path", "nowhere"))
"#;
    let scene = Scene::new(vec![Scenario::text("Done."); 3]).python("watcher", watcher);
    let told = |args: &[&str]| {
        let event = begun(&scene.haft(args));
        let text = |key: &str| event[key].as_str().map(str::to_owned);
        let (id, path) = (text("id").unwrap(), text("path").unwrap_or_else(|| "nowhere".into()));
        assert_eq!(scene.marks().last(), Some(&format!("{id} {path}")));
        (id, path)
    };
    let first = told(&["--json", "go"]);
    assert_ne!(first.1, "nowhere");
    assert_eq!(told(&["--json", "-c", "go on"]), first, "it is resumed");
    let (id, path) = told(&["--json", "--no-session", "go"]);
    assert_eq!((id == first.0, path.as_str()), (false, "nowhere"));
}
