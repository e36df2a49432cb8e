//! A session with a translator in virtual time: JSON-RPC with calls by the host and replies by the hook.

use super::session_fixture::SessionFixture;
use super::*;

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// Returns the transcript without the calls and the replies.
fn told(fixture: &SessionFixture) -> String {
    let lines = fixture.transcript.lines().filter(|line| !line.contains(" → ") && !line.contains(" ← "));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn hook_session_starts_answers_and_shuts_down() {
    let mut fixture = SessionFixture::hook();
    assert!(!fixture.session.has_greeted());
    fixture.pass(seconds(1));
    fixture.line(r#"{"jsonrpc":"2.0","id":1,"result":{"ok":true,"name":"gate"}}"#);
    assert!(fixture.session.has_greeted());
    fixture.approval("bash");
    fixture.line(r#"{"jsonrpc":"2.0","id":2,"result":{"approved":true}}"#);
    fixture.session.shutdown(fixture.now);
    fixture.settle();
    fixture.session.end("exited with status 0");
    fixture.settle();
    insta::assert_snapshot!(fixture.transcript, @r#"
    +0.000 → {"jsonrpc":"2.0","id":1,"method":"hook.hello","params":{"name":"gate","version":1,"modes":["tool"]}}
    +1.000 ← {"jsonrpc":"2.0","id":1,"result":{"ok":true,"name":"gate"}}
    +1.000 · Ready
    +1.000 → {"jsonrpc":"2.0","id":2,"method":"hook.approve_tool","params":{"meta":{"AgentID":"main","TurnID":"main-turn-run-0","ParentTurnID":"","SessionKey":"run","Iteration":0,"TracePath":"turn.tool.approve","Source":"runTurn"},"context":{"inbound":{"channel":"cli","chat_id":"direct","chat_type":"direct","sender_id":"user"},"scope":{"version":1,"agent_id":"main","channel":"cli","account":"","dimensions":[],"values":{}}},"tool":"bash","arguments":{},"channel":"cli","chat_id":"direct"}}
    +1.000 ← {"jsonrpc":"2.0","id":2,"result":{"approved":true}}
    +1.000 = bash: {"type":"event_intercept_response","id":"2","block":false}
    +1.000 · close input
    +1.000 · Stopping
    +1.000 · Stopped
    "#);
}

#[test]
fn kills_hook_without_signal_after_two_seconds() {
    let mut fixture = SessionFixture::ready_hook();
    fixture.session.shutdown(fixture.now);
    fixture.settle();
    fixture.pass(seconds(10));
    insta::assert_snapshot!(fixture.transcript, @r#"
    +0.000 · close input
    +0.000 · Stopping
    +2.000 · log: still running: killing the process
    +2.000 · Stopped
    "#);
}

#[test]
fn fails_without_hello_reply() {
    let mut fixture = SessionFixture::hook();
    fixture.transcript.clear();
    fixture.line("starting up");
    fixture.pass(seconds(60));
    insta::assert_snapshot!(fixture.transcript, @r#"
    +0.000 ← starting up
    +0.000 · log: skipped: not JSON: expected value in "starting up"
    +5.000 ! hello_timeout: did not answer hook.hello within 5 s
    +5.000 · Failed { code: HelloTimeout, message: "did not answer hook.hello within 5 s" }
    "#);
}

#[track_caller]
fn hello(reply: &str, expect: Result<(), &str>) {
    let mut fixture = SessionFixture::hook();
    fixture.line(reply);
    match (fixture.session.state(), expect) {
        (ExtensionState::Ready, Ok(())) => {}
        (ExtensionState::Failed { code: FaultCode::HelloInvalid, message }, Err(expect)) => {
            assert!(message.contains(expect), "{message}");
        }
        (state, _) => panic!("{reply}: {state:?}"),
    }
}

#[test]
fn accepts_any_object_or_nothing_as_hello_reply() {
    hello(r#"{"jsonrpc":"2.0","id":1,"result":{"ok":false}}"#, Ok(()));
    hello(r#"{"jsonrpc":"2.0","id":1,"result":null}"#, Ok(()));
    hello(r#"{"id":1}"#, Ok(()));
    hello(r#"{"ID":1,"Result":{}}"#, Ok(()));
    hello(r#"{"id":1,"result":"hi"}"#, Err("the result is not an object"));
    hello(r#"{"id":1,"result":[]}"#, Err("the result is not an object"));
    hello(
        r#"{"id":1,"error":{"code":-32000,"message":"no disk"}}"#,
        Err("failed hook.hello: the hook reported an error: no disk"),
    );
    hello(r#"{"id":1,"result":{},"error":{"code":-32000}}"#, Err("error -32000 without a message"));
    hello(r#"{"id":1,"result":{"a":1,"a":2}}"#, Err("cannot be read"));
}

#[test]
fn sends_no_query_before_hello() {
    let mut fixture = SessionFixture::hook();
    fixture.transcript.clear();
    fixture.approval("bash");
    insta::assert_snapshot!(told(&fixture), @"+0.000 = bash: has not said hello yet");
}

#[test]
fn replies_come_in_any_order() {
    let mut fixture = SessionFixture::ready_hook();
    for ticket in ["first", "second", "third"] {
        fixture.approval(ticket);
    }
    fixture.line(r#"{"jsonrpc":"2.0","id":4,"result":{"approved":true}}"#);
    fixture.line(r#"{"jsonrpc":"2.0","id":2,"result":{}}"#);
    fixture.line(r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"method not found"}}"#);
    insta::assert_snapshot!(told(&fixture), @r#"
    +0.000 = third: {"type":"event_intercept_response","id":"4","block":false}
    +0.000 = first: {"type":"event_intercept_response","id":"2","block":true,"reason":"Tool execution denied by approval hook"} (first: the reply to hook.approve_tool is invalid: no "approved", which denies; got {}, expected {"approved":true|false,"reason":"…"})
    +0.000 ! hook_error: second: the hook reported an error: method not found
    +0.000 = second: sent an invalid answer: the hook reported an error: method not found
    "#);
}

#[test]
fn logs_late_reply_and_reports_second_one() {
    let mut fixture = SessionFixture::ready_hook();
    fixture.approval("slow");
    fixture.pass(seconds(60));
    fixture.line(r#"{"jsonrpc":"2.0","id":2,"result":{"approved":true}}"#);
    fixture.line(r#"{"jsonrpc":"2.0","id":2,"result":{"approved":true}}"#);
    fixture.line(r#"{"jsonrpc":"2.0","id":99,"result":{"approved":true}}"#);
    insta::assert_snapshot!(told(&fixture), @r#"
    +60.000 ! hook_timeout: slow was not answered within 60 s
    +60.000 = slow: did not answer within 60 s
    +60.000 · log: late_response: reply 2
    +60.000 ! duplicate_response: sent a second reply for one request
    +60.000 ! unknown_id: sent a reply with the unknown id 99
    "#);
}

#[test]
fn skips_noise_and_accepts_reply() {
    let mut fixture = SessionFixture::ready_hook();
    fixture.approval("bash");
    for noise in ["DEBUG: thinking", "[1,2]", "\u{feff}{}", r#""text""#, "{", r#"{"id":0,"result":{}}"#] {
        fixture.line(noise);
    }
    fixture.bytes(&[0xff, 0xfe, 0x00]);
    // The hook's own call does not answer the call with the same number.
    fixture.line(r#"{"jsonrpc":"2.0","id":2,"method":"host.notify","params":{"text":"hi"}}"#);
    fixture.line(r#"{"jsonrpc":"2.0","method":"log","params":{}}"#);
    for id in [r#""2""#, "2.0", "-2", "null", "true"] {
        fixture.line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"approved":false}}}}"#));
    }
    fixture.line(r#"{"jsonrpc":"2.0","id":2,"result":{"approved":true}}"#);
    insta::assert_snapshot!(told(&fixture), @r#"
    +0.000 · log: skipped: not JSON: expected value in "DEBUG: thinking"
    +0.000 · log: skipped: a frame is a JSON object in "[1,2]"
    +0.000 · log: skipped: not JSON: expected value in "\u{feff}{}"
    +0.000 · log: skipped: a frame is a JSON object in "\"text\""
    +0.000 · log: skipped: not JSON: EOF while parsing an object in "{"
    +0.000 ! unknown_id: sent a line that answers no request and is skipped: the id is not a whole number above 0 in "{\"id\":0,\"result\":{}}"; a reply is {"jsonrpc":"2.0","id":7,"result":{…}} with the id of the request
    +0.000 · log: skipped: line is not UTF-8 in "��\0"
    +0.000 · log: unknown_id: sent a line that answers no request and is skipped: a call: a hook only replies in "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"host.notify\",\"params\":{\"text\":\"hi\"}}"; a reply is {"jsonrpc":"2.0","id":7,"result":{…}} with the id of the request
    +0.000 · log: unknown_id: sent a line that answers no request and is skipped: no id in "{\"jsonrpc\":\"2.0\",\"method\":\"log\",\"params\":{}}"; a reply is {"jsonrpc":"2.0","id":7,"result":{…}} with the id of the request
    +0.000 · log: unknown_id: sent a line that answers no request and is skipped: the id is not a whole number above 0 in "{\"jsonrpc\":\"2.0\",\"id\":\"2\",\"result\":{\"approved\":false}}"; a reply is {"jsonrpc":"2.0","id":7,"result":{…}} with the id of the request
    +0.000 · log: unknown_id: sent a line that answers no request and is skipped: the id is not a whole number above 0 in "{\"jsonrpc\":\"2.0\",\"id\":2.0,\"result\":{\"approved\":false}}"; a reply is {"jsonrpc":"2.0","id":7,"result":{…}} with the id of the request
    +0.000 · log: unknown_id: sent a line that answers no request and is skipped: the id is not a whole number above 0 in "{\"jsonrpc\":\"2.0\",\"id\":-2,\"result\":{\"approved\":false}}"; a reply is {"jsonrpc":"2.0","id":7,"result":{…}} with the id of the request
    +0.000 · log: unknown_id: sent a line that answers no request and is skipped: no id in "{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":{\"approved\":false}}"; a reply is {"jsonrpc":"2.0","id":7,"result":{…}} with the id of the request
    +0.000 · log: unknown_id: sent a line that answers no request and is skipped: the id is not a whole number above 0 in "{\"jsonrpc\":\"2.0\",\"id\":true,\"result\":{\"approved\":false}}"; a reply is {"jsonrpc":"2.0","id":7,"result":{…}} with the id of the request
    +0.000 = bash: {"type":"event_intercept_response","id":"2","block":false}
    "#);
}

#[test]
fn unreadable_reply_fails_its_call_immediately() {
    let mut fixture = SessionFixture::ready_hook();
    fixture.approval("bash");
    fixture.line(r#"{"jsonrpc":"2.0","id":2,"result":{"approved":false,"approved":true}}"#);
    insta::assert_snapshot!(told(&fixture), @r#"
    +0.000 ! hook_error: bash: the reply cannot be read: key "approved" occurs twice in one object; a reply is {"jsonrpc":"2.0","id":7,"result":{…}} with the id of the request
    +0.000 = bash: sent an invalid answer: the reply cannot be read: key "approved" occurs twice in one object; a reply is {"jsonrpc":"2.0","id":7,"result":{…}} with the id of the request
    "#);
}

#[test]
fn flood_of_noise_ends_connection() {
    let mut fixture =
        SessionFixture::hook_within(Limits { frames_per_second: 10, frame_burst: 10, ..Limits::default() });
    fixture.line(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    for _ in 0..300 {
        fixture.line("DEBUG");
        fixture.pass(Duration::from_millis(50));
    }
    assert_eq!(fixture.faults(), ["rate_limited", "rate_limited"]);
    assert!(fixture.session.is_closed());
}

#[test]
fn accepts_replies_up_to_the_limit() {
    let mut fixture = SessionFixture::ready_hook();
    assert_eq!(fixture.session.line_limit(), MAX_RESULT_LINE);
    fixture.approval("bash");
    fixture.session.handle_too_long();
    fixture.settle();
    insta::assert_snapshot!(told(&fixture), @r#"
    +0.000 ! frame_too_long: sent a line longer than 8388608 bytes
    +0.000 = bash: sent a line longer than 8388608 bytes
    +0.000 · Failed { code: FrameTooLong, message: "sent a line longer than 8388608 bytes" }
    "#);
}

#[test]
fn end_of_output_fails_open_queries() {
    let mut fixture = SessionFixture::ready_hook();
    fixture.approval("bash");
    let half = fixture
        .session
        .line_decoder()
        .decode(&bytes::Bytes::from_static(b"{\"jsonrpc\":\"2.0\",\"id"), Default::default());
    assert_eq!(fixture.session.handle_tail(half, fixture.now), Some(20));
    let whole = br#"{"jsonrpc":"2.0","id":2,"result":{"approved":true}}"#;
    let whole = fixture.session.line_decoder().decode(&bytes::Bytes::from_static(whole), Default::default());
    assert_eq!(fixture.session.handle_tail(whole, fixture.now), None, "a last line needs no newline");
    fixture.settle();
    fixture.approval("edit");
    fixture.session.end("exited with status 3");
    fixture.settle();
    insta::assert_snapshot!(told(&fixture), @r#"
    +0.000 = bash: {"type":"event_intercept_response","id":"2","block":false}
    +0.000 ! exited: exited with status 3
    +0.000 = edit: exited with status 3
    +0.000 · Failed { code: Exited, message: "exited with status 3" }
    "#);
}

#[test]
fn exit_before_hello_quotes_output() {
    let mut fixture = SessionFixture::hook();
    fixture.transcript.clear();
    fixture.session.end("exited with status 1; it printed: SyntaxError: invalid syntax");
    fixture.settle();
    insta::assert_snapshot!(fixture.transcript, @r#"
    +0.000 ! exited: ended before hello: exited with status 1; it printed: SyntaxError: invalid syntax
    +0.000 · Failed { code: Exited, message: "ended before hello: exited with status 1; it printed: SyntaxError: invalid syntax" }
    "#);
}

#[test]
fn unread_query_ends_hook() {
    let mut fixture = SessionFixture::ready_hook();
    fixture.approval("bash");
    fixture.pass_unread(seconds(60));
    insta::assert_snapshot!(told(&fixture), @r#"
    +60.000 = bash: does not read its input: bash could not be delivered within 60 s
    +60.000 ! write_stalled: does not read its input: bash could not be delivered within 60 s
    +60.000 · Failed { code: WriteStalled, message: "does not read its input: bash could not be delivered within 60 s" }
    "#);
}
