//! Signs of life: pings, unfinished lines, versions, closed streams.

use super::session_fixture::SessionFixture;
use super::*;

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// Returns a session after `ready` of an extension that answers pings.
fn pinged() -> SessionFixture {
    let mut fixture = SessionFixture::new();
    fixture.line(r#"{"type":"hello","name":"ext","capabilities":["ping"]}"#);
    fixture.line(r#"{"type":"subscribe","intercept":["tool_call"]}"#);
    fixture.line(r#"{"type":"ready"}"#);
    fixture.transcript.clear();
    fixture
}

#[test]
fn detects_extension_that_hangs_in_call() {
    let mut fixture = pinged();
    fixture.tool("tool");
    fixture.pass(seconds(60));
    insta::assert_snapshot!(fixture.transcript, @r##"
    +0.000 → {"type":"tool_call","id":"r1","name":"weather","args":{}}
    +5.000 → {"type":"ping","id":"ping-1"}
    +15.000 ! unresponsive: was silent for 15 s and did not answer a ping
    +15.000 = tool: was silent for 15 s and did not answer a ping
    +15.000 · Failed { code: Unresponsive, message: "was silent for 15 s and did not answer a ping" }
    "##);
}

#[test]
fn busy_extension_that_answers_pings_continues() {
    let mut fixture = pinged();
    fixture.tool("tool");
    for ping in 1..=11 {
        fixture.pass(seconds(5));
        fixture.line(&format!(r#"{{"type":"pong","id":"ping-{ping}"}}"#));
    }
    assert_eq!(fixture.faults(), Vec::<String>::new());
    fixture.line(r#"{"type":"tool_result","id":"r1"}"#);
    fixture.transcript.clear();
    fixture.pass(seconds(3600));
    assert_eq!(fixture.transcript, "", "an idle extension receives no ping");
}

#[test]
fn any_line_counts_as_sign_of_life() {
    let mut fixture = pinged();
    fixture.tool("tool");
    fixture.pass(seconds(14));
    fixture.heard();
    fixture.pass(seconds(14));
    assert_eq!(fixture.session.state(), ExtensionState::Ready);
    fixture.line(r#"{"type":"pong","id":"ping-1"}"#);
    fixture.line(r#"{"type":"pong","id":"ping-2"}"#);
    assert_eq!(fixture.faults(), Vec::<String>::new(), "a late pong is accepted");
    fixture.line(r#"{"type":"pong","id":"ping-2"}"#);
    assert_eq!(fixture.faults(), ["unknown_id"]);
}

#[test]
fn event_requires_sign_of_life() {
    let mut fixture = pinged();
    let event = || HostFrame::from(haft_protocol::ext::LifecycleEvent::turn_start(1));
    fixture.session.send_message(event(), fixture.now);
    fixture.settle();
    fixture.pass(seconds(5));
    fixture.line(r#"{"type":"pong","id":"ping-1"}"#);
    fixture.pass(seconds(3600));
    assert_eq!(fixture.transcript.matches("ping-").count(), 2, "one ping, one pong");
    fixture.session.send_message(event(), fixture.now);
    fixture.settle();
    fixture.pass(seconds(15));
    assert_eq!(fixture.faults(), ["unresponsive"]);
}

#[test]
fn ignores_unwritten_ping() {
    let mut fixture = pinged();
    fixture.tool("tool");
    fixture.pass_unread(seconds(59));
    assert_eq!(fixture.session.state(), ExtensionState::Ready, "the writer detects this");
}

#[test]
fn sends_no_ping_without_capability() {
    let mut fixture = SessionFixture::ready();
    fixture.tool("tool");
    fixture.transcript.clear();
    fixture.pass(seconds(59));
    assert_eq!(fixture.transcript, "");
}

#[test]
fn sends_no_ping_while_leaving() {
    let mut fixture = pinged();
    fixture.tool("tool");
    fixture.session.shutdown(fixture.now);
    fixture.settle();
    fixture.pass(seconds(60));
    assert!(!fixture.transcript.contains("ping-"), "{}", fixture.transcript);
}

#[test]
fn unfinished_line_ends_connection() {
    let mut fixture = SessionFixture::ready();
    for length in 1..=29 {
        fixture.session.handle_read(0, length, fixture.now);
        fixture.pass(seconds(1));
    }
    fixture.session.handle_read(1, 3, fixture.now);
    fixture.pass(Duration::from_millis(29_999));
    assert_eq!(fixture.session.state(), ExtensionState::Ready, "a newline starts a new line");
    fixture.pass(Duration::from_millis(1));
    insta::assert_snapshot!(fixture.transcript, @r##"
    +59.000 ! unresponsive: began a line and did not finish it within 30 s (3 bytes so far)
    +59.000 · Failed { code: Unresponsive, message: "began a line and did not finish it within 30 s (3 bytes so far)" }
    "##);
}

#[test]
fn finished_line_is_not_overdue() {
    let mut fixture = SessionFixture::ready();
    fixture.session.handle_read(0, 7, fixture.now);
    fixture.session.handle_read(1, 0, fixture.now);
    fixture.pass(seconds(60));
    assert_eq!(fixture.session.state(), ExtensionState::Ready);
}

#[test]
fn version_mismatch_names_both_versions() {
    for version in ["0", "999", "\"1\"", "1.5", "2", "true"] {
        let mut fixture = SessionFixture::new();
        fixture.line(&format!(r#"{{"type":"hello","name":"ext","protocol_version":{version}}}"#));
        let text =
            format!("version_mismatch: speaks version {version} of the protocol, but haft speaks version 1");
        assert!(fixture.transcript.contains(&text), "{}", fixture.transcript);
        assert!(fixture.session.is_closed());
        assert_eq!(fixture.written, 0);
    }
    let mut fixture = SessionFixture::new();
    fixture.line(r#"{"type":"hello","name":"ext","protocol_version":1}"#);
    assert_eq!(fixture.faults(), Vec::<String>::new());
}

#[test]
fn accepts_answers_after_input_was_closed() {
    let mut fixture = SessionFixture::ready();
    let id = fixture.tool("tool");
    fixture.pass(seconds(1));
    fixture.deafened();
    fixture.guard("guard");
    assert!(fixture.transcript.contains("= guard: closed its input"), "{}", fixture.transcript);
    fixture.line(&format!(r#"{{"type":"tool_result","id":"{id}"}}"#));
    fixture.pass(Duration::from_millis(1999));
    assert!(!fixture.session.is_closed());
    fixture.pass(Duration::from_millis(1));
    assert!(fixture.transcript.contains("= tool: Tool"), "{}", fixture.transcript);
    assert_eq!(fixture.faults(), ["exited"]);
}

#[test]
fn fails_query_that_was_never_delivered() {
    let mut fixture = SessionFixture::ready();
    fixture.tool("tool");
    fixture.deafened();
    fixture.pass_unread(Duration::from_millis(200));
    assert!(
        fixture.transcript.contains("= tool: closed its input and kept running"),
        "{}",
        fixture.transcript
    );
    assert_eq!(fixture.faults(), ["exited"]);
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
