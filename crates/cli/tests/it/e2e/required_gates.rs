//! Required gates: a lost gate ends the run, and tools can neither change a gate nor switch it off.

use std::fs;

use serde_json::{Value, json};

use super::scene::Scene;

/// A gate that allows every call.
const ALLOWS: &str = r#"
emit("subscribe", intercept=[{"event": "tool_call", "role": "gate"}])
emit("ready")
for frame in frames():
    if frame["type"] == "event_intercept":
        answer(frame, block=False)
"#;

fn says_done() -> Value {
    json!([{"say": [{"text": "Done."}]}])
}

#[test]
fn lost_gate_of_config_ends_run_until_user_disables_it() {
    let scene = Scene::scripted(&says_done());
    scene.named_python("guard", &json!({}), ALLOWS);
    scene.haft(&["-p", "go"]).expect(0);
    let config = scene.world.home().join("config.toml");
    fs::write(&config, "").unwrap();
    let ran = scene.haft(&["-p", "go"]);
    ran.expect(3);
    assert!(ran.stdout.is_empty() && ran.stderr.contains("`haft ext disable guard`"), "{}", ran.stderr);
    let doctor = scene.world.haft(&["doctor"]);
    assert!(doctor.code == 13 && doctor.stdout.contains("WRONG  guard: was required"), "{}", doctor.stdout);
    // The user's flag starts no extension of the user's own.
    scene.haft(&["-p", "go", "--no-ext"]).expect(0);
    let disabled = scene.world.haft(&["ext", "disable", "guard"]);
    assert_eq!((disabled.code, disabled.stderr.contains("no longer required")), (0, true), "{disabled:?}");
    scene.haft(&["-p", "go"]).expect(0);
}

#[test]
fn renamed_gate_ends_run() {
    let scene = Scene::scripted(&says_done());
    scene.named_python("guard", &json!({}), ALLOWS);
    scene.haft(&["-p", "go"]).expect(0);
    let manifest = scene.world.home().join("more/guard/extension.json");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replace("\"guard\"", "\"other\"")).unwrap();
    let ran = scene.haft(&["-p", "go"]);
    ran.expect(3);
    assert!(ran.stderr.contains("guard: was required, and is now missing"), "{}", ran.stderr);
}

#[test]
fn damaged_record_ends_run() {
    let scene = Scene::scripted(&says_done());
    scene.named_python("guard", &json!({}), ALLOWS);
    scene.haft(&["-p", "go"]).expect(0);
    fs::write(scene.world.home().join("required.json"), "{").unwrap();
    let ran = scene.haft(&["-p", "go"]);
    ran.expect(3);
    assert!(ran.stderr.contains("required.json"), "{}", ran.stderr);
}

#[test]
fn unwritable_record_ends_run() {
    let scene = Scene::scripted(&says_done());
    scene.named_python("guard", &json!({}), ALLOWS);
    // A record is written only by the holder of this file's lock.
    fs::create_dir(scene.world.home().join("extensions.lock")).unwrap();
    let ran = scene.haft(&["-p", "go"]);
    ran.expect(3);
    assert!(ran.stderr.contains("cannot record the required extensions"), "{}", ran.stderr);
    assert!(!scene.world.home().join("required.json").exists());
}

/// A gate of `--ext` may lie in the workspace, which tools can otherwise write.
#[test]
fn tools_do_not_change_gate_in_workspace() {
    let call = |name: &str, args: Value| json!({"say": [{"call": {"name": name, "args": args}}]});
    let write = call("write", json!({"path": "guard/json.py", "content": ""}));
    let touch = call("bash", json!({"command": "touch guard/json.py; touch ran"}));
    let scene = Scene::scripted(&json!([write, touch, {"say": [{"text": "Done."}]}])).python("guard", ALLOWS);
    let manifest = scene.world.project().join("guard/extension.json");
    let mut fields: Value = serde_json::from_str(&fs::read_to_string(&manifest).unwrap()).unwrap();
    fields["required"] = true.into();
    fs::write(&manifest, fields.to_string()).unwrap();
    let ran = scene.haft(&["-p", "go"]);
    ran.expect(0);
    assert!(!scene.world.project().join("guard/json.py").exists(), "{}", ran.stderr);
}

#[test]
fn tools_do_not_run_commands_of_the_user() {
    let haft = env!("CARGO_BIN_EXE_haft");
    let commands = [
        "ext disable guard",
        "ext enable guard",
        "ext remove -y guard",
        "ext install -y .",
        "ext trust -y guard",
        "ext update -y",
        "ext rollback -y guard",
        "ext import picoclaw x.json -y",
        "ext import zot -y",
        "trust --digest 0000000000000000000000000000000000000000000000000000000000000000",
        "trust --revoke",
        "login openai",
        "logout openai",
    ];
    // Without the variable, the process tree tells.
    let ways = if cfg!(target_os = "linux") { "env 'env -u HAFT_TOOL'" } else { "env" };
    let lines =
        commands.map(|command| format!("$way {haft} {command} >out 2>&1; echo $? >>codes; cat out >>all"));
    let script =
        format!("for way in {ways}; do\n{}\ndone\n{haft} ext list; echo $? >listed", lines.join("\n"));
    let call = json!({"say": [{"call": {"name": "bash", "args": {"command": script}}}]});
    let scene = Scene::scripted(&json!([call, {"say": [{"text": "Done."}]}]));
    scene.required_home_python("guard", ALLOWS);
    let before = fs::read(scene.world.home().join("extensions.lock.json")).unwrap();
    scene.haft(&["-p", "go", "--sandbox", "full"]).expect(0);
    let read = |name: &str| fs::read_to_string(scene.world.project().join(name)).unwrap();
    let codes = read("codes");
    let ways = if cfg!(target_os = "linux") { 2 } else { 1 };
    assert_eq!(codes.lines().collect::<Vec<_>>(), vec!["14"; ways * commands.len()], "{}", read("all"));
    assert!(read("all").contains("only a person may run this command"), "{}", read("all"));
    assert_eq!(read("listed"), "0\n", "reading is allowed");
    assert_eq!(fs::read(scene.world.home().join("extensions.lock.json")).unwrap(), before);
}
