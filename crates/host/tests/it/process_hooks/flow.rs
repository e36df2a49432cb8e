//! The document's complete flow and its tool injection, with real processes that do not know this host.

use std::fs;
use std::path::Path;

use haft_packages::{ExtensionSpec, HookCommand, HookSpec};
use haft_protocol::ids::ExtensionName;
use haft_protocol::message::Message;
use serde_json::{Value, json};

use super::agency::{Script, Stage, calls, run, said};
use super::hook;
use super::processes::{host, patient};
use crate::support::{Events, program};

const FLOW: &str = include_str!("../../../../adapters/picoclaw/fixtures/compat/flow.jsonl");

/// Continues for every query, and records every line of both sides.
const RECORDER: &str = r#"
import json, sys

with open("flow.jsonl", "a") as log:
    def note(line):
        log.write(line.strip() + "\n")
        log.flush()

    for line in sys.stdin:
        note(line)
        request = json.loads(line)
        result = {"action": "continue"}
        if request["method"] == "hook.hello":
            result = {"ok": True, "name": request["params"]["name"]}
        elif request["method"] == "hook.approve_tool":
            result = {"approved": True}
        reply = json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}, separators=(",", ":"))
        note(reply)
        print(reply, flush=True)
"#;

/// Returns a hook that runs a Python script in its directory.
pub(super) fn python(name: &str, hook: HookSpec, script: &str, dir: &Path) -> ExtensionSpec {
    fs::write(dir.join("hook.py"), script).unwrap();
    let python = program(&["python3", "python"]).display().to_string();
    let command = HookCommand { command: vec![python, "hook.py".to_owned()], dir: Some(dir.to_owned()) };
    patient(ExtensionSpec::from_hook(ExtensionName::new(name), hook, &command, Path::new("/")))
}

pub(super) fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the lines of a turn whose model calls `bash` with `ls`, as a hook recorded them.
async fn recorded() -> Vec<Value> {
    let dir = tempfile::tempdir().unwrap();
    let events = Events::default();
    let points = &["before_llm", "before_tool", "approve_tool"];
    let host = host(vec![python("my_hook", hook(points, &[]), RECORDER, dir.path())], &events).await;
    let says = vec![calls("bash", json!({"command": "ls"})), vec![said("Files listed")]];
    let stage = Stage::of(Script::new("claude-sonnet", says));
    let ran = stage.prompt(&stage.agent(&host).build().unwrap(), "hello").await;
    host.shutdown().await;
    assert_eq!((ran.executions, ran.answer().as_str(), events.faults()), (1, "Files listed", vec![]));
    lines(&fs::read_to_string(dir.path().join("flow.jsonl")).unwrap())
}

/// Returns the value without parts that vary between runs or are the same in every line.
fn redacted(value: &Value) -> Value {
    const ELSEWHERE: [&str; 3] = ["context", "created_at", "duration"];
    match value {
        Value::Object(fields) if fields.get("role") == Some(&"system".into()) => json!("<system>"),
        Value::Object(fields) => {
            let field = |(key, value): (&String, &Value)| {
                let value = match key.as_str() {
                    "meta" => json!([value["TracePath"], value["Iteration"]]),
                    name if ELSEWHERE.contains(&name) => json!(format!("<{name}>")),
                    _ => redacted(value),
                };
                (key.clone(), value)
            };
            fields.iter().map(field).collect()
        }
        Value::Array(values) => values.iter().map(redacted).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// Returns the called methods, one line each.
fn called(lines: &[Value]) -> Vec<(u64, &str)> {
    lines.iter().filter_map(|line| Some((line["id"].as_u64()?, line["method"].as_str()?))).collect()
}

#[tokio::test]
async fn follows_complete_flow_of_document() {
    let recorded = recorded().await;
    // The document shows one call of the model, and `after_llm` behind the tool call. In PicoClaw, and here,
    // each call of the model has both, so the answer after a tool's result has its own query.
    let real = [
        (1, "hook.hello"),
        (2, "hook.before_llm"),
        (3, "hook.after_llm"),
        (4, "hook.before_tool"),
        (5, "hook.approve_tool"),
        (6, "hook.after_tool"),
        (7, "hook.before_llm"),
        (8, "hook.after_llm"),
    ];
    assert_eq!(called(&recorded), real);
    let document = lines(FLOW);
    let mut order = called(&document).into_iter().map(|(_, method)| method);
    let mut next = order.next();
    for (_, method) in real {
        if Some(method) == next {
            next = order.next();
        }
    }
    assert_eq!(next, None, "the calls of the document arrive in order");
    // Each call is answered before the next one.
    let ids: Vec<u64> = recorded.iter().map(|line| line["id"].as_u64().unwrap()).collect();
    assert_eq!(ids, (1..=8).flat_map(|id| [id, id]).collect::<Vec<_>>());
    let text: Vec<String> = recorded.iter().map(|line| redacted(line).to_string()).collect();
    insta::assert_snapshot!(text.join("\n"), @r#"
    {"jsonrpc":"2.0","id":1,"method":"hook.hello","params":{"name":"my_hook","version":1,"modes":["llm","tool","approve"]}}
    {"jsonrpc":"2.0","id":1,"result":{"ok":true,"name":"my_hook"}}
    {"jsonrpc":"2.0","id":2,"method":"hook.before_llm","params":{"meta":["turn.llm.request",1],"context":"<context>","model":"claude-sonnet","messages":["<system>",{"role":"user","content":"hello","created_at":"<created_at>"}],"tools":[{"type":"function","function":{"name":"bash","description":"Runs a command.","parameters":{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}}}],"options":{},"graceful_terminal":false,"channel":"cli","chat_id":"direct"}}
    {"jsonrpc":"2.0","id":2,"result":{"action":"continue"}}
    {"jsonrpc":"2.0","id":3,"method":"hook.after_llm","params":{"meta":["turn.llm.response",1],"context":"<context>","model":"claude-sonnet","response":{"role":"assistant","content":"","tool_calls":[{"id":"t1","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}}],"finish_reason":"tool_calls","usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0},"reasoning":"","reasoning_details":null},"channel":"cli","chat_id":"direct"}}
    {"jsonrpc":"2.0","id":3,"result":{"action":"continue"}}
    {"jsonrpc":"2.0","id":4,"method":"hook.before_tool","params":{"meta":["turn.tool.before",1],"context":"<context>","tool":"bash","arguments":{"command":"ls"},"channel":"cli","chat_id":"direct"}}
    {"jsonrpc":"2.0","id":4,"result":{"action":"continue"}}
    {"jsonrpc":"2.0","id":5,"method":"hook.approve_tool","params":{"meta":["turn.tool.approve",1],"context":"<context>","tool":"bash","arguments":{"command":"ls"},"channel":"cli","chat_id":"direct"}}
    {"jsonrpc":"2.0","id":5,"result":{"approved":true}}
    {"jsonrpc":"2.0","id":6,"method":"hook.after_tool","params":{"meta":["turn.tool.after",1],"context":"<context>","tool":"bash","arguments":{"command":"ls"},"result":{"for_llm":"ran {\"command\":\"ls\"}","for_user":"","silent":false,"is_error":false,"async":false,"media":[],"artifact_tags":[],"response_handled":false},"duration":"<duration>","channel":"cli","chat_id":"direct"}}
    {"jsonrpc":"2.0","id":6,"result":{"action":"continue"}}
    {"jsonrpc":"2.0","id":7,"method":"hook.before_llm","params":{"meta":["turn.llm.request",2],"context":"<context>","model":"claude-sonnet","messages":["<system>",{"role":"user","content":"hello","created_at":"<created_at>"},{"role":"assistant","content":"","created_at":"<created_at>","tool_calls":[{"id":"t1","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}}]},{"role":"tool","content":"ran {\"command\":\"ls\"}","created_at":"<created_at>","tool_call_id":"t1"}],"tools":[{"type":"function","function":{"name":"bash","description":"Runs a command.","parameters":{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}}}],"options":{},"graceful_terminal":false,"channel":"cli","chat_id":"direct"}}
    {"jsonrpc":"2.0","id":7,"result":{"action":"continue"}}
    {"jsonrpc":"2.0","id":8,"method":"hook.after_llm","params":{"meta":["turn.llm.response",2],"context":"<context>","model":"claude-sonnet","response":{"role":"assistant","content":"Files listed","finish_reason":"stop","usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0},"reasoning":"","reasoning_details":null},"channel":"cli","chat_id":"direct"}}
    {"jsonrpc":"2.0","id":8,"result":{"action":"continue"}}
    "#);
}

#[tokio::test]
async fn runs_tool_of_document() {
    let dir = tempfile::tempdir().unwrap();
    let events = Events::default();
    let hook = hook(&["before_llm", "before_tool"], &[]);
    let spec = python("plugin", hook, include_str!("plugin_tool.py"), dir.path());
    let host = host(vec![spec], &events).await;
    let says = vec![calls("my_plugin_tool", json!({"input": "42"})), vec![said("It says 42.")]];
    let ran = run(&host, says).await;
    host.shutdown().await;
    assert_eq!(events.faults(), []);
    assert_eq!(ran.offered(), ["bash", "my_plugin_tool"]);
    let added = &ran.requests[0].tools[1];
    assert_eq!(added.description, "Plugin provided tool");
    let schema: Value = added.schema.read().unwrap();
    assert_eq!(schema["required"], json!(["input"]));
    let text = "Plugin tool executed successfully, input: 42";
    assert_eq!(ran.result(), (text.to_owned(), false));
    let Some(Message::Tool(result)) = ran.requests[1].messages.last() else {
        panic!("{:?}", ran.requests[1])
    };
    assert_eq!(haft_protocol::content::joined_text(&result.content), text, "the model receives the result");
    assert_eq!(ran.requests[1].tools.len(), 2, "the tool is offered again");
    assert_eq!((ran.executions, ran.answer().as_str()), (0, "It says 42."));
}
