//! The code that a process hook of the user runs: no files of an untrusted project, and no other code than at the start
//! of the run.

use std::fs;
use std::path::Path;

use haft_test_support::model_server::Scenario;
use serde_json::json;

use super::requests::said;
use super::scene::{Scene, bash_args};

/// A gate that marks its start, crashes on request, and allows all other calls.
const GATE: &str = r#"
import json, os, sys

with open(os.environ["MARKS"], "a") as marks:
    marks.write("starts\n")
for line in sys.stdin:
    request = json.loads(line)
    if request.get("params", {}).get("arguments", {}).get("command") == "crash":
        sys.exit("crashed")
    if "id" in request:
        result = {"action": "continue"}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"#;

/// A model that makes these calls, one per step, in every run.
fn scene(commands: &[String]) -> Scene {
    let calls = commands.iter().enumerate();
    let steps = calls
        .map(|(at, command)| Scenario::text("I try.").tool(&format!("t{at}"), "bash", &bash_args(command)))
        .chain(vec![Scenario::text("Done."); 4]);
    Scene::new(steps.collect())
}

/// Writes the user's file with a gate that has this command.
fn gate(scene: &Scene, command: &[&str], more: &str) {
    let hook = format!(
        "[hooks.processes.gate]\nenabled = true\ncommand = {}\nintercept = ['before_tool']\ntimeout_ms = 60000\n{more}",
        json!(command)
    );
    fs::create_dir_all(scene.world.home()).unwrap();
    fs::write(scene.world.home().join("config.toml"), hook).unwrap();
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Returns the last results that the model received.
fn results(scene: &Scene) -> Vec<String> {
    let requests = scene.server.requests();
    said(requests.last().unwrap(), "tool")
}

#[test]
fn changed_gate_does_not_run_in_same_run() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("gate.py");
    write(&file, GATE);
    let change = format!("echo '# nobody has seen this' >> {}", file.display());
    let scene = scene(&["crash".to_owned(), change, "crash".to_owned(), "touch ran".to_owned()]);
    gate(&scene, &["python3", file.to_str().unwrap()], "");
    let ran = scene.haft(&["--sandbox", "full", "-p", "go"]);
    let results = results(&scene);
    let died = "exited with status 1";
    assert!(results[0].contains(died) && results[2].contains(died), "{results:?}");
    assert_eq!(ran.stderr.matches("crashed").count(), 2, "people read what it printed: {}", ran.stderr);
    let told = "gate.py changed since this run began";
    assert!(results[3].contains("Tool execution denied by hook") && results[3].contains(told), "{results:?}");
    assert!(!scene.world.project().join("ran").exists(), "the call was made");
    assert_eq!(ran.stderr.matches(told).count(), 2, "the failure and the refused call: {}", ran.stderr);
    assert_eq!(scene.marks(), ["starts", "starts"], "an unchanged gate is restarted");
    scene.haft(&["--sandbox", "full", "-p", "go"]).expect(0);
    assert_eq!(scene.marks().len(), 3, "the next run starts the current version");
}

/// Runs a gate whose command runs `hooks/gate.py` of the project. An untrusted project must not decide about it.
#[track_caller]
fn check_untrusted(command: &[&str], more: &str, told: &str) {
    let scene = scene(&["touch ran".to_owned()]);
    write(&scene.world.project().join("hooks/gate.py"), GATE);
    gate(&scene, command, more);
    let ran = scene.haft(&["--sandbox", "full", "-p", "go"]);
    assert!(ran.stderr.contains("cannot be started") && ran.stderr.contains(told), "{}", ran.stderr);
    assert!(!scene.world.project().join("ran").exists() && scene.marks().is_empty(), "the gate was started");
    assert!(results(&scene)[0].contains(told), "{:?}", results(&scene));
    let listed = scene.world.haft(&["ext", "list"]);
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(listed.stdout.contains("broken") && words(&listed.stderr).contains(told), "{listed:?}");
    let doctor = scene.world.haft(&["doctor"]);
    assert!(doctor.code == 13 && words(&doctor.stdout).contains(told), "{doctor:?}");
}

#[test]
fn user_hook_runs_no_files_of_untrusted_project() {
    let lies = "hooks/gate.py is in the project, which is not trusted";
    check_untrusted(&["python3", "hooks/gate.py"], "", lies);
    check_untrusted(&["sh", "-c", "exec python3 hooks/gate.py"], "", lies);
    check_untrusted(
        &["python3", "gate.py"],
        "dir = 'hooks'\n",
        "its `dir`, hooks, is relative to the project",
    );
}

#[test]
fn trust_covers_project_files_of_user_hook() {
    let scene = scene(&["echo hello".to_owned()]);
    let file = scene.world.project().join("hooks/gate.py");
    write(&file, GATE);
    gate(&scene, &["python3", "hooks/gate.py"], "");
    let shown = scene.world.haft(&["trust", "--show"]).stdout;
    assert!(shown.contains("your hook gate runs hooks/gate.py"), "{shown}");
    scene.world.trust();
    let ran = scene.haft(&["--sandbox", "full", "-p", "go"]);
    ran.expect(0);
    assert_eq!((scene.marks().len(), ran.stderr.as_str()), (1, ""));
    write(&file, &format!("{GATE}# and a line more\n"));
    let ran = scene.haft(&["--sandbox", "full", "-p", "go"]);
    let told = "your hook gate runs hooks/gate.py (changed)";
    assert!(ran.stderr.contains("no longer trusted") && ran.stderr.contains(told), "{}", ran.stderr);
    assert_eq!(scene.marks().len(), 1);
}

#[test]
fn hook_of_command_line_runs() {
    let scene = scene(&["echo hello".to_owned()]);
    write(&scene.world.project().join("hooks/gate.py"), GATE);
    let hook =
        json!({"enabled": true, "command": ["python3", "hooks/gate.py"], "intercept": ["before_tool"]});
    let config = json!({"hooks": {"processes": {"gate": hook}}});
    write(&scene.world.project().join("config.json"), &config.to_string());
    scene.haft(&["-p", "--hooks-config", "config.json", "go"]).expect(0);
    assert_eq!(scene.marks(), ["starts"]);
}
