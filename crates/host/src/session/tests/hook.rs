//! Process hooks in virtual time: JSON-RPC with calls by the host and replies by the hook.

use super::bench::Bench;
use super::*;

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// Returns the transcript without the calls and the replies.
fn told(bench: &Bench) -> String {
    let lines =
        bench.transcript.lines().filter(|line| !line.contains("hook.approve_tool") && !line.contains(" ← "));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn hook_session_starts_answers_and_shuts_down() {
    let mut bench = Bench::hook();
    assert!(!bench.session.has_greeted());
    bench.pass(seconds(1));
    bench.line(r#"{"jsonrpc":"2.0","id":1,"result":{"ok":true,"name":"gate"}}"#);
    assert!(bench.session.has_greeted());
    bench.approval("bash");
    bench.line(r#"{"jsonrpc":"2.0","id":2,"result":{"approved":true}}"#);
    bench.session.send_message(
        OutboundMessage::event(haft_protocol::hook::RuntimeEvent::default()).unwrap(),
        bench.now,
    );
    bench.session.shutdown(bench.now);
    bench.settle();
    bench.session.end("exited with status 0");
    bench.settle();
    insta::assert_snapshot!(bench.transcript, @r#"
    +0.000 → {"jsonrpc":"2.0","id":1,"method":"hook.hello","params":{"name":"gate","version":1,"modes":["tool"]}}
    +1.000 ← {"jsonrpc":"2.0","id":1,"result":{"ok":true,"name":"gate"}}
    +1.000 · Ready
    +1.000 → {"jsonrpc":"2.0","id":2,"method":"hook.approve_tool","params":{"meta":{"AgentID":"","TurnID":"","ParentTurnID":"","SessionKey":"","Iteration":0,"TracePath":"","Source":""},"tool":"bash","arguments":{},"channel":"","chat_id":""}}
    +1.000 ← {"jsonrpc":"2.0","id":2,"result":{"approved":true}}
    +1.000 = bash: {"approved":true}
    +1.000 → {"jsonrpc":"2.0","method":"hook.runtime_event","params":{"id":"","kind":"","time":"","source":{"component":""},"scope":{},"correlation":{}}}
    +1.000 · close input
    +1.000 · Stopping
    +1.000 · Stopped
    "#);
}

#[test]
fn kills_hook_without_signal_after_two_seconds() {
    let mut bench = Bench::ready_hook();
    bench.session.shutdown(bench.now);
    bench.settle();
    bench.pass(seconds(10));
    insta::assert_snapshot!(bench.transcript, @r#"
    +0.000 · close input
    +0.000 · Stopping
    +2.000 · log: still running: killing the process
    +2.000 · Stopped
    "#);
}

#[test]
fn fails_without_hello_reply() {
    let mut bench = Bench::hook();
    bench.transcript.clear();
    bench.line("starting up");
    bench.pass(seconds(60));
    insta::assert_snapshot!(bench.transcript, @r#"
    +0.000 ← starting up
    +0.000 · log: skipped: not JSON: expected value in "starting up"
    +5.000 ! hello_timeout: did not answer hook.hello within 5 s
    +5.000 · Failed { code: HelloTimeout, message: "did not answer hook.hello within 5 s" }
    "#);
}

#[track_caller]
fn hello(reply: &str, expect: Result<(), &str>) {
    let mut bench = Bench::hook();
    bench.line(reply);
    match (bench.session.state(), expect) {
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
    let mut bench = Bench::hook();
    bench.transcript.clear();
    bench.approval("bash");
    insta::assert_snapshot!(told(&bench), @"+0.000 = bash: has not said hello yet");
}

#[test]
fn replies_come_in_any_order() {
    let mut bench = Bench::ready_hook();
    for ticket in ["first", "second", "third"] {
        bench.approval(ticket);
    }
    bench.line(r#"{"jsonrpc":"2.0","id":4,"result":{"approved":true}}"#);
    bench.line(r#"{"jsonrpc":"2.0","id":2,"result":{}}"#);
    bench.line(r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"method not found"}}"#);
    insta::assert_snapshot!(told(&bench), @r#"
    +0.000 = third: {"approved":true}
    +0.000 = first: {}
    +0.000 ! hook_error: second: the hook reported an error: method not found
    +0.000 = second: sent an invalid answer: the hook reported an error: method not found
    "#);
}

#[test]
fn logs_late_reply_and_reports_second_one() {
    let mut bench = Bench::ready_hook();
    bench.approval("slow");
    bench.pass(seconds(60));
    bench.line(r#"{"jsonrpc":"2.0","id":2,"result":{"approved":true}}"#);
    bench.line(r#"{"jsonrpc":"2.0","id":2,"result":{"approved":true}}"#);
    bench.line(r#"{"jsonrpc":"2.0","id":99,"result":{"approved":true}}"#);
    insta::assert_snapshot!(told(&bench), @r#"
    +60.000 ! hook_timeout: slow was not answered within 60 s
    +60.000 = slow: did not answer within 60 s
    +60.000 · log: late_response: reply 2
    +60.000 ! duplicate_response: sent a second reply for one request
    +60.000 ! unknown_id: sent a reply with the unknown id 99
    "#);
}

#[test]
fn skips_noise_and_accepts_reply() {
    let mut bench = Bench::ready_hook();
    bench.approval("bash");
    for noise in ["DEBUG: thinking", "[1,2]", "\u{feff}{}", r#""text""#, "{", r#"{"id":0,"result":{}}"#] {
        bench.line(noise);
    }
    bench.bytes(&[0xff, 0xfe, 0x00]);
    // The hook's own call does not answer the call with the same number.
    bench.line(r#"{"jsonrpc":"2.0","id":2,"method":"host.notify","params":{"text":"hi"}}"#);
    bench.line(r#"{"jsonrpc":"2.0","method":"log","params":{}}"#);
    for id in [r#""2""#, "2.0", "-2", "null", "true"] {
        bench.line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"approved":false}}}}"#));
    }
    bench.line(r#"{"jsonrpc":"2.0","id":2,"result":{"approved":true}}"#);
    insta::assert_snapshot!(told(&bench), @r#"
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
    +0.000 = bash: {"approved":true}
    "#);
}

#[test]
fn unreadable_reply_fails_its_call_immediately() {
    let mut bench = Bench::ready_hook();
    bench.approval("bash");
    bench.line(r#"{"jsonrpc":"2.0","id":2,"result":{"approved":false,"approved":true}}"#);
    insta::assert_snapshot!(told(&bench), @r#"
    +0.000 ! hook_error: bash: the reply cannot be read: key "approved" occurs twice in one object; a reply is {"jsonrpc":"2.0","id":7,"result":{…}} with the id of the request
    +0.000 = bash: sent an invalid answer: the reply cannot be read: key "approved" occurs twice in one object; a reply is {"jsonrpc":"2.0","id":7,"result":{…}} with the id of the request
    "#);
}

#[test]
fn flood_of_noise_ends_connection() {
    let mut bench =
        Bench::hook_within(Limits { frames_per_second: 10, frame_burst: 10, ..Limits::default() });
    bench.line(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    for _ in 0..300 {
        bench.line("DEBUG");
        bench.pass(Duration::from_millis(50));
    }
    assert_eq!(bench.faults(), ["rate_limited", "rate_limited"]);
    assert!(bench.session.is_closed());
}

#[test]
fn accepts_replies_up_to_the_limit() {
    let mut bench = Bench::ready_hook();
    assert_eq!(bench.session.line_limit(), MAX_RESULT_LINE);
    bench.approval("bash");
    bench.session.handle_too_long();
    bench.settle();
    insta::assert_snapshot!(told(&bench), @r#"
    +0.000 ! frame_too_long: sent a line longer than 8388608 bytes
    +0.000 = bash: sent a line longer than 8388608 bytes
    +0.000 · Failed { code: FrameTooLong, message: "sent a line longer than 8388608 bytes" }
    "#);
}

#[test]
fn end_of_output_fails_open_queries() {
    let mut bench = Bench::ready_hook();
    bench.approval("bash");
    let half = bench
        .session
        .line_decoder()
        .decode(&bytes::Bytes::from_static(b"{\"jsonrpc\":\"2.0\",\"id"), Default::default());
    assert_eq!(bench.session.handle_tail(half, bench.now), Some(20));
    let whole = br#"{"jsonrpc":"2.0","id":2,"result":{"approved":true}}"#;
    let whole = bench.session.line_decoder().decode(&bytes::Bytes::from_static(whole), Default::default());
    assert_eq!(bench.session.handle_tail(whole, bench.now), None, "a last line needs no newline");
    bench.settle();
    bench.approval("edit");
    bench.session.end("exited with status 3");
    bench.settle();
    insta::assert_snapshot!(told(&bench), @r#"
    +0.000 = bash: {"approved":true}
    +0.000 ! exited: exited with status 3
    +0.000 = edit: exited with status 3
    +0.000 · Failed { code: Exited, message: "exited with status 3" }
    "#);
}

#[test]
fn exit_before_hello_quotes_output() {
    let mut bench = Bench::hook();
    bench.transcript.clear();
    bench.session.end("exited with status 1; it printed: SyntaxError: invalid syntax");
    bench.settle();
    insta::assert_snapshot!(bench.transcript, @r#"
    +0.000 ! exited: ended before hello: exited with status 1; it printed: SyntaxError: invalid syntax
    +0.000 · Failed { code: Exited, message: "ended before hello: exited with status 1; it printed: SyntaxError: invalid syntax" }
    "#);
}

#[test]
fn unread_query_ends_hook() {
    let mut bench = Bench::ready_hook();
    bench.approval("bash");
    bench.pass_unread(seconds(60));
    insta::assert_snapshot!(told(&bench), @r#"
    +60.000 = bash: does not read its input: bash could not be delivered within 60 s
    +60.000 ! write_stalled: does not read its input: bash could not be delivered within 60 s
    +60.000 · Failed { code: WriteStalled, message: "does not read its input: bash could not be delivered within 60 s" }
    "#);
}
