//! Gates of both protocols get the arguments that run, and the places that their paths mean.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::running::Running;
use super::scene::Scene;

/// A gate of the extension protocol that marks what it is asked.
const EXTENSION: &str = r#"
emit("subscribe", intercept=[{"event": "tool_call", "tools": ["read", "edit"], "role": "gate"}])
emit("ready")
for frame in frames():
    if frame["type"] == "event_intercept":
        mark(json.dumps({"by": "ext", "args": frame["tool_args"], "paths": frame["resolved_paths"]}))
        answer(frame, block=False)
"#;

/// A gate of the process-hook protocol that marks what it is asked.
const HOOK: &str = r#"
import json, os, sys

for line in sys.stdin:
    request = json.loads(line)
    method, params = request["method"], request.get("params", {})
    if "id" not in request:
        continue
    if "tool" in params:
        asked = {"by": method, "args": params["arguments"], "paths": params["resolved_paths"]}
        with open(os.environ["MARKS"], "a") as marks:
            marks.write(json.dumps(asked) + "\n")
    result = {"approved": True} if method == "hook.approve_tool" else {"action": "continue"}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"#;

const CONFIG: &str = "[hooks.processes.gate]\nenabled = true\ncommand = ['python3', 'gate.py']\n\
                      intercept = ['before_tool', 'approve_tool']\nobserve = []\ntimeout_ms = 60000\n";

#[test]
fn gates_see_the_paths_and_names_that_the_tool_reads() {
    let calls = [
        ("read", json!({"path": "docs/file"})),
        ("read", json!({"path": "@BASE/other/file"})),
        ("read", json!({"path": "~/file"})),
        ("read", json!({"path": "./none", "file_path": "docs/file"})),
        ("edit", json!({"path": "@plain", "edits": [{"newText": "b", "oldText": "a"}]})),
    ];
    let base = tempfile::tempdir().unwrap();
    let base = base.path().canonicalize().unwrap();
    let place = base.display().to_string();
    let steps = calls.iter().map(|(name, args)| {
        let args: Value = serde_json::from_str(&args.to_string().replace("BASE", &place)).unwrap();
        json!({"say": [{"call": {"name": name, "args": args}}]})
    });
    let steps: Value = steps.chain([json!({"say": [{"text": "Done."}]})]).collect();
    let scene = Scene::scripted(&steps).python("watch", EXTENSION);
    for dir in ["other", "home"] {
        fs::create_dir(base.join(dir)).unwrap();
        fs::write(base.join(dir).join("file"), "text").unwrap();
    }
    let project = scene.world.project();
    fs::write(project.join("plain"), "a").unwrap();
    symlink(base.join("other"), project.join("docs")).unwrap();
    fs::write(project.join("gate.py"), HOOK).unwrap();
    fs::create_dir_all(scene.world.home()).unwrap();
    fs::write(scene.world.home().join("config.toml"), CONFIG).unwrap();
    scene.world.trust();
    let mut command = scene.command(&["-p", "--sandbox", "full", "go"]);
    command.env("HOME", base.join("home"));
    Running::start(command, None).wait().expect(0);

    let project = project.canonicalize().unwrap().display().to_string();
    let shown = |mark: &String| mark.replace(&place, "BASE").replace(&project, "PROJECT");
    let asked: Vec<Value> =
        scene.marks().iter().map(|mark| serde_json::from_str(&shown(mark)).unwrap()).collect();
    let path = |path: &str, exists: bool, link: bool| json!([{"argument": "path", "path": path, "exists": exists, "link": link}]);
    let edit = json!({"path": "plain", "edits": [{"old_text": "a", "new_text": "b"}]});
    let expect = [
        (json!({"path": "BASE/other/file"}), path("BASE/other/file", true, true)),
        (json!({"path": "BASE/other/file"}), path("BASE/other/file", true, false)),
        (json!({"path": "BASE/home/file"}), path("BASE/home/file", true, false)),
        (json!({"path": "none"}), path("PROJECT/none", false, false)),
        (edit, path("PROJECT/plain", true, false)),
    ];
    for by in ["ext", "hook.before_tool", "hook.approve_tool"] {
        let asked: Vec<_> = asked
            .iter()
            .filter(|asked| asked["by"] == by)
            .map(|asked| (asked["args"].clone(), asked["paths"].clone()))
            .collect();
        assert_eq!(asked, expect, "{by}");
    }
}
