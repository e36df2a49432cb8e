//! Misbehaving extensions in a whole run: the fault is reported once, a gate blocks, and the rest continues.

use haft_test_support::model_server::Scenario;
use serde_json::{Value, json};

use super::running::Ran;
use super::scene::Scene;

/// The extension that runs after the misbehaving one.
const HEALTHY: &str = r#"
tool("healthy_tool")
emit("subscribe", events=["turn_end"], intercept=["assistant_message"])
emit("ready")
for frame in frames():
    if frame["type"] == "event":
        mark("healthy saw " + frame["stop"])
    elif frame["type"] == "event_intercept":
        answer(frame, replace_text=frame["text"] + " (seen)")
mark("healthy left")
"#;

/// Runs an extension with this fault; the model calls one tool and then ends.
fn run(fault: &str) -> (Scene, Ran) {
    let touch = json!({"name": "bash", "args": {"command": "touch touched"}});
    let steps = json!([{"say": [{"call": touch}]}, {"say": [{"text": "The last word."}]}]);
    let scene = Scene::scripted(&steps).misbehaving(fault).python("healthy", HEALTHY);
    let ran = scene.haft(&["--json", "go"]);
    ran.expect(0);
    assert!(scene.marks().iter().any(|mark| mark == fault), "{fault} did not happen: {:?}", scene.marks());
    let last = ran.of("assistant_message").pop().unwrap();
    assert_eq!(last["content"][0]["text"], "The last word. (seen)", "{fault}: the turn goes on");
    let mut healthy = scene.marks();
    healthy.retain(|mark| mark.starts_with("healthy"));
    assert_eq!(
        healthy,
        ["healthy saw tool_use", "healthy saw end", "healthy left"],
        "{fault}: {}",
        scene.log_of("healthy")
    );
    (scene, ran)
}

/// Checks a fault of an extension that gates this call: the call does not run, for one of these reasons.
#[track_caller]
fn check_guard(fault: &str, codes: &[&str], reasons: &[&str]) {
    let (scene, ran) = run(fault);
    let expect: Vec<_> = codes.iter().map(|&code| (fault.to_owned(), code.to_owned())).collect();
    assert_eq!(ran.faults(), expect);
    let blocked = ran.of("tool_blocked");
    assert_eq!((blocked.len(), &blocked[0]["by"]), (1, &json!(fault)));
    let result = &ran.of("tool_result")[0];
    assert_eq!(result["is_error"], true);
    let content = result["content"].to_string();
    assert!(reasons.iter().any(|reason| content.contains(reason)), "{result}");
    assert!(!scene.world.project().join("touched").exists(), "{fault}: the tool ran all the same");
}

/// Checks a fault of an extension that gates nothing: the call runs.
#[track_caller]
fn check_bystander(fault: &str, codes: &[&str]) {
    let (scene, ran) = run(fault);
    let expect: Vec<_> = codes.iter().map(|&code| (fault.to_owned(), code.to_owned())).collect();
    assert_eq!(ran.faults(), expect);
    assert_eq!((ran.of("tool_blocked"), &ran.of("tool_result")[0]["is_error"]), (vec![], &json!(false)));
    assert!(scene.world.project().join("touched").exists());
}

// The other faults are tested without the program; `crates/host/tests/it/misbehavior.rs` lists the places.

#[test]
fn reports_extension_that_prints_junk() {
    check_bystander("garbage", &["frame_not_json"]);
}

#[test]
fn reports_extension_that_dies_in_call() {
    // On a busy machine, the host notices the end of its streams long before the end of the process.
    let reasons = ["exited with status 3; the user was notified", "closed its output", "closed its input"];
    check_guard("exit-in-call", &["exited"], &reasons);
}

#[test]
fn kills_extension_that_ignores_shutdown() {
    check_bystander("linger", &[]);
}

/// Adds a gate with these `tools` in its subscription, which blocks every call. A run waits for its start.
fn gate_on(scene: Scene, tools: &str, more: &Value) -> Scene {
    let body = format!(
        r#"
emit("subscribe", intercept=[{{"event": "tool_call", "role": "gate", "tools": {tools}}}])
emit("ready")
for frame in frames():
    if frame["type"] == "event_intercept":
        answer(frame, block=True, reason="never")
"#
    );
    scene.with_python("guard", more, &body)
}

#[test]
fn required_gate_on_unknown_tool_ends_run() {
    let says = json!([{"say": [{"text": "Done."}]}]);
    let scene = gate_on(Scene::scripted(&says), "['Shel']", &json!({"required": true}));
    let ran = scene.haft(&["-p", "go"]);
    ran.expect(3);
    let told = "the extension guard guards no tool: no tool has a name from `tools` of its subscription to tool_call; \
                available tools: read,";
    assert!(ran.stdout.is_empty() && ran.stderr.contains(told), "{}", ran.stderr);
    let scene = gate_on(Scene::scripted(&says), "['Shel']", &json!({"required": false}));
    let ran = scene.haft(&["-p", "go"]);
    ran.expect(0);
    assert!(ran.stderr.contains("warning: the extension guard guards no tool"), "{}", ran.stderr);
}

#[test]
fn required_gate_names_tool_by_alias() {
    let touch = json!({"name": "bash", "args": {"command": "touch x"}});
    let says = json!([{"say": [{"call": touch}]}, {"say": [{"text": "Done."}]}]);
    let scene = gate_on(Scene::scripted(&says), "['Shell']", &json!({"required": true}));
    scene.haft(&["-p", "go"]).expect(0);
    assert!(!scene.world.project().join("x").exists());
}

#[test]
fn required_extension_that_does_not_start_ends_run() {
    let manifest = json!({"required": true});
    let scene = Scene::scripted(&json!([{"say": [{"text": "Never."}]}]))
        .misbehaving_as("exit-before-hello", &manifest);
    let ran = scene.haft(&["-p", "go"]);
    ran.expect(3);
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.contains("run `haft ext logs exit-before-hello`"), "{}", ran.stderr);
}

#[test]
fn user_sets_the_deadline_of_hello() {
    let scene = Scene::new(vec![Scenario::text("Done.")]);
    let manifest = r#"{"name": "mute", "exec": "sleep", "args": ["600"], "hello_timeout_ms": 60000}"#;
    let dir = scene.world.extension("mute", manifest);
    std::fs::create_dir_all(scene.world.home()).unwrap();
    let config = scene.world.home().join("config.toml");
    std::fs::write(&config, "[grant.mute]\nhello_timeout_ms = 200\n").unwrap();
    let scene = scene.with(dir);
    let ran = scene.haft(&["--json", "go"]);
    assert_eq!(ran.expect(0).faults(), [("mute".to_owned(), "hello_timeout".to_owned())]);
    std::fs::write(&config, "[grant.mute]\nhello_timeout_ms = 600001\n").unwrap();
    let ran = scene.haft(&["--json", "go"]);
    assert!(ran.expect(9).stderr.contains("`grant.mute.hello_timeout_ms` must be a whole number"), "{ran:?}");
}
