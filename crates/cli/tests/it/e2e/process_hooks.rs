//! Configured process hooks: programs that speak only PicoClaw's protocol.

use std::fs;

use haft_test_support::model_server::Scenario;
use serde_json::{Value, json};

use super::requests::said;
use super::running::Running;
use super::scene::{Scene, bash_args};

/// A gate for PicoClaw, without any code of haft. It marks its requests.
const GATE: &str = r#"
import json, os, sys

for line in sys.stdin:
    request = json.loads(line)
    method, params = request["method"], request.get("params", {})
    with open(os.environ["MARKS"], "a") as marks:
        marks.write(" ".join([method, params.get("tool", ""), params.get("kind", "")]).strip() + "\n")
    if "id" not in request:
        continue
    result = {"ok": True}
    if method == "hook.before_tool":
        command = params.get("arguments", {}).get("command", "")
        if params["tool"] == "exec" and "rm -rf" in command:
            result = {"action": "deny_tool", "reason": "not here"}
        elif params["tool"] == "exec":
            changed = dict(params, arguments={"command": command + " " + os.environ.get("SUFFIX", "")})
            result = {"action": "modify", "call": changed}
        else:
            result = {"action": "continue"}
    elif method == "hook.approve_tool":
        result = {"approved": params["arguments"].get("command", "") != "echo secret plain"}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"#;

/// The settings of the gate in the user's `config.toml`.
const HOOK: &str = "[hooks.processes.gate]\nenabled = true\ncommand = ['python3', 'gate.py']\n\
                    intercept = ['before_tool', 'approve_tool']\nobserve = ['tool_exec_end']\n\
                    env = { SUFFIX = 'plain' }\ntool_names = 'picoclaw'\n\
                    timeout_ms = 60000\n";

/// A model that makes this call and then ends.
fn scene(commands: &[&str]) -> Scene {
    let calls = commands.iter().enumerate();
    let step = calls.fold(Scenario::text("I try."), |step, (at, command)| {
        step.tool(&format!("t{at}"), "bash", &bash_args(command))
    });
    let scene = Scene::new(vec![step, Scenario::text("Done.")]);
    fs::write(scene.world.project().join("gate.py"), GATE).unwrap();
    scene
}

/// Writes the user's file, and trusts the files of the project that the hook runs.
fn config(scene: &Scene, text: &str) {
    fs::create_dir_all(scene.world.home()).unwrap();
    fs::write(scene.world.home().join("config.toml"), text).unwrap();
    scene.world.trust();
}

/// Returns the same configuration as a file of PicoClaw.
fn picoclaw(scene: &Scene, name: &str) {
    let hook = json!({"enabled": true, "command": ["python3", "gate.py"], "env": {"SUFFIX": "plain"},
        "observe": ["tool_exec_end"], "intercept": ["before_tool", "approve_tool"]});
    let file = json!({"agents": {}, "hooks": {"processes": {name: hook}}});
    fs::write(scene.world.project().join("config.json"), file.to_string()).unwrap();
}

const TRIES: &[&str] = &["rm -rf build", "echo hello", "echo secret"];

/// The lines about the refused commands on standard error.
const REFUSED: &str = "\
haft: refused by gate: bash {\"command\":\"rm -rf build\"}: Tool execution denied by hook: not here
haft: refused by gate: bash {\"command\":\"echo secret\"}: Tool execution denied by approval hook
";

#[track_caller]
fn guarded(scene: &Scene) {
    let results = said(&scene.server.requests()[1], "tool");
    assert!(results[0].starts_with("Tool execution denied by hook: not here"), "{results:?}");
    assert!(results[1].contains("hello plain"), "{results:?}");
    assert!(results[2].starts_with("Tool execution denied by approval hook"), "{results:?}");
    let marks = scene.marks();
    // The result of a call is observed while another call is being decided.
    let (after, before): (Vec<&str>, Vec<&str>) = marks
        .iter()
        .map(String::as_str)
        .filter(|mark| !mark.contains("event"))
        .partition(|mark| mark.contains("after"));
    let call = ["hook.before_tool exec", "hook.approve_tool exec"];
    assert_eq!(before, [&["hook.hello", call[0]], &call[..], &call[..]].concat());
    assert_eq!(after, ["hook.after_tool exec"]);
}

#[test]
fn configured_hook_gates_by_picoclaw_tool_names() {
    let scene = scene(TRIES);
    config(&scene, HOOK);
    let ran = scene.haft(&["-p", "go"]);
    ran.expect(0);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("Done.\n", REFUSED));
    guarded(&scene);
    assert!(scene.marks().iter().any(|mark| mark.ends_with("agent.tool.exec_end")), "{:?}", scene.marks());
}

#[test]
fn hooks_config_flag_runs_picoclaw_file() {
    let scene = scene(TRIES);
    picoclaw(&scene, "gate");
    let ran = scene.haft(&["-p", "--hooks-config", "config.json", "--no-ext", "go"]);
    ran.expect(0);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("Done.\n", REFUSED));
    assert_eq!(ran.banners, "haft: running the hook gate (not sandboxed, not approved): python3 gate.py\n");
    guarded(&scene);
}

#[test]
fn imported_hook_behaves_like_original() {
    let scene = scene(TRIES);
    picoclaw(&scene, "gate");
    assert_eq!(scene.world.haft(&["ext", "import", "picoclaw", "config.json", "--yes"]).code, 0);
    scene.world.trust();
    scene.haft(&["-p", "go"]).expect(0);
    guarded(&scene);
}

#[test]
fn no_ext_disables_configured_hooks() {
    let scene = scene(&["echo hello"]);
    config(&scene, HOOK);
    scene.haft(&["-p", "--no-ext", "go"]).expect(0);
    assert_eq!(scene.marks(), [""; 0]);
}

/// Returns the error of a run that ends with this code and asks no model.
#[track_caller]
fn check_refused(scene: &Scene, args: &[&str], code: i32, told: &str) {
    let ran = scene.haft(args);
    ran.expect(code);
    assert!(ran.stderr.contains(told), "{}", ran.stderr);
    assert_eq!(scene.server.requests().len(), 0);
}

#[test]
fn invalid_hook_ends_run() {
    let scene = scene(&["echo hello"]);
    let args = &["-p", "go"];
    config(&scene, &HOOK.replace("before_tool", "before_tools"));
    let told = "config.toml:4: `hooks.processes.gate.intercept`: unsupported intercept \"before_tools\"; did you mean";
    check_refused(&scene, args, 9, told);
    let scene = scene.python("gate", "emit('ready')\nfor frame in frames(): pass\n");
    config(&scene, HOOK);
    check_refused(&scene, args, 9, "config.toml:1: the hook gate has the same name as the extension in ");
    let told = "nowhere.json";
    check_refused(&scene, &["-p", "--hooks-config", "nowhere.json", "go"], 9, told);
}

#[test]
fn hooks_config_cannot_replace_configured_hook() {
    let scene = scene(&["echo hello"]);
    config(&scene, HOOK);
    picoclaw(&scene, "Gate");
    let args = &["-p", "--hooks-config", "config.json", "go"];
    let told = "config.json: the hook Gate has the same name as a hook of ";
    check_refused(&scene, args, 9, told);
}

#[test]
fn hooks_config_that_enables_nothing_is_refused() {
    let scene = scene(&["echo hello"]);
    let file = scene.world.project().join("settings.json");
    let args = &["-p", "--hooks-config", "settings.json", "go"];
    fs::write(&file, r#"{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": []}]}}"#).unwrap();
    check_refused(&scene, args, 9, "settings.json: unknown key `hooks.PreToolUse` is ignored");
    check_refused(&scene, args, 9, "settings.json enables no process hook; set \"enabled\": true");
    fs::write(&file, r#"{"hooks": {"proceses": {"gate": {"enabled": true}}}}"#).unwrap();
    check_refused(&scene, args, 9, "`hooks.proceses`: unknown key; did you mean `processes`?");
}

#[test]
fn gate_that_cannot_start_blocks() {
    let scene = scene(&["touch touched"]);
    config(&scene, &HOOK.replace("'python3'", "'no-such-program'"));
    let ran = scene.haft(&["-p", "go"]);
    assert!(ran.stderr.contains("no-such-program"), "{}", ran.stderr);
    assert!(!scene.world.project().join("touched").exists());
}

#[test]
fn hook_of_trusted_project_runs_beside_user_hook() {
    let scene = Scene::new(vec![Scenario::text("One."), Scenario::text("Two.")]);
    fs::write(scene.world.project().join("gate.py"), GATE).unwrap();
    let dir = scene.world.project().join(".haft");
    fs::create_dir_all(&dir).unwrap();
    let more =
        "[hooks.processes.more]\nenabled = true\ncommand = ['python3', 'gate.py']\nobserve = ['turn_end']\n";
    let theirs = format!("{more}[hooks.processes.gate]\nenabled = false\n");
    fs::write(dir.join("config.toml"), theirs).unwrap();
    let own = scene.world.home().join("gate.py");
    fs::create_dir_all(scene.world.home()).unwrap();
    fs::write(&own, GATE).unwrap();
    let hook = HOOK.replace("'gate.py'", &json!(own).to_string());
    fs::write(scene.world.home().join("config.toml"), hook).unwrap();
    let untrusted = scene.haft(&["-p", "go"]);
    untrusted.expect(0);
    assert!(untrusted.stderr.contains(".haft/config.toml (sets hooks)"), "{}", untrusted.stderr);
    assert_eq!(hellos(&scene), 1);
    let trusted = scene.haft(&["-p", "--trust-project", "go"]);
    assert!(trusted.stderr.contains("which a project cannot change; ignored: gate"), "{}", trusted.stderr);
    assert_eq!(hellos(&scene), 3);
}

fn hellos(scene: &Scene) -> usize {
    scene.marks().iter().filter(|mark| *mark == "hook.hello").count()
}

#[test]
fn lists_hook_with_state() {
    let scene = scene(&[]);
    config(
        &scene,
        &format!("{HOOK}[hooks.processes.off]\ncommand = ['x']\n[grant.gate]\nsandbox = 'standard'\n"),
    );
    let world = &scene.world;
    insta::assert_snapshot!(world.haft(&["ext", "list"]).transcript(), @"
    code 0
    --- stdout
    NAME  VERSION  SCOPE   STATE     SANDBOX   FROM
    gate  (hook)   global  enabled   standard  ROOT/home/config.toml:1
    off   (hook)   global  disabled  -         ROOT/home/config.toml:9
    ");
    insta::assert_snapshot!(world.haft(&["ext", "list", "--long"]).stdout, @"
    gate
      scope: global
      state: enabled
      sandbox: standard
      process hook of: ROOT/home/config.toml:1
      hook points: before_tool, approve_tool, events
      priority: 0 (lowest first)
      runs: python3 gate.py

    off
      scope: global
      state: disabled
      sandbox: no program
      process hook of: ROOT/home/config.toml:9
    ");
    let listed = world.haft(&["ext", "list", "--json"]).stdout;
    let first: Value = serde_json::from_str(listed.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&first["kind"], &first["name"], &first["state"]),
        (&json!("hook"), &json!("gate"), &json!("enabled"))
    );
    assert_eq!(first["source"]["line"], 1);
    let doctor = world.haft(&["doctor"]).stdout;
    assert!(doctor.contains("your process hook, sandbox standard"), "{doctor}");
    let switched = world.haft(&["ext", "disable", "gate"]);
    assert!(switched.code == 8 && switched.stderr.contains("config.toml:1"), "{switched:?}");
}

#[test]
fn logs_hook_output_and_lists_failure() {
    let scene = scene(&["echo hello"]);
    fs::write(scene.world.project().join("gate.py"), "import sys\nsys.exit('no such policy')\n").unwrap();
    config(&scene, HOOK);
    let ran = scene.haft(&["-p", "go"]);
    assert!(ran.stderr.contains("no such policy"), "{}", ran.stderr);
    let logs = scene.world.haft(&["ext", "logs", "gate"]);
    assert!(logs.code == 0 && logs.stdout.contains("no such policy"), "{logs:?}");
    let listed = scene.world.haft(&["ext", "list"]);
    assert!(
        listed.stderr.contains("gate: failed ") && listed.stderr.contains("no such policy"),
        "{listed:?}"
    );
}

/// Logs its variables, and refuses every call.
const PRYING: &str = r#"
import json, os, sys

print("variables:", *[name for name in ("WEATHER_TOKEN", "GRANTED", "OWN") if name in os.environ], file=sys.stderr, flush=True)
for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        result = {"approved": False} if request["method"] == "hook.approve_tool" else {}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"#;

#[track_caller]
fn check_environment(grant: &str, expect: &str) {
    let scene = scene(&["echo hello"]);
    fs::write(scene.world.project().join("gate.py"), PRYING).unwrap();
    config(&scene, &format!("{}{grant}", HOOK.replace("SUFFIX", "OWN")));
    let mut command = scene.command(&["-p", "go"]);
    command.env("WEATHER_TOKEN", "t").env("GRANTED", "g");
    Running::start(command, None).wait().expect(0);
    assert!(said(&scene.server.requests()[1], "tool")[0].contains("denied by approval hook"));
    let log = scene.log_of("gate");
    assert!(log.contains(&format!("variables: {expect}\n")), "{log}");
}

#[test]
fn hook_receives_complete_environment() {
    check_environment("", "WEATHER_TOKEN GRANTED OWN");
}

#[test]
#[cfg(target_os = "linux")]
fn sandboxed_hook_receives_environment_of_extensions() {
    if super::confined::has_standard() {
        check_environment("[grant.gate]\nsandbox = 'standard'\nenv = ['GRANTED']\n", "GRANTED OWN");
    }
}
