//! `run()`: what only a process can show.

use std::env;
use std::fs::{self, File};
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::subprocess::Process;

/// Cargo builds the examples of a package before it runs its tests.
fn probe_program() -> PathBuf {
    let test = env::current_exe().unwrap();
    let built = test.parent().and_then(Path::parent).expect("target/<profile>/deps");
    let program = built.join("examples").join(format!("sdk-probe{}", env::consts::EXE_SUFFIX));
    assert!(program.is_file(), "no probe: run `cargo test -p haft-sdk --tests --examples`");
    program
}

fn probe() -> Process {
    let mut process = Process::start(&probe_program(), &[], Path::new("/"));
    process.until_ready();
    process
}

#[test]
fn blocked_handlers_hold_up_neither_intercepts_nor_the_end() {
    let mut process = probe();
    process.send(&json!({"type": "event", "event": "turn_start", "step": 1}));
    process.send(&json!({"type": "tool_call", "id": "1", "name": "block", "args": {}}));
    process.ask(&json!({"type": "ping", "id": "ping-1"}), "pong");
    for id in ["2", "3"] {
        let ask = json!({"type": "event_intercept", "id": id, "event": "tool_call", "tool_id": "t", "tool_name": "bash", "tool_args": {}});
        let answer = process.ask(&ask, "event_intercept_response");
        assert_eq!((&answer["block"], &answer["reason"]), (&json!(true), &json!("bash")));
    }
    let answer =
        process.ask(&json!({"type": "command_invoked", "id": "4", "name": "where"}), "command_response");
    assert_eq!(answer["display"], "/");
    process.shutdown();
}

#[test]
fn a_panic_is_answered_by_a_process_that_lives() {
    let mut process = probe();
    for id in ["1", "2"] {
        let answer =
            process.ask(&json!({"type": "command_invoked", "id": id, "name": "panic"}), "command_response");
        assert_eq!(answer["error"], "handler panicked: on purpose");
    }
    assert!(process.hang_up().success());
}

#[test]
fn large_frames_go_through_pipes_whole() {
    let mut process = probe();
    let padding = "y".repeat(7 * 1024 * 1024);
    let call = json!({"type": "tool_call", "id": "1", "name": "large", "args": {"padding": padding}});
    let answer = process.ask(&call, "tool_result");
    assert_eq!(answer["content"][0]["text"].as_str().unwrap().len(), 7 * 1024 * 1024);
    process.shutdown();
}

#[test]
fn an_end_of_input_before_the_greeting_is_an_end() {
    assert!(probe().hang_up().success());
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test plays the host, which alone may start extensions")]
fn files_do_for_pipes() {
    let dir = tempfile::tempdir().unwrap();
    let mut input = tempfile::tempfile_in(dir.path()).unwrap();
    let ask = r#"{"type":"event_intercept","id":"1","event":"tool_call","tool_id":"t","tool_name":"bash","tool_args":{}}"#;
    let shutdown = r#"{"type":"shutdown"}"#;
    write!(input, "{ask}\n{shutdown}\n").unwrap();
    input.rewind().unwrap();
    let output = dir.path().join("output");
    let mut command = Command::new(probe_program());
    let status = command.stdin(input).stdout(File::create(&output).unwrap()).status().unwrap();
    assert!(status.success());
    let said = fs::read_to_string(&output).unwrap();
    let last: Vec<_> = said.lines().rev().take(2).collect();
    let answer = r#"{"type":"event_intercept_response","id":"1","block":true,"reason":"bash"}"#;
    assert_eq!(last, [r#"{"type":"shutdown_ack"}"#, answer]);
}
