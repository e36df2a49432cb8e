//! `haft rpc`: the person at the client decides.

use std::fs;

use serde_json::{Value, json};

use super::gates::BROKEN;
use super::rpc_client::{Client, text_of};
use super::scene::Scene;

/// A model that runs these commands with `bash`, one after the other, and then ends.
fn scene(commands: &[&str]) -> Scene {
    let call = |command: &&str| json!({"say": [{"call": {"name": "bash", "args": {"command": command}}}]});
    let mut steps: Vec<Value> = commands.iter().map(call).collect();
    steps.push(json!({"say": [{"text": "Done."}]}));
    Scene::scripted(&json!(steps))
}

#[test]
fn person_allows_or_denies_call() {
    let scene = scene(&["touch one", "touch two"]);
    let mut client = Client::of(&scene, &[]);
    client.done("hello", &json!({"ui": true, "approve": ["bash"]}));
    client.done("prompt", &json!({"message": "go"}));
    for (command, confirmed) in [("touch one", false), ("touch two", true)] {
        let asked = client.event("ui_request");
        assert_eq!((&asked["kind"], &asked["call"]["args"]["command"]), (&json!("approve"), &json!(command)));
        client.done("ui_response", &json!({"request": asked["id"], "confirmed": confirmed}));
    }
    client.event("done");
    client.end().expect(0);
    let exists = |name: &str| scene.world.project().join(name).exists();
    assert_eq!((exists("one"), exists("two")), (false, true));
}

#[test]
fn person_approves_the_change_that_was_shown() {
    let write = |content: &str| {
        let args = json!({"path": "a.txt", "content": content});
        json!({"say": [{"call": {"name": "write", "args": args}}]})
    };
    let scene = Scene::scripted(&json!([write("one\n"), write("two\n"), {"say": [{"text": "Done."}]}]));
    let file = scene.world.project().join("a.txt");
    let mut client = Client::of(&scene, &[]);
    client.done("hello", &json!({"ui": true, "approve": ["write"]}));
    client.done("prompt", &json!({"message": "go"}));
    let created = client.event("ui_request");
    let lines = "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+one\n";
    let diff = json!({"path": "a.txt", "unified": lines, "added": 1, "removed": 0});
    assert_eq!(created["preview"], json!({ "diff": diff }));
    assert!(!file.exists());
    client.done("ui_response", &json!({"request": created["id"], "confirmed": true}));
    let replaced = client.event("ui_request");
    let lines = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n";
    assert_eq!(replaced["preview"]["diff"]["unified"], lines);
    // Another program changes the file while the person reads.
    fs::write(&file, "other\n").unwrap();
    client.done("ui_response", &json!({"request": replaced["id"], "confirmed": true}));
    client.event("done");
    let left = client.end();
    left.expect(0);
    let failed: Vec<bool> = left.of("tool_result").iter().map(|result| result["is_error"] == true).collect();
    assert_eq!(failed, [false, true]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "other\n");
}

/// The settings of the user apply whatever the client lists.
#[test]
fn approve_setting_needs_person_at_client() {
    let scene = scene(&["touch one", "touch two"]);
    fs::create_dir_all(scene.world.home()).unwrap();
    fs::write(scene.world.home().join("config.toml"), "tools.approve = ['Shell']\n").unwrap();
    let mut client = Client::of(&scene, &[]);
    client.done("hello", &json!({"ui": true, "approve": []}));
    client.done("prompt", &json!({"message": "go"}));
    let asked = client.event("ui_request");
    assert_eq!((&asked["kind"], &asked["timeout_ms"]), (&json!("approve"), &Value::Null));
    client.done("hello", &json!({"ui": false}));
    client.done("ui_response", &json!({"request": asked["id"], "confirmed": true}));
    client.event("done");
    client.end().expect(0);
    let exists = |name: &str| scene.world.project().join(name).exists();
    assert_eq!((exists("one"), exists("two")), (true, false));
}

#[test]
fn run_without_person_denies_tools_that_need_approval() {
    let scene = scene(&["touch one"]);
    let ran = scene.haft(&["--json", "--approve", "read,Shel,BASH", "go"]);
    ran.expect(0);
    let blocked = &ran.of("tool_blocked")[0];
    let reason = "`tools.approve` requires a person's approval, and this run cannot ask a person; run haft in a terminal, \
                  or pass `--approve none`";
    assert_eq!((&blocked["by"], &blocked["reason"]), (&json!("haft"), &json!(reason)));
    assert!(
        ran.stderr.contains("warning: tools.approve names Shel, but no tool has that name"),
        "{}",
        ran.stderr
    );
    assert!(!scene.world.project().join("one").exists());
}

#[test]
fn run_without_person_reports_denied_calls() {
    let args = json!({"command": "touch one", "outside_sandbox": "needed"});
    let steps = json!([{"say": [{"call": {"name": "bash", "args": args}}]}, {"say": [{"text": "Done."}]}]);
    let run = |args: &[&str]| Scene::scripted(&steps).haft(args);
    let told = "run outside of the sandbox: this needs the approval of a person, and no person can be asked; \
                --sandbox full permits it";
    let ran = run(&["-p", "go"]);
    ran.expect(0);
    let lines: Vec<_> = ran.stderr.lines().collect();
    let line = |begin: &str| lines.len() == 1 && lines[0].starts_with(begin) && lines[0].ends_with(told);
    assert!(line("haft: refused by haft: bash {\"command\":\"touch one\""), "{}", ran.stderr);
    let ran = run(&["-v", "-p", "go"]);
    assert!(
        ran.stderr.lines().any(|line| line.starts_with("  refused by haft: bash {") && line.ends_with(told))
    );
    let ran = run(&["--json", "go"]);
    assert!(ran.of("tool_blocked").len() == 1 && !ran.stderr.contains("refused"), "{}", ran.stderr);
}

#[test]
fn approve_flag_overrides_setting() {
    let scene = scene(&["touch one"]);
    fs::create_dir_all(scene.world.home()).unwrap();
    fs::write(scene.world.home().join("config.toml"), "tools.approve = ['*']\n").unwrap();
    scene.haft(&["--approve", "none", "-p", "go"]).expect(0);
    assert!(scene.world.project().join("one").exists());
}

#[test]
fn person_continues_without_failing_gate() {
    let scene = scene(&["touch touched"; 4]).python("guard", BROKEN);
    let mut client = Client::of(&scene, &[]);
    client.done("hello", &json!({"ui": true}));
    client.done("prompt", &json!({"message": "go"}));
    let asked = client.event("ui_request");
    assert_eq!((&asked["kind"], &asked["extension"]), (&json!("gate_failing"), &json!("guard")));
    client.done("ui_response", &json!({"request": asked["id"], "value": "continue_without"}));
    client.event("gate_off");
    client.event("done");
    let left = client.end();
    left.expect(0);
    assert_eq!(text_of(left.of("assistant_message").last().unwrap()), "Done.");
    assert!(scene.world.project().join("touched").exists());
}

/// A gate that asks the person before each call, and waits as long as needed.
const ASKS: &str = r#"
emit("subscribe", intercept=[{"event": "tool_call", "role": "gate"}])
emit("ready")
for frame in frames():
    if frame["type"] == "event_intercept":
        args = {"title": "Allow?", "options": ["Yes", "No"]}
        emit("host_call", id="c1", call="select", args=args, under=frame["id"])
        asked = frame
    elif frame["type"] == "host_result":
        value = frame["value"]
        allowed = value.get("value") == "Yes"
        answer(asked, block=not allowed, reason=f"asked: {value['why']}")
"#;

#[test]
fn gate_in_python_asks_the_person() {
    for (answer, ran) in [("Yes", true), ("No", false)] {
        let scene = scene(&["touch touched"]).python("guard", ASKS);
        let mut client = Client::of(&scene, &[]);
        client.done("hello", &json!({"ui": true}));
        client.done("prompt", &json!({"message": "go"}));
        let asked = client.event("ui_request");
        assert_eq!((&asked["kind"], &asked["extension"]), (&json!("select"), &json!("guard")));
        client.done("ui_response", &json!({"request": asked["id"], "value": answer}));
        client.event("done");
        client.end().expect(0);
        assert_eq!(scene.world.project().join("touched").exists(), ran);
    }
    // Without a person, the question ends at once.
    let scene = scene(&["touch touched"]).python("guard", ASKS);
    let ran = scene.haft(&["-p", "go"]);
    ran.expect(0);
    assert!(ran.stderr.contains("asked: no_person"), "{}", ran.stderr);
    assert!(!scene.world.project().join("touched").exists());
}

#[test]
fn reload_withdraws_the_question_of_a_gate() {
    let scene = scene(&["touch one", "touch two"]).python("guard", ASKS);
    let mut client = Client::of(&scene, &[]);
    client.done("hello", &json!({"ui": true}));
    client.done("prompt", &json!({"message": "go"}));
    let asked = client.event("ui_request");
    assert_eq!(asked["extension"], "guard");
    client.done("reload_ext", &json!({"name": "guard"}));
    let withdrawn = client.event("ui_done");
    assert_eq!((&withdrawn["id"], &withdrawn["why"]), (&asked["id"], &json!("cancelled")));
    // The new process asks about the next call.
    let asked = client.event("ui_request");
    assert_eq!((&asked["kind"], &asked["extension"]), (&json!("select"), &json!("guard")));
    client.done("ui_response", &json!({"request": asked["id"], "value": "Yes"}));
    client.event("done");
    client.end().expect(0);
    let exists = |name| scene.world.project().join(name).exists();
    assert!(!exists("one") && exists("two"));
}

/// The exit code is 3, as in a run.
#[test]
fn failing_gate_ends_server_without_answer() {
    let scene = scene(&["touch touched"; 4]).python("guard", BROKEN);
    let mut client = Client::of(&scene, &[]);
    client.done("prompt", &json!({"message": "go"}));
    client.event("done");
    let left = client.wait();
    left.expect(3);
    assert!(
        left.stderr.contains("keeps failing") && left.stderr.contains("`haft doctor`"),
        "{}",
        left.stderr
    );
    assert_eq!(left.of("session_closed")[0]["reason"], "failed");
    assert!(!scene.world.project().join("touched").exists());
}
