//! Failing process hooks of the user, and the reports about them.

use std::fs;
use std::thread;

use haft_test_support::model_server::Scenario;
use serde_json::json;

use super::requests::said;
use super::running::growing_seconds;
use super::scene::{Scene, bash_args};

/// A hook that answers every request. The placeholder is its behavior in `hook.before_tool`.
const GATE: &str = r#"
import json, os, sys

for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    result = {"approved": True}
    if request["method"] == "hook.before_tool":
        pass  # HERE
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"#;

const HOOK: &str = "[hooks.processes.gate]\nenabled = true\ncommand = ['python3', 'gate.py']\n\
                    intercept = ['before_tool', 'approve_tool']\n";

/// Runs a model that calls `touch ran` and then ends; the gate behaves like this when it is asked.
fn scene(gate: &str, config: &str) -> Scene {
    let touch = Scenario::text("I try.").tool("t1", "bash", &bash_args("touch ran"));
    let scene = Scene::new(vec![touch, Scenario::text("Done.")]);
    fs::create_dir_all(scene.world.home()).unwrap();
    fs::write(scene.world.home().join("config.toml"), config).unwrap();
    fs::write(scene.world.project().join("gate.py"), gate).unwrap();
    // The project decides about the location of the gate.
    scene.world.trust();
    scene
}

fn has_run(scene: &Scene) -> bool {
    scene.world.project().join("ran").exists()
}

/// Returns the last result that the model received.
fn result(scene: &Scene) -> String {
    said(&scene.server.requests()[1], "tool")[0].clone()
}

/// Returns the problems of `haft doctor`, in one line.
fn doctor(scene: &Scene) -> String {
    let ended = scene.world.haft(&["doctor"]);
    assert_eq!(ended.code, 13, "{ended:?}");
    ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn reports_syntax_error_of_hook() {
    let scene = scene("def gate(:\n    pass\n", HOOK);
    let ran = scene.haft(&["-p", "go"]);
    ran.expect(0);
    assert!(!has_run(&scene));
    let told = "SyntaxError: invalid syntax";
    assert!(ran.stderr.contains("gate") && ran.stderr.contains(told), "{}", ran.stderr);
    let result = result(&scene);
    assert!(result.contains("ended before hello: exited with status 1"), "{result}");
    assert!(!result.contains(told), "what it printed is for people: {result}");
    let listed = scene.world.haft(&["ext", "list"]);
    assert!(listed.stderr.contains("gate: failed ") && listed.stderr.contains(told), "{listed:?}");
    let logs = scene.world.haft(&["ext", "logs", "gate"]);
    assert!(logs.code == 0 && logs.stdout.contains("def gate(:") && logs.stdout.contains(told), "{logs:?}");
    let doctor = doctor(&scene);
    assert!(doctor.contains("WRONG gate: your process hook, not sandboxed"), "{doctor}");
    assert!(doctor.contains(told) && doctor.contains("haft ext logs gate"), "{doctor}");
}

#[test]
fn reports_missing_program_with_next_step() {
    let scene = scene("", &HOOK.replace("'python3'", "'no-such-program'"));
    let ran = scene.haft(&["-p", "go"]);
    assert!(!has_run(&scene));
    let told = "no program named no-such-program";
    assert!(ran.stderr.contains(told) && ran.stderr.contains("PATH"), "{}", ran.stderr);
    assert!(result(&scene).contains("Tool execution denied by hook") && result(&scene).contains(told));
    let doctor = doctor(&scene);
    assert!(doctor.contains("cannot start: no program named") && doctor.contains(told), "{doctor}");
    assert!(doctor.contains("config.toml"), "{doctor}");
}

/// Checks if the tool runs when the gate does not answer, with these settings of the user.
#[track_caller]
fn check_loosened(said: &str, runs: bool) {
    let gate = GATE.replace("pass  # HERE", "open('asked', 'w').close(); continue");
    let mut tried = growing_seconds().map(|seconds| {
        let scene = scene(&gate, &format!("{HOOK}timeout_ms = {}\n{said}", seconds * 1000));
        let ran = scene.haft(&["-p", "go"]);
        (scene, ran)
    });
    let asked = tried.find(|(scene, _)| scene.world.project().join("asked").exists());
    let (scene, ran) = asked.expect("the gate starts within its deadline");
    assert_eq!(has_run(&scene), runs, "{said}: {}", ran.stderr);
    assert!(ran.stderr.contains("gate"), "the failure is not reported: {}", ran.stderr);
}

// Failures that are no delay are tested with the host alone: `timeout_passes_only_by_user_setting`.
#[test]
fn user_setting_allows_calls_on_timeout() {
    // Each case waits for the deadline of its own gate.
    thread::scope(|scope| {
        for (said, runs) in
            [("", false), ("on_timeout = 'allow'\n", true), ("[grant.gate]\non_timeout = 'allow'\n", true)]
        {
            scope.spawn(move || check_loosened(said, runs));
        }
    });
}

#[track_caller]
fn check_file_of_picoclaw(hook: &serde_json::Value, told: &str) {
    let scene = scene(GATE, "");
    let file = json!({"hooks": {"processes": {"gate": hook}}});
    fs::write(scene.world.project().join("config.json"), file.to_string()).unwrap();
    let ran = scene.haft(&["-p", "--hooks-config", "config.json", "go"]);
    ran.expect(9);
    assert!(ran.stderr.contains(told), "{}", ran.stderr);
    assert_eq!(scene.server.requests().len(), 0);
}

#[test]
fn configuration_that_picoclaw_rejects_ends_run() {
    let command = json!(["python3", "gate.py"]);
    check_file_of_picoclaw(
        &json!({"enabled": true, "command": command, "intercept": ["before_turn"]}),
        "unsupported intercept \"before_turn\"",
    );
    check_file_of_picoclaw(
        &json!({"enabled": true, "command": command, "observe": ["agent.tool.start"]}),
        "unsupported observe event \"agent.tool.start\"",
    );
    check_file_of_picoclaw(&json!({"enabled": true, "command": command}), "no hook modes enabled");
    check_file_of_picoclaw(
        &json!({"enabled": true, "transport": "http", "command": command, "observe": ["*"]}),
        "unsupported transport \"http\"",
    );
}

/// True if a hook with this grant can write into haft's home; the tool runs in any case.
#[cfg(target_os = "linux")]
#[track_caller]
fn check_confined(grant: &str, writes: bool) {
    let gate = "open(os.environ['TARGET'], 'w').close()";
    let gate = format!(
        "try:\n            {gate}\n        except OSError as error:\n            print(error, file=sys.stderr, flush=True)"
    );
    let config = format!("{HOOK}{grant}");
    let scene = scene(&GATE.replace("pass  # HERE", &gate), "");
    let target = scene.world.home().join("written");
    let target = format!("env = {{ TARGET = {} }}\n", json!(target));
    let config = config.replacen("intercept", &format!("{target}intercept"), 1);
    fs::write(scene.world.home().join("config.toml"), config).unwrap();
    scene.world.trust();
    scene.haft(&["-p", "go"]).expect(0);
    assert!(has_run(&scene));
    assert_eq!(scene.world.home().join("written").exists(), writes, "{}", scene.log_of("gate"));
}

#[cfg(target_os = "linux")]
#[test]
fn grant_sandboxes_hook() {
    check_confined("", true);
    if super::confined::has_standard() {
        check_confined("[grant.gate]\nsandbox = 'standard'\n", false);
    }
}
