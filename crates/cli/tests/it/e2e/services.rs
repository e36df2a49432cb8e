//! Services of the host that an extension uses, in the real program.

use haft_test_support::model_server::Scenario;
use serde_json::{Value, json};

use super::requests::said;
use super::scene::Scene;

/// Uses several services when its tool is called. KEY, a file of haft, precedes the code.
const HELPER: &str = r#"
stream = frames()

def asked(call, **args):
    emit("host_call", id="c", call=call, args=args)
    for frame in stream:
        if frame["type"] == "host_result":
            return frame.get("code", "done")

tool("work")
emit("ready")
for frame in stream:
    if frame["type"] == "tool_call":
        result(frame, json.dumps([
            asked("write", path="sub/made", content="x"),
            asked("exec", command="echo DENIED > refused"),
            asked("exec", command="touch ran"),
            asked("edit", path="mine", edits=[{"old_text": "a", "new_text": "b"}]),
            asked("read", path="mine"),
            asked("edit", path="mine", edits=[{"old_text": "a", "new_text": "b"}]),
            asked("read", path=KEY),
        ]))
"#;

const GUARD: &str = r#"
emit("subscribe", intercept=["tool_call"])
emit("ready")
for frame in frames():
    if frame["type"] == "event_intercept":
        block = "DENIED" in json.dumps(frame["tool_args"])
        emit("event_intercept_response", id=frame["id"], block=block, reason="no")
"#;

#[test]
fn gates_check_and_events_report_host_calls() {
    let scene = Scene::new(vec![Scenario::new().tool("t1", "work", "{}"), Scenario::text("Fine.")]);
    let (key, project) = (scene.world.home().join("auth.json"), scene.world.project());
    let helper = format!("KEY = {}\n{HELPER}", json!(key));
    let scene = scene.python("helper", &helper).python("guard", GUARD);
    std::fs::create_dir_all(scene.world.home()).unwrap();
    std::fs::write(&key, "{}").unwrap();
    std::fs::write(project.join("mine"), "a").unwrap();
    let ran = scene.haft(&["--json", "go"]);
    ran.expect(0);
    let codes: Value = serde_json::from_str(&said(&scene.server.requests()[1], "tool")[0]).unwrap();
    let expect = ["done", "blocked", "done", "not_read", "done", "done", "permission_denied"];
    assert_eq!(codes, json!(expect));
    assert_eq!(std::fs::read_to_string(project.join("mine")).unwrap(), "b");
    let made = ["sub/made", "ran", "refused"].map(|name| project.join(name).exists());
    assert_eq!(made, [true, true, false]);
    let told = |kind: &str| -> Vec<String> {
        let events = ran.of(kind).into_iter();
        events.map(|event| format!("{} {}", event["extension"], event["name"]).replace('"', "")).collect()
    };
    let names =
        ["write", "bash", "bash", "edit", "read", "edit", "read"].map(|name| format!("helper {name}"));
    assert_eq!((told("host_call_start"), told("host_call_end")), (names.to_vec(), names.to_vec()));
    assert_eq!(ran.of("tool_blocked")[0]["by"], "guard");
    // The extension made the call, not the model.
    assert_eq!((ran.of("tool_call").len(), ran.of("tool_result").len()), (1, 1));
    assert_eq!(ran.faults(), [("helper".to_owned(), "permission_denied".to_owned())]);
    let log = scene.log_of("helper");
    assert!(log.contains("host_call exec: blocked"), "{log}");
}

/// Two sandboxed extensions that can open no file: the output of a command belongs to the extension that started it.
#[cfg(target_os = "linux")]
#[test]
fn only_caller_reads_long_output() {
    use super::confined::has_standard;

    const BOTH: &str = r#"
stream = frames()

def asked(call, **args):
    emit("host_call", id="c", call=call, args=args)
    for frame in stream:
        if frame["type"] == "host_result":
            return frame

def text(call, **args):
    frame = asked(call, **args)
    return frame.get("code", frame["content"][0]["text"])

def by_itself(path):
    try:
        return open(path).read(1)
    except OSError:
        return "refused"

tool(NAME)
emit("ready")
for frame in stream:
    if frame["type"] == "tool_call":
        if NAME == "maker":
            path = asked("exec", command="seq 9000")["details"]["full_output"]
            asked("write", path="where", content=path)
        path = text("read", path="where")
        result(frame, json.dumps([
            text("read", path=path, offset=9000), text("read", path=path, limit=1), by_itself(path),
        ]))
"#;
    if !has_standard() {
        return;
    }
    let call = |name| Scenario::new().tool(name, name, "{}");
    let scene = Scene::new(vec![call("maker"), call("other"), Scenario::text("Fine.")]);
    for name in ["other", "maker"] {
        let permissions = json!({"tools": {"register": [name]}, "host": ["fs.read", "fs.write", "exec"]});
        let more = json!({"permissions": permissions, "required": false});
        scene.named_python(name, &more, BOTH);
        let config = format!("extensions = [{}]", json!(scene.world.home().join("more")));
        std::fs::write(scene.world.home().join("config.toml"), config).unwrap();
    }
    let ran = scene.haft(&["--json", "--tools", "maker,other", "go"]);
    ran.expect(0);
    let results = said(&scene.server.requests()[2], "tool");
    let [maker, other] = &results[..] else { panic!("{results:?}") };
    let told = |text: &str| -> Value { serde_json::from_str(text).unwrap() };
    assert_eq!(told(maker), json!(["9000\n", "1\n", "refused"]));
    assert_eq!(told(other), json!(["permission_denied", "permission_denied", "refused"]));
}

/// Finds text with a tool of the agent, and has the model name it.
const NAMER: &str = r#"
stream = frames()

def ask(call, **args):
    emit("host_call", id="c", call=call, args=args)
    pieces = ""
    for frame in stream:
        if frame["type"] == "progress":
            pieces += frame["value"]["text"]
        elif frame["type"] == "host_result":
            return frame, pieces

emit("register_command", name="name", description="Names the work.")
emit("ready")
for frame in stream:
    if frame["type"] == "command_invoked":
        found, _ = ask("call_tool", name="grep", args={"pattern": "kne[a]d"})
        mark(found["content"][0]["text"].strip())
        question = [{"role": "user", "content": found["content"][0]["text"]}]
        named, pieces = ask("complete", system="Name this.", messages=question)
        mark(f"{named['value']['text']} {pieces == named['value']['text']}")
        emit("command_response", id=frame["id"], action="display", display=named["value"]["text"])
"#;

#[test]
fn extension_uses_tools_and_models_of_the_agent() {
    let scene = Scene::new(vec![Scenario::text("Bake bread")]);
    std::fs::write(scene.world.project().join("plan.txt"), "TODO knead\n").unwrap();
    let scene = scene.python_with("namer", &json!({"capabilities": ["progress"]}), NAMER);
    scene.haft(&["-p", "/name"]).expect(0);
    assert_eq!(scene.marks(), ["plan.txt:1:TODO knead", "Bake bread True"]);
    let request = &scene.server.requests()[0];
    assert_eq!(said(request, "system"), ["Name this."]);
    assert!(request.body.get("tools").is_none(), "{}", request.body);
}
