//! Whole conversations in virtual time, without a process. `→` is output of the host, `←` output of the
//! extension, `=` an answer, `*` a call served for the extension, `!` a fault, `·` anything else.

mod calls;
mod cancel;
mod completions;
mod floods;
mod grants;
mod hook;
mod life;
mod session_fixture;
mod shortcuts;

use std::time::Duration;

use haft_protocol::RawJson;
use haft_protocol::ext::{CallTool, HostFrame, InvokeCommand};
use haft_protocol::limits::{MAX_LINE, MAX_RESULT_LINE};

use super::*;
use session_fixture::SessionFixture;

#[test]
fn session_starts_answers_and_shuts_down() {
    let mut fixture = SessionFixture::new();
    fixture.line(r#"{"type":"hello","name":"ext","version":"1.0.0"}"#);
    fixture.line(r#"{"type":"register_tool","name":"weather","schema":{"type":"object"}}"#);
    fixture.line(r#"{"type":"subscribe","events":["turn_start"],"intercept":["tool_call"]}"#);
    fixture.line(r#"{"type":"ready"}"#);
    fixture.pass(Duration::from_secs(1));
    let guard = fixture.guard("guard");
    let tool = fixture.tool("tool");
    fixture
        .line(&format!(r#"{{"type":"event_intercept_response","id":"{guard}","block":true,"reason":"no"}}"#));
    fixture.line(&format!(
        r#"{{"type":"tool_result","id":"{tool}","content":[{{"type":"text","text":"fog"}}]}}"#
    ));
    fixture
        .session
        .send_message(HostFrame::from(haft_protocol::ext::LifecycleEvent::turn_start(2)), fixture.now);
    fixture.session.shutdown(fixture.now);
    fixture.settle();
    fixture.line(r#"{"type":"shutdown_ack"}"#);
    fixture.session.end("exited with status 0");
    fixture.settle();
    insta::assert_snapshot!(fixture.transcript, @r#"
    +0.000 ← {"type":"hello","name":"ext","version":"1.0.0"}
    +0.000 → {"type":"hello_ack","protocol_version":1,"zot_version":"0.1.0","provider":"scripted","model":"demo","cwd":"/work"}
    +0.000 · Starting
    +0.000 ← {"type":"register_tool","name":"weather","schema":{"type":"object"}}
    +0.000 · Starting
    +0.000 ← {"type":"subscribe","events":["turn_start"],"intercept":["tool_call"]}
    +0.000 · Starting
    +0.000 ← {"type":"ready"}
    +0.000 · Ready
    +1.000 → {"type":"event_intercept","id":"r1","event":"tool_call","tool_id":"t1","tool_name":"bash","tool_args":{"command":"ls"}}
    +1.000 → {"type":"tool_call","id":"r2","name":"weather","args":{}}
    +1.000 ← {"type":"event_intercept_response","id":"r1","block":true,"reason":"no"}
    +1.000 = guard: Intercept(EventInterceptResponse { id: RequestId("r1"), block: Some(true), reason: "no", modified_args: None, tool_name: None, modified_tool: None, replace_text: "", append_system_prompt: "", system_prompt: None, summary: "", first_kept: None, content: None, details: None, is_error: None, display: None, text: None, images: None, handled: None, go_on: "", messages: None, model: None, thinking: None, options: None, tools: None, payload: None, headers: None, command: None, result: None, skills: None, templates: None, trust: None, remember: None, stop: None, error: "" })
    +1.000 ← {"type":"tool_result","id":"r2","content":[{"type":"text","text":"fog"}]}
    +1.000 = tool: Tool(ToolResultFrame { id: RequestId("r2"), content: [Text { text: "fog" }], is_error: false, details: None, terminate: false })
    +1.000 → {"type":"event","event":"turn_start","step":2}
    +1.000 → {"type":"shutdown"}
    +1.000 · close input
    +1.000 · Stopping
    +1.000 ← {"type":"shutdown_ack"}
    +1.000 · log: shutdown_ack
    +1.000 · Stopped
    "#);
}

#[test]
fn fails_without_hello() {
    let mut fixture = SessionFixture::new();
    fixture.pass(Duration::from_secs(60));
    insta::assert_snapshot!(fixture.transcript, @r##"
    +60.000 ! hello_timeout: sent no hello within 60 s
    +60.000 · Failed { code: HelloTimeout, message: "sent no hello within 60 s" }
    "##);
}

#[test]
fn silence_counts_as_ready() {
    let mut fixture = SessionFixture::new();
    fixture.line(r#"{"type":"hello","name":"ext"}"#);
    fixture.pass(Duration::from_millis(200));
    fixture.line(r#"{"type":"register_command","name":"now"}"#);
    fixture.pass(Duration::from_millis(249));
    assert_eq!(fixture.session.state(), ExtensionState::Starting);
    fixture.pass(Duration::from_millis(1));
    assert_eq!(fixture.session.state(), ExtensionState::Ready);
}

#[test]
fn silence_before_first_registration_is_not_ready() {
    let mut fixture = SessionFixture::new();
    fixture.line(r#"{"type":"hello","name":"ext"}"#);
    fixture.pass(Duration::from_millis(600));
    fixture.line(r#"{"type":"notify","message":"reading the rules"}"#);
    fixture.pass(Duration::from_secs(9));
    assert_eq!(fixture.session.state(), ExtensionState::Starting);
    fixture.line(r#"{"type":"subscribe","intercept":["tool_call"]}"#);
    fixture.pass(Duration::from_millis(250));
    assert_eq!(fixture.session.state(), ExtensionState::Ready);

    let mut fixture = SessionFixture::new();
    fixture.line(r#"{"type":"hello","name":"ext"}"#);
    fixture.pass(Duration::from_millis(9999));
    assert_eq!(fixture.session.state(), ExtensionState::Starting);
    fixture.pass(Duration::from_millis(1));
    assert_eq!(fixture.session.state(), ExtensionState::Ready);
}

#[test]
fn busy_extension_is_ready_after_ten_seconds() {
    let mut fixture = SessionFixture::new();
    fixture.line(r#"{"type":"hello","name":"ext"}"#);
    for _ in 0..100 {
        assert_eq!(fixture.session.state(), ExtensionState::Starting);
        fixture.line(r#"{"type":"notify","message":"still here"}"#);
        fixture.pass(Duration::from_millis(100));
    }
    assert_eq!(fixture.session.state(), ExtensionState::Ready);
    assert_eq!(fixture.faults(), Vec::<String>::new());
}

#[test]
fn timeout_and_late_answer_are_one_failure() {
    let mut fixture = SessionFixture::ready();
    let id = fixture.guard("guard");
    fixture.pass(Duration::from_millis(4999));
    assert_eq!(fixture.session.pending.len(), 1);
    fixture.pass(Duration::from_millis(1));
    fixture.line(&format!(r#"{{"type":"event_intercept_response","id":"{id}"}}"#));
    insta::assert_snapshot!(fixture.transcript, @r##"
    +0.000 → {"type":"event_intercept","id":"r1","event":"tool_call","tool_id":"t1","tool_name":"bash","tool_args":{"command":"ls"}}
    +5.000 ! hook_timeout: guard was not answered within 5 s
    +5.000 = guard: did not answer within 5 s
    +5.000 ← {"type":"event_intercept_response","id":"r1"}
    +5.000 · log: late_response: event_intercept_response r1
    "##);
}

#[test]
fn undeliverable_query_ends_extension() {
    let mut fixture = SessionFixture::ready();
    fixture.tool("tool");
    fixture.guard("guard");
    fixture.pass_unread(Duration::from_secs(60));
    insta::assert_snapshot!(fixture.transcript, @r##"
    +0.000 → {"type":"tool_call","id":"r1","name":"weather","args":{}}
    +0.000 → {"type":"event_intercept","id":"r2","event":"tool_call","tool_id":"t1","tool_name":"bash","tool_args":{"command":"ls"}}
    +5.000 = guard: does not read its input: guard could not be delivered within 5 s
    +5.000 ! write_stalled: does not read its input: guard could not be delivered within 5 s
    +5.000 = tool: does not read its input: guard could not be delivered within 5 s
    +5.000 · Failed { code: WriteStalled, message: "does not read its input: guard could not be delivered within 5 s" }
    "##);
}

#[test]
fn exit_fails_all_queries_immediately() {
    let mut fixture = SessionFixture::ready();
    fixture.tool("tool");
    fixture.guard("guard");
    fixture.pass(Duration::from_millis(10));
    fixture.session.end("exited with status 3");
    fixture.settle();
    fixture.guard("after");
    insta::assert_snapshot!(fixture.transcript, @r##"
    +0.000 → {"type":"tool_call","id":"r1","name":"weather","args":{}}
    +0.000 → {"type":"event_intercept","id":"r2","event":"tool_call","tool_id":"t1","tool_name":"bash","tool_args":{"command":"ls"}}
    +0.010 ! exited: exited with status 3
    +0.010 = tool: exited with status 3
    +0.010 = guard: exited with status 3
    +0.010 · Failed { code: Exited, message: "exited with status 3" }
    +0.010 = after: exited with status 3
    "##);
}

#[test]
fn answer_to_cancelled_query_is_not_a_fault() {
    let mut fixture = SessionFixture::ready();
    let id = fixture.guard("guard");
    fixture.session.cancel(&id, fixture.now);
    assert_eq!(fixture.session.pending.len(), 0);
    fixture.line(&format!(r#"{{"type":"event_intercept_response","id":"{id}","block":true}}"#));
    assert_eq!(fixture.faults(), Vec::<String>::new());
}

/// Checks the fault codes after these lines, which follow `ready` and one open `tool_call` intercept `r1`.
#[track_caller]
fn check(lines: &[&str], expect: &[&str]) {
    let mut fixture = SessionFixture::ready();
    fixture.guard("guard");
    for line in lines {
        fixture.line(line);
    }
    assert_eq!(fixture.faults(), expect, "{lines:?}");
    assert_eq!(fixture.session.state(), ExtensionState::Ready);
}

#[test]
fn reports_bad_lines_and_continues() {
    check(&["npm WARN", "more junk", "even more"], &["frame_not_json"]);
    check(&[r#"["hello","x"]"#, "7", "null"], &["frame_not_object"]);
    check(&[r#"{"type":"notify","message":"a","message":"b"}"#], &["frame_duplicate_key"]);
    check(&[r#"{"type":"warp"}"#, r#"{"type":"warp"}"#, r#"{"kind":1}"#], &["frame_unknown_type"]);
    check(&[r#"{"type":"hello_ack"}"#], &["frame_unknown_type"]);
    check(&[r#"{"type":"hello","name":"ext"}"#], &["frame_invalid"]);
    check(&[r#"{"type":"register_tool","name":"bad name!"}"#], &["register_rejected"]);
    check(&[r#"{"type":"subscribe","intercept":["warp"]}"#], &["register_rejected"]);
    check(&[r#"{"type":"register_tool","name":7}"#], &["frame_invalid"]);
    check(&[r#"{"type":"register","kind":"shortcut","name":"ctrl+g"}"#], &["register_rejected"]);
    check(&[r#"{"type":"unregister","kind":"tool","name":"weather"}"#], &["register_rejected"]);
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    check(&[&deep], &["frame_too_deep"]);
}

#[test]
fn reports_unknown_types_once() {
    let mut fixture = SessionFixture::ready();
    for index in 0..1000 {
        fixture.line(&format!(r#"{{"type":"warp{index}"}}"#));
    }
    assert_eq!(fixture.faults(), ["frame_unknown_type"]);
}

#[test]
fn reports_unrequested_answers() {
    check(&[r#"{"type":"event_intercept_response","id":"guessed"}"#], &["unknown_id"]);
    check(&[r#"{"type":"tool_result","id":"r1"}"#], &["frame_invalid"]);
    let answer = r#"{"type":"event_intercept_response","id":"r1"}"#;
    check(&[answer, answer, answer], &["duplicate_response"]);
}

#[test]
fn unreadable_answer_fails_gate_immediately() {
    for block in [r#""false""#, "1", "null", r#""true""#, "[]"] {
        let mut fixture = SessionFixture::ready();
        fixture.guard("guard");
        fixture.line(&format!(r#"{{"type":"event_intercept_response","id":"r1","block":{block}}}"#));
        assert!(fixture.transcript.contains("= guard: sent an invalid answer"), "{block}");
        assert_eq!(fixture.faults(), ["hook_error"], "{block}");
    }
    let mut fixture = SessionFixture::ready();
    fixture.tool("tool");
    fixture.line(r#"{"type":"tool_result","id":"r1","content":"text"}"#);
    assert_eq!(fixture.faults(), ["frame_invalid"]);
    assert_eq!(fixture.session.pending.len(), 0);
}

#[test]
fn invalid_frame_with_id_fails_its_query() {
    for line in [
        b"{\"type\":\"tool_result\",\"id\":\"r1\",\"content\":[{\"type\":\"text\",\"text\":\"\xff\"}]}"
            .to_vec(),
        br#"{"type":"tool_result","id":"r1","content":[],"content":[]}"#.to_vec(),
        format!(r#"{{"type":"tool_result","id":"r1","content":{}{}}}"#, "[".repeat(90), "]".repeat(90))
            .into(),
    ] {
        let mut fixture = SessionFixture::ready();
        fixture.tool("tool");
        fixture.bytes(&line);
        assert!(fixture.transcript.contains("= tool: sent an invalid answer"), "{}", fixture.transcript);
        fixture.pass(Duration::from_secs(61));
        assert_eq!(fixture.faults().len(), 1, "{}", String::from_utf8_lossy(&line));
    }
}

#[test]
fn ignores_faults_while_leaving() {
    let mut fixture = SessionFixture::ready();
    fixture.session.shutdown(fixture.now);
    fixture.settle();
    fixture.line(r#"{"type":"warp"}"#);
    fixture.line("bye");
    fixture.line(r#"{"type":"tool_result","id":"r9"}"#);
    assert_eq!(fixture.faults(), Vec::<String>::new());
}

#[test]
fn leaving_extension_keeps_grace_period_after_closing_stream() {
    let mut fixture = SessionFixture::ready();
    fixture.session.shutdown(fixture.now);
    fixture.session.on_half_closed(fixture.now, "closed its output and kept running");
    fixture.settle();
    fixture.pass(Duration::from_millis(1999));
    assert_eq!(fixture.session.state(), ExtensionState::Stopping);
}

#[test]
fn reports_first_line_that_is_not_hello() {
    let first = |lines: &[&str]| {
        let mut fixture = SessionFixture::new();
        lines.iter().for_each(|line| fixture.line(line));
        (fixture.faults(), fixture.session.is_closed())
    };
    let invalid = |closed: bool| (vec!["hello_invalid".to_owned()], closed);
    assert_eq!(first(&[r#"{"type":"ready"}"#]), invalid(true));
    assert_eq!(first(&[r#"{"type":"warp"}"#]), invalid(true));
    assert_eq!(first(&[r#"{"type":"hello"}"#]), invalid(true));
    assert_eq!(first(&[r#"{"type":"hello","name":"other"}"#]), invalid(false));
    let banner = (vec!["frame_not_json".to_owned()], false);
    assert_eq!(first(&["welcome", "to npm", r#"{"type":"hello","name":"ext"}"#]), banner);
    let junk = vec!["junk"; 21];
    assert_eq!(first(&junk), (vec!["frame_not_json".to_owned(), "hello_invalid".to_owned()], true));
}

#[test]
fn line_limit_is_large_only_while_result_is_expected() {
    let mut fixture = SessionFixture::ready();
    assert_eq!(fixture.session.line_limit(), MAX_LINE);
    fixture.guard("guard");
    assert_eq!(fixture.session.line_limit(), MAX_LINE);
    let id = fixture.tool("tool");
    assert_eq!(fixture.session.line_limit(), MAX_RESULT_LINE);
    fixture.pass(Duration::from_secs(61));
    assert_eq!(fixture.session.line_limit(), MAX_RESULT_LINE, "a late result is dropped without a fault");
    fixture.line(&format!(r#"{{"type":"tool_result","id":"{id}"}}"#));
    assert_eq!(fixture.session.line_limit(), MAX_LINE);
}

#[test]
fn terminates_and_kills_extension_that_does_not_leave() {
    let mut fixture = SessionFixture::ready();
    fixture.tool("tool");
    fixture.session.shutdown(fixture.now);
    fixture.settle();
    fixture.pass(Duration::from_secs(10));
    insta::assert_snapshot!(fixture.transcript, @r##"
    +0.000 → {"type":"tool_call","id":"r1","name":"weather","args":{}}
    +0.000 → {"type":"shutdown"}
    +0.000 · close input
    +0.000 = tool: is being stopped
    +0.000 · Stopping
    +2.000 · log: still running: sending a terminate signal
    +2.000 · terminate
    +3.000 · log: still running: killing the process
    +3.000 · Stopped
    "##);
}

#[test]
fn shutdown_before_hello_sends_nothing() {
    let mut fixture = SessionFixture::new();
    fixture.session.shutdown(fixture.now);
    fixture.settle();
    fixture.line(r#"{"type":"hello","name":"ext"}"#);
    assert_eq!(fixture.written, 0);
    assert_eq!(fixture.faults(), Vec::<String>::new());
}

#[test]
fn does_not_send_overlong_frame() {
    let mut fixture = SessionFixture::ready();
    let args = RawJson::from_value(&serde_json::json!({ "text": "x".repeat(MAX_RESULT_LINE) })).unwrap();
    fixture.ask("tool", CallTool { name: "weather".into(), args, tool_id: None }, 60);
    assert!(fixture.transcript.contains("= tool: was not sent the request"), "{}", fixture.transcript);
    assert_eq!(fixture.faults(), ["frame_too_long"]);
    assert_eq!(fixture.session.pending.len(), 0);
}

#[test]
fn omits_empty_command_arguments() {
    let mut fixture = SessionFixture::ready();
    fixture.ask("command", InvokeCommand { name: "hello".into(), args: String::new() }, 30);
    assert!(fixture.transcript.contains(r#"→ {"type":"command_invoked","id":"r1","name":"hello"}"#));
}
