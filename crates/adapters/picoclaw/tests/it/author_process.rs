//! `Hook::run()`: tests that need a process.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::{env, fs};

use serde_json::{Value, json};

use haft_test_support::subprocess::PeerProcess;

/// Cargo builds the examples of a package before it runs its tests.
fn probe_program() -> PathBuf {
    let test = env::current_exe().unwrap();
    let built = test.parent().and_then(Path::parent).expect("target/<profile>/deps");
    let program = built.join("examples").join(format!("hook-probe{}", env::consts::EXE_SUFFIX));
    assert!(program.is_file(), "no probe: run `cargo test -p haft-adapter-picoclaw --tests --examples`");
    program
}

/// Starts the probe as a hook and completes `hello`.
fn hook(stderr: Stdio) -> PeerProcess {
    let mut process = PeerProcess::start_silently(&probe_program(), &[], Path::new("/"), stderr);
    let hello =
        json!({"name": "gate", "version": 1, "modes": ["observe", "llm", "tool", "approve"], "new": {}});
    process.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "hook.hello", "params": hello}));
    assert_eq!(process.next(), json!({"jsonrpc": "2.0", "id": 1, "result": {"ok": true, "name": "gate"}}));
    process
}

fn call(id: u64, method: &str, tool: &str) -> Value {
    let params = json!({"meta": {"TurnID": "main-turn-1"}, "tool": tool, "arguments": {}});
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn denied(id: u64, reason: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": {"action": "deny_tool", "reason": reason}})
}

#[test]
fn replies_are_sent_despite_blocked_handlers() {
    let mut hook = hook(Stdio::inherit());
    hook.send(&call(2, "hook.approve_tool", "block"));
    hook.send(&call(3, "hook.before_tool", "block"));
    hook.send(&call(4, "hook.before_tool", "slow"));
    hook.send(&call(5, "hook.before_tool", "now"));
    assert_eq!(hook.next(), denied(5, "now"));
    hook.send(&call(7, "hook.before_tool", "release"));
    let mut released = [hook.next(), hook.next()];
    released.sort_by_key(|reply| reply["id"].as_u64());
    assert_eq!(released, [denied(4, "slow"), denied(7, "release")]);
    hook.send(&call(6, "hook.approve_tool", "now"));
    assert_eq!(hook.next(), json!({"jsonrpc": "2.0", "id": 6, "result": {"approved": true}}));
    assert!(hook.hang_up().success());
}

#[test]
fn process_survives_a_panic_and_an_invalid_line() {
    let mut hook = hook(Stdio::inherit());
    hook.send(&call(2, "hook.before_tool", "panic"));
    assert_eq!(hook.next()["error"]["message"], "handler panicked: on purpose");
    hook.send_line("what's this?");
    hook.send_line(r#"{"jsonrpc":"2.0","id":3,"method":"hook.before_tool","params":{"tool":["a"]}}"#);
    assert_eq!(hook.next()["error"]["code"], -32602);
    hook.send_line(r#"{"jsonrpc":"2.0","id":4,"method":"hook.before_dawn"}"#);
    assert_eq!(hook.next()["error"]["message"], "unknown method \"hook.before_dawn\"");
    hook.send(&call(5, "hook.before_tool", "still there"));
    assert_eq!(hook.next(), denied(5, "still there"));
    assert!(hook.hang_up().success());
}

#[test]
fn everything_is_answered_at_the_end_of_input() {
    let mut hook = hook(Stdio::inherit());
    hook.send(&call(2, "hook.before_tool", "for ever"));
    hook.send(&call(3, "hook.before_tool", "patient"));
    hook.send(&call(4, "hook.before_llm", ""));
    hook.close();
    let tool = json!({"type": "function", "function": {"name": "block", "description": "Blocks its thread.", "parameters": {"type": "object", "properties": {}}}});
    let request = json!({"meta": {"TurnID": "main-turn-1"}, "tool": "", "arguments": {}, "model": "", "messages": [], "tools": [tool]});
    let modified = json!({"action": "modify", "request": request});
    let mut done = [hook.next(), hook.next()];
    done.sort_by_key(|reply| reply["id"].as_u64());
    assert_eq!(done, [denied(3, "patient"), json!({"jsonrpc": "2.0", "id": 4, "result": modified})]);
    let stopped = json!({"code": -32000, "message": "handler was stopped before it answered"});
    assert_eq!(hook.next(), json!({"jsonrpc": "2.0", "id": 2, "error": stopped}));
    assert!(hook.hang_up().success());
}

#[test]
fn long_conversations_are_read() {
    let mut hook = hook(Stdio::inherit());
    let long = "x".repeat(9 * 1024 * 1024);
    let message = json!({"role": "user", "content": long});
    let params = json!({"model": "m", "messages": [message], "tools": []});
    hook.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "hook.before_llm", "params": params}));
    let reply = hook.next();
    assert_eq!(reply["result"]["request"]["tools"][0]["function"]["name"], "block");
    assert_eq!(reply["result"]["request"].get("messages"), None, "they stay as they are");
    assert!(hook.hang_up().success());
}

#[test]
fn events_of_all_three_dialects_are_handled() {
    let log = tempfile::NamedTempFile::new().unwrap();
    let mut hook = hook(log.reopen().unwrap().into());
    for line in [
        r#"{"jsonrpc":"2.0","method":"hook.event","params":{"Kind":"tool_exec_start","Meta":{"AgentID":"agent-1","TurnID":"a"},"Payload":{"Tool":"echo_text","Arguments":{"text":"hello"}}}}"#,
        r#"{"jsonrpc":"2.0","id":0,"method":"hook.event","params":{"Kind":8,"Time":"2026-04-08T10:00:00Z","Meta":{"TurnID":"b","Iteration":1},"Payload":{"Tool":"echo_text","Arguments":{"text":"hello"}}}}"#,
        r#"{"jsonrpc":"2.0","method":"hook.runtime_event","params":{"id":"evt-12","kind":"agent.tool.exec_start","time":"2026-06-13T18:19:35.123456789+02:00","source":{"component":"agent","name":"main"},"scope":{"turn_id":"c"},"correlation":{"trace_id":"turn.tool.start"},"severity":"info","payload":{"Tool":"echo_text","Arguments":{"text":"hello"}},"attrs":{"agent_source":"runTurn","iteration":1}}}"#,
        r#"{"jsonrpc":"2.0","method":"hook.runtime_event","params":{"kind":"mcp.server.failed","scope":{"turn_id":"d"},"payload":{"server":"x"}}}"#,
    ] {
        hook.send_line(line);
    }
    assert!(hook.hang_up().success(), "events that were read are handled before the end");
    let log = fs::read_to_string(log.path()).unwrap();
    for turn in ["a", "b", "c"] {
        let told = format!(
            "told agent.tool.exec_start of {turn}: Some(ToolExecStart(ToolExecStart {{ tool: \"echo_text\""
        );
        assert!(log.contains(&told), "{log}");
    }
    assert!(log.contains("told mcp.server.failed of d: None"), "{log}");
}

#[test]
fn hook_without_calls_warns() {
    let log = tempfile::NamedTempFile::new().unwrap();
    let stderr = log.reopen().unwrap();
    let mut hook = PeerProcess::start_silently(&probe_program(), &[], Path::new("/"), stderr.into());
    hook.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "hook.hello", "params": {"name": "gate", "version": 1, "modes": ["tool"]}}));
    hook.next();
    assert!(hook.hang_up().success());
    let expect = "before_llm is never called: add \"before_llm\" to this hook's intercept list\n\
                  approve_tool is never called: add \"approve_tool\" to this hook's intercept list\n\
                  no event arrives: add events to this hook's observe list\n";
    assert_eq!(fs::read_to_string(log.path()).unwrap(), expect);
}
