//! A Python gate that blocks, rewrites and redacts, while the transcript keeps the model's messages.

use haft_test_support::model_server::Scenario;
use serde_json::{Value, json};

use super::gates::{BROKEN, SPENT};
use super::requests::{called, said};
use super::scene::{Scene, bash, bash_args};

const GUARD: &str = r#"
emit("subscribe", events=["tool_call"], intercept=["tool_call", "assistant_message"])
emit("ready")
for frame in frames():
    if frame["type"] == "event":
        mark(json.dumps(frame["tool_args"]))
    elif frame.get("event") == "assistant_message":
        shown = frame["text"].replace("SECRET", "[redacted]")
        answer(frame, replace_text=shown)
    elif frame.get("event") == "tool_call":
        command = frame["tool_args"].get("command", "")
        if frame["tool_name"] != "bash":
            answer(frame)
        elif "rm -rf" in command:
            answer(frame, block=True, reason="refused: rm -rf is not for you")
        else:
            answer(frame, modified_args={"command": "echo GUARDED: " + shlex.quote(command)})
"#;

fn guarded() -> Scene {
    let step = Scenario::text("The code is SECRET.")
        .tool("t1", "bash", &bash_args("rm -rf build"))
        .tool("t2", "bash", &bash_args("touch touched"))
        .tool("t3", "read", r#"{"path":"note.txt"}"#);
    let scene = Scene::new(vec![step, Scenario::text("The SECRET is safe.")]).python("guard", GUARD);
    let project = scene.world.project();
    std::fs::create_dir(project.join("build")).unwrap();
    std::fs::write(project.join("note.txt"), "a note\n").unwrap();
    scene
}

#[test]
fn user_sees_redacted_text_and_model_its_own() {
    let scene = guarded();
    let ran = scene.haft(&["-p", "go"]);
    ran.expect(0);
    let refused =
        "haft: refused by guard: bash {\"command\":\"rm -rf build\"}: refused: rm -rf is not for you\n";
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("The [redacted] is safe.\n", refused));

    let second = &scene.server.requests()[1];
    assert_eq!(said(second, "assistant"), ["The code is SECRET."]);
    let original = [
        json!({"command": "rm -rf build"}),
        json!({"command": "touch touched"}),
        json!({"path": "note.txt"}),
    ];
    assert_eq!(called(second), original);
    let results = said(second, "tool");
    assert_eq!(results[0], "refused: rm -rf is not for you");
    assert!(results[1].contains("GUARDED: touch touched"), "{results:?}");
    assert!(results[2].contains("a note"), "{results:?}");

    let marked: Vec<Value> = scene.marks().iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(marked, original, "events keep the model's arguments");
    assert!(scene.world.project().join("build").exists());
    assert!(!scene.world.project().join("touched").exists());
}

#[test]
fn events_contain_model_arguments_without_secret() {
    let scene = guarded();
    let ran = scene.haft(&["--json", "go"]);
    ran.expect(0);
    assert!(!ran.stdout.contains("SECRET"), "{}", ran.stdout);
    let deltas: Vec<Value> = ran.of("text_delta").iter().map(|event| event["delta"].clone()).collect();
    assert_eq!(deltas, ["The code is [redacted].", "The [redacted] is safe."]);
    assert_eq!(ran.of("tool_call")[1]["args"], json!({"command": "touch touched"}));
    let rewritten = ran.of("tool_rewritten");
    assert_eq!(rewritten.len(), 1);
    assert_eq!((&rewritten[0]["id"], &rewritten[0]["by"]), (&json!("t2"), &json!("guard")));
    let blocked = ran.of("tool_blocked");
    assert_eq!((blocked.len(), &blocked[0]["id"]), (1, &json!("t1")));
    assert_eq!(ran.faults(), []);
}

#[test]
fn asks_earlier_approver_again_after_rewrite() {
    let approver = r#"
emit("subscribe", intercept=["tool_call"])
emit("ready")
for frame in frames():
    if frame["type"] == "event_intercept":
        command = frame["tool_args"]["command"]
        mark(command)
        answer(frame, block="forbidden" in command, reason="not that")
"#;
    let rewriter = r#"
emit("subscribe", intercept=["tool_call"])
emit("ready")
for frame in frames():
    if frame["type"] == "event_intercept":
        answer(frame, modified_args={"command": "touch forbidden"})
"#;
    let scene = Scene::new(vec![bash("t1", "ls"), Scenario::text("Well.")])
        .python("approver", approver)
        .python("rewriter", rewriter);
    let ran = scene.haft(&["--json", "go"]);
    ran.expect(0);
    assert_eq!(scene.marks(), ["ls", "touch forbidden"]);
    let blocked = ran.of("tool_blocked");
    assert_eq!((&blocked[0]["by"], &blocked[0]["reason"]), (&json!("approver"), &json!("not that")));
    assert_eq!(said(&scene.server.requests()[1], "tool"), ["not that"]);
    assert!(!scene.world.project().join("forbidden").exists());
}

#[test]
fn blocked_turn_has_exit_code_and_reason() {
    let scene = Scene::new(vec![]).python("budget", SPENT);
    let ran = scene.haft(&["-p", "go"]);
    ran.expect(4);
    assert_eq!(
        (ran.stdout.as_str(), ran.stderr.as_str()),
        ("", "haft: turn blocked by budget: the budget is spent\n")
    );
    assert_eq!(scene.server.requests().len(), 0, "the model is not asked");
}

#[test]
fn hides_suppressed_message_and_runs_its_tools() {
    let body = r#"
emit("subscribe", intercept=["assistant_message"])
emit("ready")
for frame in frames():
    if frame["type"] == "event_intercept":
        answer(frame, block="hush" in frame["text"], reason="withheld")
"#;
    let step = Scenario::text("hush").tool("t1", "bash", &bash_args("touch touched"));
    let scene = Scene::new(vec![step, Scenario::text("Said.")]).python("hush", body);
    let ran = scene.haft(&["-p", "go"]);
    ran.expect(0);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("Said.\n", "[hush] warning: withheld\n"));
    assert_eq!(said(&scene.server.requests()[1], "assistant"), ["hush"], "the transcript keeps it");
    assert!(scene.world.project().join("touched").exists());
}

#[test]
fn a_gate_that_keeps_failing_ends_the_run_with_code_3_where_nobody_can_be_asked() {
    let touch = json!({"say": [{"call": {"name": "bash", "args": {"command": "touch touched"}}}]});
    let steps = json!([touch, touch, touch, touch, {"say": [{"text": "Never said."}]}]);
    let scene = Scene::scripted(&steps).python("guard", BROKEN);
    let ran = scene.haft(&["--json", "go"]);
    ran.expect(3);
    assert_eq!(ran.of("tool_blocked").len(), 3);
    assert_eq!(ran.faults(), vec![("guard".to_owned(), "hook_error".to_owned()); 3]);
    assert!(ran.stderr.contains("stopped by guard: the gate keeps failing"), "{}", ran.stderr);
    assert!(!scene.world.project().join("touched").exists());
}

#[test]
fn reports_conflicting_rewrites() {
    let rewriter = |word: &str| {
        format!(
            r#"
emit("subscribe", intercept=[{{"event": "tool_call", "role": "rewrite"}}])
emit("ready")
for frame in frames():
    if frame.get("event") == "tool_call":
        answer(frame, modified_args={{"command": "echo {word}"}})
"#
        )
    };
    let steps = json!([
        {"say": [{"call": {"name": "bash", "args": {"command": "ls"}}}]},
        {"say": [{"text": "Done."}]}
    ]);
    let scene = Scene::scripted(&steps).python("one", &rewriter("one")).python("two", &rewriter("two"));
    let ran = scene.haft(&["-p", "go"]);
    ran.expect(0);
    assert_eq!(ran.stderr, "haft: one and two both changed /command; the tool receives the version of two\n");
}
