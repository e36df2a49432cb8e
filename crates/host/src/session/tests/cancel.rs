//! `cancel` to the extension, and `progress` from it.

use std::time::Duration;

use haft_protocol::ids::RequestId;

use super::session_fixture::SessionFixture;

/// Returns a ready extension with a tool that announced these capabilities.
fn announcing(capabilities: &str) -> SessionFixture {
    let mut fixture = SessionFixture::new();
    fixture.line(&format!(r#"{{"type":"hello","name":"ext","capabilities":{capabilities}}}"#));
    fixture.line(r#"{"type":"register_tool","name":"weather"}"#);
    fixture.line(r#"{"type":"ready"}"#);
    fixture.transcript.clear();
    fixture
}

fn progress(fixture: &mut SessionFixture, id: &RequestId, fields: &str) {
    fixture.line(&format!(r#"{{"type":"progress","id":"{id}"{fields}}}"#));
}

fn answer(fixture: &mut SessionFixture, id: &RequestId) {
    fixture.line(&format!(r#"{{"type":"tool_result","id":"{id}"}}"#));
}

#[test]
fn cancelled_and_overdue_questions_are_reported_to_the_extension() {
    let mut fixture = announcing(r#"["cancel"]"#);
    let (guard, tool) = (fixture.guard("guard"), fixture.tool("tool"));
    fixture.session.cancel(&tool, fixture.now);
    fixture.settle();
    answer(&mut fixture, &tool);
    fixture.pass(Duration::from_secs(5));
    fixture.session.cancel(&guard, fixture.now);
    fixture.settle();
    insta::assert_snapshot!(fixture.transcript, @r#"
    +0.000 → {"type":"event_intercept","id":"r1","event":"tool_call","tool_id":"t1","tool_name":"bash","tool_args":{"command":"ls"}}
    +0.000 → {"type":"tool_call","id":"r2","name":"weather","args":{}}
    +0.000 → {"type":"cancel","id":"r2"}
    +0.000 ← {"type":"tool_result","id":"r2"}
    +0.000 · log: late_response: tool_result r2
    +5.000 ! hook_timeout: guard was not answered within 5 s
    +5.000 = guard: did not answer within 5 s
    +5.000 → {"type":"cancel","id":"r1"}
    "#);
}

#[test]
fn extension_of_newer_zot_versions_gets_the_cancel_of_its_tools() {
    let mut fixture = announcing(r#"["tool_cancel"]"#);
    let (guard, tool) = (fixture.guard("guard"), fixture.tool("tool"));
    fixture.transcript.clear();
    fixture.session.cancel(&tool, fixture.now);
    fixture.session.cancel(&guard, fixture.now);
    fixture.settle();
    assert_eq!(fixture.transcript, "+0.000 → {\"type\":\"tool_cancel\",\"id\":\"r2\"}\n");
}

#[test]
fn extension_without_the_capability_gets_no_cancel() {
    let mut fixture = announcing("[]");
    let tool = fixture.tool("tool");
    fixture.transcript.clear();
    fixture.session.cancel(&tool, fixture.now);
    fixture.settle();
    assert_eq!(fixture.transcript, "");
}

#[test]
fn progress_renews_the_time_limit_of_its_call() {
    let mut fixture = announcing(r#"["progress"]"#);
    let tool = fixture.tool("tool");
    for _ in 0..2 {
        fixture.pass(Duration::from_secs(59));
        progress(&mut fixture, &tool, r#","content":[{"type":"text","text":"5 %"}],"details":{"done":5}"#);
    }
    fixture.pass(Duration::from_secs(59));
    progress(&mut fixture, &tool, "");
    fixture.pass(Duration::from_secs(60));
    insta::assert_snapshot!(fixture.transcript, @r#"
    +0.000 → {"type":"tool_call","id":"r1","name":"weather","args":{}}
    +59.000 ← {"type":"progress","id":"r1","content":[{"type":"text","text":"5 %"}],"details":{"done":5}}
    +59.000 % r1: Some([Text { text: "5 %" }]) Some({"done":5})
    +118.000 ← {"type":"progress","id":"r1","content":[{"type":"text","text":"5 %"}],"details":{"done":5}}
    +118.000 % r1: Some([Text { text: "5 %" }]) Some({"done":5})
    +177.000 ← {"type":"progress","id":"r1"}
    +237.000 ! call_timeout: tool was not answered within 60 s
    +237.000 = tool: did not answer within 60 s
    "#);
}

#[test]
fn progress_counts_only_for_open_tool_calls() {
    let mut fixture = announcing(r#"["progress"]"#);
    let (guard, tool, dropped) = (fixture.guard("guard"), fixture.tool("tool"), fixture.tool("dropped"));
    fixture.session.cancel(&dropped, fixture.now);
    answer(&mut fixture, &tool);
    fixture.transcript.clear();
    progress(&mut fixture, &guard, "");
    progress(&mut fixture, &tool, "");
    progress(&mut fixture, &dropped, "");
    progress(&mut fixture, &RequestId::new("r99"), "");
    // The answer to the dropped call is still only late.
    answer(&mut fixture, &dropped);
    insta::assert_snapshot!(fixture.transcript, @r#"
    +0.000 ← {"type":"progress","id":"r1"}
    +0.000 ! frame_invalid: sent progress for guard; only tool calls have progress
    +0.000 ← {"type":"progress","id":"r2"}
    +0.000 ! unknown_id: sent progress with the id r2, which no open call has
    +0.000 ← {"type":"progress","id":"r3"}
    +0.000 · log: sent progress with the id r3, which no open call has
    +0.000 ← {"type":"progress","id":"r99"}
    +0.000 · log: unknown_id: sent progress with the id r99, which no open call has
    +0.000 ← {"type":"tool_result","id":"r3"}
    +0.000 · log: late_response: tool_result r3
    "#);
}

#[test]
fn progress_with_too_long_details_keeps_its_text() {
    let mut fixture = announcing(r#"["progress"]"#);
    let tool = fixture.tool("tool");
    let details = format!(r#","content":[],"details":{{"map":"{}"}}"#, "x".repeat(1024 * 1024));
    progress(&mut fixture, &tool, &details);
    let reported: Vec<_> = fixture.transcript.lines().filter(|line| !line.contains('{')).collect();
    assert_eq!(
        reported,
        [
            "+0.000 ! frame_invalid: progress of tool: its details are longer than 1048576 bytes and were dropped",
            "+0.000 % r1: Some([]) None",
        ]
    );
}

#[test]
fn progress_without_the_capability_is_an_unknown_frame() {
    let mut fixture = announcing("[]");
    let tool = fixture.tool("tool");
    fixture.transcript.clear();
    progress(&mut fixture, &tool, "");
    assert_eq!(fixture.faults(), ["frame_unknown_type"]);
}
