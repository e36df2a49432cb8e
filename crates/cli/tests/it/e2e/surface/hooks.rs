//! Hooks: what each decision of an extension changes, in one run.

use haft_test_support::model_server::Scenario;
use serde_json::json;

use crate::e2e::requests::{offered, said, system};
use crate::e2e::rpc_client::Client;
use crate::e2e::scene::{Scene, bash};

/// Decides each hook of a run.
const DECIDES: &str = r#"
emit("subscribe", intercept=["input", "before_agent_start", "turn_start", "context", "message_end",
    "assistant_message", "tool_call", "tool_result", "before_settle", "before_compact"])
emit("ready")
for frame in frames():
    if frame["type"] != "event_intercept":
        continue
    hook = frame["event"]
    mark(hook)
    if hook == "input":
        answer(frame, text=frame["text"] + " Please.")
    elif hook == "before_agent_start":
        answer(frame, append_system_prompt="Be brief.")
    elif hook == "context":
        text = json.dumps(frame["messages"]).replace("SECRET", "[hidden]")
        answer(frame, messages=json.loads(text))
    elif hook == "message_end":
        answer(frame, content=json.loads(json.dumps(frame["content"]).replace("dun", "done")))
    elif hook == "assistant_message":
        answer(frame, replace_text=frame["text"].upper())
    elif hook == "tool_call":
        answer(frame, modified_args={"command": "echo KEY=abc"})
    elif hook == "tool_result":
        answer(frame, content=json.loads(json.dumps(frame["content"]).replace("abc", "xyz")))
    elif hook == "before_settle" and frame["continued"] == 0:
        answer(frame, go_on="Check it.")
    elif hook == "before_compact":
        answer(frame, summary="It is done.", first_kept=frame["first_kept"])
    else:
        answer(frame)
"#;

#[test]
fn each_decision_changes_its_part_of_a_run() {
    let answers = vec![bash("1", "env"), Scenario::text("It is dun."), Scenario::text("Checked.")];
    let scene = Scene::new(answers).python("hooked", DECIDES);
    let ran = scene.haft(&["-p", "Hide the SECRET."]);
    ran.expect(0);
    assert_eq!(ran.stdout, "CHECKED.\n");
    let requests = scene.server.requests();
    assert_eq!(said(&requests[0], "user"), ["Hide the [hidden]. Please."]);
    assert!(system(&requests[0]).contains("Be brief."), "{}", system(&requests[0]));
    assert!(said(&requests[1], "tool")[0].contains("KEY=xyz"), "{:?}", said(&requests[1], "tool"));
    assert_eq!(said(&requests[2], "user").last().unwrap(), "[from extension hooked]\nCheck it.");
    assert_eq!(said(&requests[2], "assistant").last().unwrap(), "It is done.");
    let step = ["turn_start", "context", "message_end", "assistant_message"];
    let expect = [
        &["input", "before_agent_start", "turn_start", "context", "message_end", "tool_call", "tool_result"]
            [..],
        &step,
        &["before_settle"],
        &step,
        &["before_settle"],
    ];
    assert_eq!(scene.marks(), expect.concat());
}

#[test]
fn summary_of_an_extension_is_used() {
    let answers = vec![Scenario::text("Rain. ".repeat(400)), Scenario::text("Snow.")];
    let scene = Scene::new(answers).python("hooked", DECIDES);
    let mut client = Client::of(&scene, &[]);
    client.done("hello", &json!({}));
    client.done("prompt", &json!({"message": "Look."}));
    client.event("done");
    client.done("compact", &json!({}));
    assert_eq!(client.event("compact_done")["summary"], "It is done.");
    client.end().expect(0);
}

/// Offers the tool `look` in each request, answers its calls, and sends other calls to `ls`.
const DESK: &str = r#"
emit("subscribe", intercept=["context", "message_end", "tool_call", "tool_result"])
emit("ready")
look = {"name": "look", "description": "Looks.", "schema": {"type": "object"}}
for frame in frames():
    if frame["type"] != "event_intercept":
        continue
    hook = frame["event"]
    if hook == "context":
        names = [tool["name"] for tool in frame["tools"]]
        mark(f"{frame['step']} {frame['provider']} {frame['model']} {'bash' in names} {frame['system'] != ''}")
        answer(frame, model="small", options={"max_tokens": 77}, tools=[look])
    elif hook == "message_end":
        mark(f"{frame['model']} {frame['usage']['output'] > 0}")
        answer(frame)
    elif hook == "tool_call" and frame["tool_name"] == "look":
        answer(frame, content=[{"type": "text", "text": "fog"}], display="There is fog.")
    elif hook == "tool_call" and frame["tool_name"] == "bash":
        answer(frame, modified_tool="ls", modified_args={"path": "."})
    elif hook == "tool_result":
        mark(f"{frame['tool_name']} {frame.get('display')} {frame['duration_ms'] >= 0}")
        answer(frame, display=frame["tool_name"] + " is done.")
    else:
        answer(frame)
"#;

#[test]
fn request_goes_to_another_model_with_another_tool() {
    let look = Scenario::new().tool("1", "look", "{}").tool("2", "bash", r#"{"command":"ls"}"#);
    let scene = Scene::new(vec![look, Scenario::text("Done.")]);
    let scene = scene.python_with("desk", &json!({"capabilities": ["hooks_2"]}), DESK);
    let ran = scene.haft(&["--json", "Look."]);
    ran.expect(0);
    let requests = scene.server.requests();
    assert_eq!(requests[0].body["model"], "small");
    assert!(offered(&requests[0]).contains(&"look".to_owned()), "{:?}", offered(&requests[0]));
    let results = said(&requests[1], "tool");
    assert_eq!(results[0], "fog");
    assert!(results[1].contains("desk/"), "{results:?}");
    for shown in ["There is fog.", "ls is done."] {
        assert!(ran.stdout.contains(&format!(r#""text":"{shown}""#)), "{shown} {}", ran.stdout);
    }
    let expect = [
        "1 openai-chat m True True",
        "small True",
        "ls None True",
        "2 openai-chat m True True",
        "small True",
    ];
    assert_eq!(scene.marks(), expect);
}

/// Rewrites calls, and then denies those that a person would not approve.
const APPROVES: &str = r#"
emit("subscribe", intercept=["tool_call", "approve"])
emit("ready")
for frame in frames():
    if frame["type"] != "event_intercept":
        continue
    command = frame["tool_args"]["command"]
    if frame["event"] == "tool_call":
        answer(frame, modified_args={"command": command.replace("please ", "")})
    elif command.startswith("rm"):
        answer(frame, block=True, reason="nothing is removed")
    else:
        mark("approved " + command)
        answer(frame, block=False)
"#;

#[test]
fn approver_decides_about_the_call_that_runs() {
    let answers =
        vec![bash("1", "please echo sun"), bash("2", "please rm -r build"), Scenario::text("Done.")];
    let scene = Scene::new(answers).python("desk", APPROVES);
    scene.haft(&["-p", "Clean up."]).expect(0);
    let results = said(&scene.server.requests()[2], "tool");
    assert!(results[0].contains("sun"), "{results:?}");
    assert_eq!(results[1], "nothing is removed");
    assert_eq!(scene.marks(), ["approved echo sun"]);
}

/// Marks the events that haft waits for.
const WAITS: &str = r#"
waits = ["session_start", "session_shutdown", "agent_start", "agent_end", "turn_end", "message_start", "tool_end"]
emit("subscribe", intercept=[{"event": event, "role": "wait"} for event in waits])
emit("ready")
for frame in frames():
    if frame["type"] == "event_intercept":
        mark(" ".join([frame["event"], *(frame[key] for key in ("role", "tool_name", "reason") if key in frame)]))
        answer(frame)
"#;

#[test]
fn run_waits_for_each_event() {
    let scene = Scene::new(vec![bash("1", "env"), Scenario::text("Done.")]);
    let scene = scene.python_with("waits", &json!({"capabilities": ["events_2"]}), WAITS);
    scene.haft(&["-p", "Look."]).expect(0);
    let expect = [
        "session_start startup",
        "agent_start",
        "message_start user",
        "message_start assistant",
        "tool_end bash",
        "turn_end",
        "message_start assistant",
        "turn_end",
        "agent_end",
        "session_shutdown quit",
    ];
    assert_eq!(scene.marks(), expect);
}
