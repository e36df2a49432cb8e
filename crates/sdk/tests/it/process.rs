//! `run()`: tests that need a process.

use std::env;
use std::fs;
use std::io::{self, BufRead, BufReader, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use haft_test_support::subprocess::PeerProcess;

/// Cargo builds the examples of a package before it runs its tests.
pub(crate) fn probe_program() -> PathBuf {
    let test = env::current_exe().unwrap();
    let built = test.parent().and_then(Path::parent).expect("target/<profile>/deps");
    let program = built.join("examples").join(format!("sdk-probe{}", env::consts::EXE_SUFFIX));
    assert!(program.is_file(), "no probe: run `cargo test -p haft-sdk --tests --examples`");
    program
}

fn probe() -> PeerProcess {
    let mut process = PeerProcess::start(&probe_program(), &[], Path::new("/"));
    process.until_ready();
    process
}

#[test]
fn blocked_handlers_delay_neither_hooks_nor_the_end() {
    let mut process = probe();
    process.send(&json!({"type": "event", "event": "turn_start", "step": 1}));
    process.send(&json!({"type": "tool_call", "id": "1", "name": "block", "args": {}}));
    process.ask_question(&json!({"type": "ping", "id": "ping-1"}), "pong");
    for id in ["2", "3"] {
        let answer = process.ask_question(&intercept(id, "bash"), "event_intercept_response");
        assert_eq!((&answer["block"], &answer["reason"]), (&json!(true), &json!("bash")));
    }
    let answer = process
        .ask_question(&json!({"type": "command_invoked", "id": "4", "name": "where"}), "command_response");
    assert_eq!(answer["display"], "/");
    process.shutdown();
}

#[test]
fn process_survives_a_panic() {
    let mut process = probe();
    for id in ["1", "2"] {
        let answer = process
            .ask_question(&json!({"type": "command_invoked", "id": id, "name": "panic"}), "command_response");
        assert_eq!(answer["error"], "handler panicked: on purpose");
    }
    assert!(process.hang_up().success());
}

#[test]
fn large_frames_pass_through_pipes() {
    let mut process = probe();
    let padding = "y".repeat(7 * 1024 * 1024);
    let call = json!({"type": "tool_call", "id": "1", "name": "large", "args": {"padding": padding}});
    let answer = process.ask_question(&call, "tool_result");
    assert_eq!(answer["content"][0]["text"].as_str().unwrap().len(), 7 * 1024 * 1024);
    process.shutdown();
}

#[test]
fn input_may_end_before_hello_ack() {
    assert!(probe().hang_up().success());
}

#[test]
fn blocking_work_of_a_hook_finishes_before_the_end() {
    for waits_too in [false, true] {
        let mut process = probe();
        if waits_too {
            process.ask_question(&intercept("1", "timer"), "event_intercept_response");
        }
        process.ask_question(&intercept("2", "behind"), "event_intercept_response");
        process.send(&json!({"type": "shutdown"}));
        assert_eq!(process.expect_frame("notify")["message"], "behind");
        process.expect_frame("shutdown_ack");
        assert!(process.hang_up().success());
    }
}

#[test]
fn block_in_place_in_a_hook_is_reported() {
    let mut process = probe();
    let answer = process.ask_question(&intercept("1", "in place"), "event_intercept_response");
    assert_eq!(answer["reason"], "in place", "nobody else waits for this thread");
    let answer = process.ask_question(&intercept("2", "in place later"), "event_intercept_response");
    let reason = answer["error"].as_str().or(answer["reason"].as_str()).unwrap_or_default();
    assert!(reason.contains("spawn_blocking"), "{answer}");
    process.shutdown();
}

fn intercept(id: &str, tool: &str) -> Value {
    json!({"type": "event_intercept", "id": id, "event": "tool_call", "tool_id": "t", "tool_name": tool, "tool_args": {}})
}

#[test]
fn hooks_may_wait_for_timers_tasks_and_threads() {
    let mut process = probe();
    for (id, tool) in ["now", "timer", "task", "thread", "now"].into_iter().enumerate() {
        let answer = process.ask_question(&intercept(&id.to_string(), tool), "event_intercept_response");
        assert_eq!(answer["reason"], tool);
    }
    process.shutdown();
}

#[test]
fn detached_task_runs() {
    let mut process = probe();
    process.send(&intercept("1", "left"));
    let mut said = [process.next(), process.next()].map(|frame| frame["type"].as_str().unwrap().to_owned());
    said.sort();
    assert_eq!(said, ["event_intercept_response", "notify"]);
    process.shutdown();
}

#[test]
fn hook_that_waits_for_itself_fails() {
    let mut process = probe();
    let ask = json!({"type": "event_intercept", "id": "1", "event": "turn_start", "step": 1});
    let answer = process.ask_question(&ask, "event_intercept_response");
    assert!(answer["error"].as_str().unwrap().contains("runtime"), "{answer}");
    process.shutdown();
}

#[test]
#[cfg(target_os = "linux")]
fn extension_with_only_hooks_has_one_thread() {
    let mut process = probe();
    let threads =
        |process: &PeerProcess| fs::read_dir(format!("/proc/{}/task", process.id())).unwrap().count();
    assert_eq!(threads(&process), 1);
    process.ask_question(&intercept("1", "now"), "event_intercept_response");
    process.ask_question(&json!({"type": "ping", "id": "ping-1"}), "pong");
    assert_eq!(threads(&process), 1);
    process.ask_question(&intercept("2", "timer"), "event_intercept_response");
    assert_eq!(threads(&process), 2, "one that waits has a thread to do it on");
    process.ask_question(&json!({"type": "command_invoked", "id": "3", "name": "where"}), "command_response");
    assert_eq!(threads(&process), 6, "and four for all that is no intercept");
    process.shutdown();
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test plays the host, which alone may start extensions")]
fn closed_stdout_ends_the_extension() {
    let (said, stdout) = io::pipe().unwrap();
    let mut command = Command::new(probe_program());
    let mut child = command.stdin(Stdio::piped()).stdout(stdout).spawn().unwrap();
    // The only other handle to that end of the pipe.
    drop(command);
    let mut said = BufReader::new(said).lines();
    while !said.next().unwrap().unwrap().contains("ready") {}
    drop(said);
    let mut stdin = child.stdin.take().unwrap();
    // A handler finds out. The thread that reads does not: nothing follows, and stdin stays open.
    let broken = json!({"type": "command_invoked", "id": "1", "name": "panic"});
    stdin.write_all(format!("{broken}\n").as_bytes()).unwrap();
    assert!(!child.wait().unwrap().success());
}

/// Runs the probe on these streams, and returns its last lines.
#[track_caller]
#[expect(clippy::disallowed_methods, reason = "a test plays the host, which alone may start extensions")]
fn run_on(stdin: impl Into<Stdio>, lines: usize) -> Vec<String> {
    let output = tempfile::NamedTempFile::new().unwrap();
    let stdout = output.reopen().unwrap();
    let status = Command::new(probe_program()).stdin(stdin).stdout(stdout).status().unwrap();
    assert!(status.success());
    let said = fs::read_to_string(output.path()).unwrap();
    said.lines().skip(said.lines().count() - lines).map(str::to_owned).collect()
}

const ANSWER: &str = r#"{"type":"event_intercept_response","id":"1","block":true,"reason":"bash"}"#;
const ACK: &str = r#"{"type":"shutdown_ack"}"#;

fn question_and_shutdown() -> String {
    format!("{}\n{}\n", intercept("1", "bash"), json!({"type": "shutdown"}))
}

#[test]
fn files_work_as_stdio() {
    let mut input = tempfile::tempfile().unwrap();
    input.write_all(question_and_shutdown().as_bytes()).unwrap();
    input.rewind().unwrap();
    assert_eq!(run_on(input, 2), [ANSWER, ACK]);
}

#[test]
fn empty_stdin_ends_at_once() {
    assert_eq!(run_on(Stdio::null(), 1), [r#"{"type":"ready"}"#]);
}

#[test]
#[cfg(unix)]
fn sockets_work_as_stdio_even_non_blocking() {
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    for nonblocking in [false, true] {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        theirs.set_nonblocking(nonblocking).unwrap();
        let asking = std::thread::spawn(move || {
            // sleep: most likely it has found nothing to read by then; each order is right
            std::thread::sleep(std::time::Duration::from_millis(50));
            ours.write_all(question_and_shutdown().as_bytes())
        });
        assert_eq!(run_on(OwnedFd::from(theirs), 2), [ANSWER, ACK]);
        asking.join().unwrap().unwrap();
    }
}
