//! A real process that takes part in turns, as in PicoClaw's tests.

use std::fs;
use std::path::Path;

use haft_packages::{ExtensionSpec, HookCommand};
use haft_protocol::ids::ExtensionName;
use serde_json::{Value, json};

use super::super::agency::{Ran, Script, Stage, calls, run, said, tool};
use super::super::flow::{lines, python};
use super::super::hook;
use super::super::processes::{host, patient};
use crate::support::Events;

/// The child process of PicoClaw's tests: changes one field at each point, sends everything else back, and
/// records its input.
const HELPER: &str = r#"
import json, os, sys

def result(method, params):
    if method == "hook.hello":
        return {"ok": True}
    if method == "hook.before_llm":
        return {"action": "modify", "request": {**params, "model": "process-model"}}
    if method == "hook.after_llm":
        params["response"]["content"] += "|ipc"
        return {"action": "modify", "response": params}
    if method == "hook.before_tool":
        params["arguments"]["text"] = "ipc"
        return {"action": "modify", "call": params}
    if method == "hook.after_tool":
        params["result"]["for_llm"] = "ipc:" + params["result"]["for_llm"]
        return {"action": "modify", "result": params}
    if method == "hook.approve_tool":
        return {"approved": False, "reason": "blocked by ipc hook"}

for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        answer = result(request["method"], request["params"])
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": answer}), flush=True)
    else:
        with open("events.jsonl", "a") as log:
            log.write(line)
"#;

/// Runs a turn with the helper at these points. The model uses this script, or `process-model` its own.
/// Returns the helper's record.
async fn mounted(points: &[&str], observe: &[&str], script: Script) -> (Ran, Vec<Value>) {
    let dir = tempfile::tempdir().unwrap();
    let events = Events::default();
    let host = host(vec![python("ipc", hook(points, observe), HELPER, dir.path())], &events).await;
    let stage = Stage::of(script);
    let own = Script::new("process-model", vec![vec![said("provider content")]]);
    let echo = tool("echo_text", |args| args["text"].as_str().unwrap_or_default().to_owned());
    let agent = stage.agent(&host).tool(echo).models(own).build().unwrap();
    let ran = stage.prompt(&agent, "hello").await;
    host.shutdown().await;
    assert_eq!(events.faults(), []);
    (ran, lines(&fs::read_to_string(dir.path().join("events.jsonl")).unwrap_or_default()))
}

fn echo() -> Script {
    Script::new("demo", vec![calls("echo_text", json!({"text": "original"}))])
}

#[tokio::test]
async fn mount_process_hook_llm_and_observer() {
    let (ran, told) = mounted(&["before_llm", "after_llm"], &["turn_end"], echo()).await;
    assert_eq!((ran.answer().as_str(), ran.requests.len()), ("provider content|ipc", 0));
    let [end] = &told[..] else { panic!("{told:?}") };
    assert_eq!(
        (&end["method"], &end["params"]["kind"]),
        (&json!("hook.runtime_event"), &json!("agent.turn.end"))
    );
}

#[tokio::test]
async fn mount_process_hook_tool_rewrite() {
    let (ran, _) = mounted(&["before_tool", "after_tool"], &[], echo()).await;
    assert_eq!(ran.answer(), "ipc:ipc");
}

#[tokio::test]
async fn mount_process_hook_approval_deny() {
    let (ran, told) = mounted(&["approve_tool"], &["tool_exec_skipped"], echo()).await;
    let text = "Tool execution denied by approval hook: blocked by ipc hook";
    assert_eq!(ran.answer(), text);
    let [skipped] = &told[..] else { panic!("{told:?}") };
    assert_eq!(skipped["params"]["payload"]["Reason"], text);
}

/// The start in a sandbox is tested by `sandboxed_hook_receives_environment_of_extensions` in the program's end-to-end
/// tests.
#[cfg(unix)]
#[tokio::test]
async fn mount_process_hook_supports_relative_dir_and_command() {
    let cwd = tempfile::tempdir().unwrap();
    fs::create_dir(cwd.path().join("hooks")).unwrap();
    let helper = cwd.path().join("hooks").join("hook-helper");
    std::os::unix::fs::symlink(haft_test_support::test_binary("hook-peer"), helper).unwrap();
    let deny = json!({"hook.before_tool": {"action": "deny_tool", "reason": "by the helper"}});
    let command = ["./hook-helper".to_owned(), "log".to_owned(), deny.to_string()];
    let command = HookCommand { command: command.to_vec(), dir: Some(Path::new("hooks").to_owned()) };
    let spec = ExtensionSpec::from_hook(
        ExtensionName::new("ipc"),
        hook(&["before_tool"], &[]),
        &command,
        cwd.path(),
    );
    let events = Events::default();
    let host = host(vec![patient(spec)], &events).await;
    let ran = run(&host, super::super::agency::one_call()).await;
    host.shutdown().await;
    assert_eq!(
        (ran.result().0.as_str(), events.faults()),
        ("Tool execution denied by hook: by the helper", vec![])
    );
    let log = fs::read_to_string(cwd.path().join("hooks").join("log")).unwrap();
    assert!(log.starts_with("hook.hello "), "it runs in that directory: {log}");
}
