//! One extension that misbehaves in a whole run: it is reported once, as a guard it blocks, and the rest goes on.

use serde_json::{Value, json};

use super::running::Ran;
use super::scene::Scene;

/// What stands beside the extension that misbehaves, behind it in order.
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

/// A run with an extension of this fault, in which the model calls one tool and then has a last word.
fn run(fault: &str, call: &Value) -> (Scene, Ran) {
    let steps = json!([{"say": [{"call": call}]}, {"say": [{"text": "The last word."}]}]);
    let scene = Scene::scripted(&steps);
    let scene = match fault {
        // Its deadline is what the test waits for.
        "silent" => scene.misbehaving_as(fault, &json!({})),
        _ => scene.misbehaving(fault),
    };
    let scene = scene.python("healthy", HEALTHY);
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

fn touch() -> Value {
    json!({"name": "bash", "args": {"command": "touch touched"}})
}

fn write(bytes: usize) -> Value {
    json!({"name": "write", "args": {"path": "touched", "content": "x".repeat(bytes)}})
}

/// The fault happens while the extension guards this call: the call does not happen, for one of these reasons.
#[track_caller]
fn check_guard(fault: &str, call: &Value, codes: &[&str], reasons: &[&str]) {
    let (scene, ran) = run(fault, call);
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

/// The fault happens where the extension guards nothing: the call happens.
#[track_caller]
fn check_bystander(fault: &str, codes: &[&str]) {
    let (scene, ran) = run(fault, &touch());
    let expect: Vec<_> = codes.iter().map(|&code| (fault.to_owned(), code.to_owned())).collect();
    assert_eq!(ran.faults(), expect);
    assert_eq!((ran.of("tool_blocked"), &ran.of("tool_result")[0]["is_error"]), (vec![], &json!(false)));
    assert!(scene.world.project().join("touched").exists());
}

/// As [`check_guard`] with an extension that ends. On a busy machine the end of its output or input is seen long before
/// its own end, and is what there is to tell.
#[track_caller]
fn check_end(fault: &str, call: &Value, reason: &str) {
    check_guard(fault, call, &["exited"], &[reason, "closed its output", "closed its input"]);
}

#[test]
fn one_that_never_says_hello() {
    check_bystander("silent", &["hello_timeout"]);
}

#[test]
fn one_that_prints_junk() {
    check_bystander("garbage", &["frame_not_json"]);
}

#[test]
fn one_that_ends_before_hello() {
    check_bystander("exit-before-hello", &["exited"]);
}

#[test]
fn one_that_answers_twice() {
    check_bystander("answer-twice", &["duplicate_response"]);
}

#[test]
fn one_that_dies_in_a_call() {
    check_end("exit-in-call", &touch(), "exited with status 3; the user has been told");
    check_end("half-line", &touch(), "exited");
    check_guard("fork-and-hold-stdout", &touch(), &["exited"], &["exited with status 5"]);
}

#[test]
fn one_that_never_reads_while_200_kb_are_sent() {
    check_guard("never-read-stdin", &write(200 * 1024), &["write_stalled"], &["does not read its input"]);
}

#[test]
fn one_that_is_killed_by_a_5_mb_argument() {
    check_end("die-on-big-line", &write(5 * 1024 * 1024), "exited with status 4");
}

#[test]
fn one_that_answers_what_nobody_can_read() {
    check_guard("huge-line", &touch(), &["frame_too_long"], &["sent a line longer than"]);
    check_guard("bad-types", &touch(), &["hook_error"], &["makes no sense"]);
}

#[test]
fn one_that_does_not_answer() {
    check_guard("hang-intercept", &touch(), &["hook_timeout"], &["did not answer within 5 s"]);
}

#[test]
fn one_that_floods() {
    // It never comes to its input, so its own gate stays shut; nobody else waits for it.
    check_guard("flood", &touch(), &["rate_limited", "hook_timeout"], &["did not answer within 5 s"]);
}

#[test]
fn one_that_does_not_leave() {
    check_bystander("linger", &[]);
}

#[test]
fn a_required_one_that_does_not_start_ends_the_run_before_it_begins() {
    let manifest = json!({"required": true});
    let scene = Scene::scripted(&json!([{"say": [{"text": "Never."}]}]))
        .misbehaving_as("exit-before-hello", &manifest);
    let ran = scene.haft(&["-p", "go"]);
    ran.expect(3);
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.contains("exit-before-hello") && ran.stderr.contains("haft doctor"), "{}", ran.stderr);
}
