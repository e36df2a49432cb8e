//! Signs of life: pings, unfinished lines, versions, closed streams.

use super::bench::Bench;
use super::*;

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// Returns a session after `ready` of an extension that answers pings.
fn pinged() -> Bench {
    let mut bench = Bench::new();
    bench.line(r#"{"type":"hello","name":"ext","capabilities":["ping"]}"#);
    bench.line(r#"{"type":"subscribe","intercept":["tool_call"]}"#);
    bench.line(r#"{"type":"ready"}"#);
    bench.transcript.clear();
    bench
}

#[test]
fn detects_extension_that_hangs_in_call() {
    let mut bench = pinged();
    bench.tool("tool");
    bench.pass(seconds(60));
    insta::assert_snapshot!(bench.transcript, @r##"
    +0.000 → {"type":"tool_call","id":"r1","name":"weather","args":{}}
    +5.000 → {"type":"ping","id":"ping-1"}
    +15.000 ! unresponsive: was silent for 15 s and did not answer a ping
    +15.000 = tool: was silent for 15 s and did not answer a ping
    +15.000 · Failed { code: Unresponsive, message: "was silent for 15 s and did not answer a ping" }
    "##);
}

#[test]
fn busy_extension_that_answers_pings_continues() {
    let mut bench = pinged();
    bench.tool("tool");
    for ping in 1..=11 {
        bench.pass(seconds(5));
        bench.line(&format!(r#"{{"type":"pong","id":"ping-{ping}"}}"#));
    }
    assert_eq!(bench.faults(), Vec::<String>::new());
    bench.line(r#"{"type":"tool_result","id":"r1"}"#);
    bench.transcript.clear();
    bench.pass(seconds(3600));
    assert_eq!(bench.transcript, "", "an idle extension receives no ping");
}

#[test]
fn any_line_counts_as_sign_of_life() {
    let mut bench = pinged();
    bench.tool("tool");
    bench.pass(seconds(14));
    bench.heard();
    bench.pass(seconds(14));
    assert_eq!(bench.session.state(), ExtensionState::Ready);
    bench.line(r#"{"type":"pong","id":"ping-1"}"#);
    bench.line(r#"{"type":"pong","id":"ping-2"}"#);
    assert_eq!(bench.faults(), Vec::<String>::new(), "a late pong is accepted");
    bench.line(r#"{"type":"pong","id":"ping-2"}"#);
    assert_eq!(bench.faults(), ["unknown_id"]);
}

#[test]
fn event_requires_sign_of_life() {
    let mut bench = pinged();
    let event = || HostFrame::Event(haft_protocol::ext::LifecycleEvent::turn_start(1));
    bench.session.send_message(event(), bench.now);
    bench.settle();
    bench.pass(seconds(5));
    bench.line(r#"{"type":"pong","id":"ping-1"}"#);
    bench.pass(seconds(3600));
    assert_eq!(bench.transcript.matches("ping-").count(), 2, "one ping, one pong");
    bench.session.send_message(event(), bench.now);
    bench.settle();
    bench.pass(seconds(15));
    assert_eq!(bench.faults(), ["unresponsive"]);
}

#[test]
fn ignores_unwritten_ping() {
    let mut bench = pinged();
    bench.tool("tool");
    bench.pass_unread(seconds(59));
    assert_eq!(bench.session.state(), ExtensionState::Ready, "the writer detects this");
}

#[test]
fn sends_no_ping_without_capability() {
    let mut bench = Bench::ready();
    bench.tool("tool");
    bench.transcript.clear();
    bench.pass(seconds(59));
    assert_eq!(bench.transcript, "");
}

#[test]
fn sends_no_ping_while_leaving() {
    let mut bench = pinged();
    bench.tool("tool");
    bench.session.shutdown(bench.now);
    bench.settle();
    bench.pass(seconds(60));
    assert!(!bench.transcript.contains("ping-"), "{}", bench.transcript);
}

#[test]
fn unfinished_line_ends_connection() {
    let mut bench = Bench::ready();
    for length in 1..=29 {
        bench.session.handle_read(0, length, bench.now);
        bench.pass(seconds(1));
    }
    bench.session.handle_read(1, 3, bench.now);
    bench.pass(Duration::from_millis(29_999));
    assert_eq!(bench.session.state(), ExtensionState::Ready, "a newline starts a new line");
    bench.pass(Duration::from_millis(1));
    insta::assert_snapshot!(bench.transcript, @r##"
    +59.000 ! unresponsive: began a line and did not finish it within 30 s (3 bytes so far)
    +59.000 · Failed { code: Unresponsive, message: "began a line and did not finish it within 30 s (3 bytes so far)" }
    "##);
}

#[test]
fn finished_line_is_not_overdue() {
    let mut bench = Bench::ready();
    bench.session.handle_read(0, 7, bench.now);
    bench.session.handle_read(1, 0, bench.now);
    bench.pass(seconds(60));
    assert_eq!(bench.session.state(), ExtensionState::Ready);
}

#[test]
fn version_mismatch_names_both_versions() {
    for version in ["0", "999", "\"1\"", "1.5", "2", "true"] {
        let mut bench = Bench::new();
        bench.line(&format!(r#"{{"type":"hello","name":"ext","protocol_version":{version}}}"#));
        let text =
            format!("version_mismatch: speaks version {version} of the protocol, but haft speaks version 1");
        assert!(bench.transcript.contains(&text), "{}", bench.transcript);
        assert!(bench.session.is_closed());
        assert_eq!(bench.written, 0);
    }
    let mut bench = Bench::new();
    bench.line(r#"{"type":"hello","name":"ext","protocol_version":1}"#);
    assert_eq!(bench.faults(), Vec::<String>::new());
}

#[test]
fn accepts_answers_after_input_was_closed() {
    let mut bench = Bench::ready();
    let id = bench.tool("tool");
    bench.pass(seconds(1));
    bench.deafened();
    bench.guard("guard");
    assert!(bench.transcript.contains("= guard: closed its input"), "{}", bench.transcript);
    bench.line(&format!(r#"{{"type":"tool_result","id":"{id}"}}"#));
    bench.pass(Duration::from_millis(1999));
    assert!(!bench.session.is_closed());
    bench.pass(Duration::from_millis(1));
    assert!(bench.transcript.contains("= tool: Tool"), "{}", bench.transcript);
    assert_eq!(bench.faults(), ["exited"]);
}

#[test]
fn fails_query_that_was_never_delivered() {
    let mut bench = Bench::ready();
    bench.tool("tool");
    bench.deafened();
    bench.pass_unread(Duration::from_millis(200));
    assert!(bench.transcript.contains("= tool: closed its input and kept running"), "{}", bench.transcript);
    assert_eq!(bench.faults(), ["exited"]);
}

#[test]
fn explains_program_that_could_not_be_run() {
    let told = ended_before_hello(&format!("exited with status 126{PRINTED}pyenv: cannot execute"));
    insta::assert_snapshot!(told, @"ended before hello: exited with status 126 (the command was found, but could not be executed); if the interpreter is a shim, for example of pyenv, the sandbox may block it: in the manifest, set `exec` to the interpreter, for example `python3`, and `args` to the script; it printed: pyenv: cannot execute");
    assert!(ended_before_hello("exited with status 127").contains("was not found); if"));
    for other in ["exited with status 1", "exited with status 1267", "was killed by signal 9"] {
        assert_eq!(ended_before_hello(other), format!("ended before hello: {other}"));
    }
}
