//! Calls of an extension to the host. `*` marks a call that the session passes on.

use std::time::Duration;

use haft_protocol::ext::{HostCallError, HostResult, InterceptAgentEnd, Limits, ResultBlock};
use haft_protocol::ids::RequestId;

use super::session_fixture::SessionFixture;
use crate::session::CallId;

fn call(fixture: &mut SessionFixture, id: &str, call: &str) {
    fixture.line(&format!(r#"{{"type":"host_call","id":"{id}","call":"{call}","args":{{}}}}"#));
}

fn done(fixture: &mut SessionFixture, id: &str) {
    let content = vec![ResultBlock::Text { text: "done".into() }];
    let result = HostResult::with_content(RequestId::new(id), content);
    fixture.session.handle_result(&CallId::Named(result.id.clone()), "read", result, fixture.now);
    fixture.settle();
}

fn cancelled_calls(fixture: &SessionFixture) -> Vec<&str> {
    let cancelled = fixture.transcript.lines().filter_map(|line| line.split_once("* cancel "));
    cancelled.map(|(_, id)| id).collect()
}

#[test]
fn answers_each_call_once_within_limit() {
    let mut fixture = SessionFixture::ready_within(Limits { max_host_calls: 2, ..Limits::default() });
    call(&mut fixture, "a", "read");
    call(&mut fixture, "b", "exec");
    call(&mut fixture, "c", "write");
    call(&mut fixture, "b", "edit");
    call(&mut fixture, "d", "delete");
    done(&mut fixture, "a");
    done(&mut fixture, "a");
    call(&mut fixture, "a", "edit");
    fixture.line(r#"{"type":"host_call_cancel","id":"b"}"#);
    fixture.line(r#"{"type":"host_call_cancel","id":"z"}"#);
    fixture.session.shutdown(fixture.now);
    fixture.settle();
    done(&mut fixture, "b");
    insta::assert_snapshot!(fixture.transcript, @r#"
    +0.000 ← {"type":"host_call","id":"a","call":"read","args":{}}
    +0.000 * read a
    +0.000 ← {"type":"host_call","id":"b","call":"exec","args":{}}
    +0.000 * exec b
    +0.000 ← {"type":"host_call","id":"c","call":"write","args":{}}
    +0.000 → {"type":"host_result","id":"c","content":[{"type":"text","text":"2 calls are already running, which is the limit; wait until one of them ends"}],"is_error":true,"code":"busy"}
    +0.000 ← {"type":"host_call","id":"b","call":"edit","args":{}}
    +0.000 ! frame_invalid: sent host_call b while another call with that id runs; the second call is ignored
    +0.000 ← {"type":"host_call","id":"d","call":"delete","args":{}}
    +0.000 → {"type":"host_result","id":"d","content":[{"type":"text","text":"unknown call \"delete\"; docs/protocol.md lists the calls"}],"is_error":true,"code":"unknown_call"}
    +0.000 → {"type":"host_result","id":"a","content":[{"type":"text","text":"done"}]}
    +0.000 ← {"type":"host_call","id":"a","call":"edit","args":{}}
    +0.000 * edit a
    +0.000 ← {"type":"host_call_cancel","id":"b"}
    +0.000 * cancel b
    +0.000 ← {"type":"host_call_cancel","id":"z"}
    +0.000 → {"type":"shutdown"}
    +0.000 · close input
    +0.000 * cancel all
    +0.000 · Stopping
    "#);
}

#[test]
fn lock_can_be_released_while_all_others_wait() {
    let mut fixture = SessionFixture::ready();
    for id in 0..Limits::default().max_host_calls {
        fixture.line(&format!(
            r#"{{"type":"host_call","id":"l{id}","call":"lock_file","args":{{"path":"a"}}}}"#
        ));
    }
    fixture.line(r#"{"type":"host_call","id":"one-more","call":"lock_file","args":{"path":"a"}}"#);
    fixture.line(r#"{"type":"host_call","id":"u","call":"unlock_file","args":{"lease":"lock-1"}}"#);
    let transcript = &fixture.transcript;
    assert_eq!(transcript.matches(r#""code":"busy""#).count(), 1, "{transcript}");
    assert!(transcript.contains("* unlock_file u\n"), "{transcript}");
}

#[test]
fn calls_without_an_id_have_no_result() {
    let mut fixture = SessionFixture::ready_within(Limits { max_host_calls: 2, ..Limits::default() });
    let calls = [
        ("set_title", r#"{"text":"bakery"}"#),
        ("prompt", r#"{"message":"go on"}"#),
        ("prompt", r#"{"message":"and on"}"#),
        ("abort", "{}"),
        ("prompt", "{}"),
        ("confirm", r#"{"title":"Go?"}"#),
        ("delete", "{}"),
    ];
    for (call, args) in calls {
        fixture.line(&format!(r#"{{"type":"host_call","call":"{call}","args":{args}}}"#));
    }
    let failed = HostResult::from_failure(RequestId::new(""), HostCallError::QueueFull, "too many prompts");
    fixture.session.handle_result(&CallId::Unnamed(2), "prompt", failed, fixture.now);
    let done = HostResult::with_content(RequestId::new(""), Vec::new());
    fixture.session.handle_result(&CallId::Unnamed(3), "prompt", done, fixture.now);
    fixture.settle();
    insta::assert_snapshot!(fixture.transcript, @r#"
    +0.000 ← {"type":"host_call","call":"set_title","args":{"text":"bakery"}}
    +0.000 * set_title without an id (1)
    +0.000 ← {"type":"host_call","call":"prompt","args":{"message":"go on"}}
    +0.000 * prompt without an id (2)
    +0.000 ← {"type":"host_call","call":"prompt","args":{"message":"and on"}}
    +0.000 * prompt without an id (3)
    +0.000 ← {"type":"host_call","call":"abort","args":{}}
    +0.000 ! call_failed: abort failed: 2 commands are already running, which is the limit; wait until one of them ends
    +0.000 ← {"type":"host_call","call":"prompt","args":{}}
    +0.000 ! call_failed: prompt failed: 2 commands are already running, which is the limit; wait until one of them ends
    +0.000 ← {"type":"host_call","call":"confirm","args":{"title":"Go?"}}
    +0.000 ! call_failed: confirm failed: the call has a result and requires an id
    +0.000 ← {"type":"host_call","call":"delete","args":{}}
    +0.000 ! call_failed: delete failed: unknown call "delete"; docs/protocol.md lists the calls
    +0.000 ! call_failed: prompt failed: too many prompts
    "#);
}

#[test]
fn command_ends_with_a_request_only_if_it_names_it() {
    let mut fixture = SessionFixture::ready();
    let tool = fixture.tool("tool");
    fixture.line(r#"{"type":"host_call","id":"free","call":"wait_idle","args":{}}"#);
    fixture.line(&format!(
        r#"{{"type":"host_call","id":"tied","call":"wait_idle","args":{{}},"under":"{tool}"}}"#
    ));
    fixture.session.cancel(&tool, fixture.now);
    fixture.settle();
    assert_eq!(cancelled_calls(&fixture), ["tied"]);
}

/// Two queries are open at the first call, none at the second, and one at the third.
#[test]
fn call_ends_with_last_query_that_it_may_serve() {
    let mut fixture = SessionFixture::ready();
    let (tool, guard) = (fixture.tool("tool"), fixture.guard("guard"));
    call(&mut fixture, "both", "exec");
    fixture.session.cancel(&tool, fixture.now);
    fixture.settle();
    assert!(!fixture.transcript.contains("cancel"), "{}", fixture.transcript);
    fixture.session.cancel(&guard, fixture.now);
    fixture.settle();
    call(&mut fixture, "own", "exec");
    let tool = fixture.tool("tool");
    call(&mut fixture, "one", "exec");
    fixture.session.cancel(&tool, fixture.now);
    fixture.settle();
    let tool = fixture.tool("tool");
    call(&mut fixture, "answered", "exec");
    fixture.line(&format!(r#"{{"type":"tool_result","id":"{tool}","content":[]}}"#));
    fixture.session.cancel(&tool, fixture.now);
    fixture.settle();
    assert_eq!(cancelled_calls(&fixture), ["both", "one"]);
}

/// A call for an answer that came too late ends, like a call for a cancelled query.
#[test]
fn call_ends_with_overdue_query() {
    let mut fixture = SessionFixture::ready();
    call(&mut fixture, "own", "exec");
    fixture.guard("guard");
    call(&mut fixture, "asked", "exec");
    fixture.pass(Duration::from_secs(3600));
    assert!(fixture.transcript.contains("hook_timeout"), "{}", fixture.transcript);
    assert_eq!(cancelled_calls(&fixture), ["asked"]);
}

#[test]
fn rejects_calls_before_ready() {
    let mut fixture = SessionFixture::new();
    fixture.line(r#"{"type":"hello","name":"ext"}"#);
    call(&mut fixture, "a", "read");
    assert!(fixture.transcript.contains(r#""code":"unavailable""#), "{}", fixture.transcript);
    assert!(!fixture.transcript.contains('*'), "{}", fixture.transcript);
}

/// Ten thousand sequential calls are slowed down to the rate and do not end the extension.
#[test]
fn limits_call_rate_and_counts_refused_calls() {
    let mut fixture = SessionFixture::ready();
    let limits = Limits::default();
    for _ in 0..limits.frame_burst {
        call(&mut fixture, "a", "edit");
        done(&mut fixture, "a");
    }
    assert!(!fixture.session.is_paused());
    fixture.transcript.clear();
    let begun = fixture.now;
    for _ in 0..10_000 {
        call(&mut fixture, "a", "edit");
        done(&mut fixture, "a");
        while fixture.session.is_paused() {
            fixture.pass(Duration::from_millis(5));
        }
    }
    let took = (fixture.now - begun).as_secs();
    assert!((49..=51).contains(&took), "{took} s at {} a second", limits.frames_per_second);
    assert_eq!(fixture.faults(), ["rate_limited"]);
    for _ in 0..10_000 {
        call(&mut fixture, "a", "delete");
        fixture.pass(Duration::from_millis(2));
    }
    assert_eq!(
        fixture.faults(),
        ["rate_limited", "rate_limited"],
        "one report of the slow-down, one of the end"
    );
    assert!(!fixture.session.phase.is_in_use());
}

#[test]
fn ungranted_calls_count_as_flood_and_are_reported_once() {
    let mut fixture = SessionFixture::granted(r#"{"host":["fs.read"]}"#);
    fixture.line(r#"{"type":"hello","name":"ext"}"#);
    fixture.line(r#"{"type":"ready"}"#);
    fixture.transcript.clear();
    call(&mut fixture, "a", "write");
    call(&mut fixture, "b", "read");
    insta::assert_snapshot!(fixture.transcript, @r#"
    +0.000 ← {"type":"host_call","id":"a","call":"write","args":{}}
    +0.000 ! permission_denied: made a call without permission: extension ext must not use write through haft: the permission fs.write is not granted
    +0.000 → {"type":"host_result","id":"a","content":[{"type":"text","text":"extension ext must not use write through haft: the permission fs.write is not granted"}],"is_error":true,"code":"permission_denied","permission":"fs.write"}
    +0.000 ← {"type":"host_call","id":"b","call":"read","args":{}}
    +0.000 * read b
    "#);
    for _ in 0..10_000 {
        call(&mut fixture, "a", "exec");
    }
    assert!(fixture.session.is_paused());
    assert_eq!(fixture.faults(), ["permission_denied", "rate_limited"]);
}

#[test]
fn long_call_counts_for_each_portion() {
    let mut fixture = SessionFixture::ready_within(Limits { frame_burst: 20, ..Limits::default() });
    let long = "x".repeat(900_000);
    for expect in [false, true] {
        fixture.line(&format!(
            r#"{{"type":"host_call","id":"{expect}","call":"write","args":{{"content":"{long}"}}}}"#
        ));
        assert_eq!(fixture.session.is_paused(), expect);
    }
}

fn confirm(fixture: &mut SessionFixture, id: &str, rest: &str) {
    let args = r#"{"title":"Go?"}"#;
    fixture.line(&format!(r#"{{"type":"host_call","id":"{id}","call":"confirm","args":{args}{rest}}}"#));
}

fn has_timed_out(fixture: &SessionFixture) -> bool {
    fixture.transcript.contains("hook_timeout")
}

#[test]
fn time_of_a_request_stands_still_while_a_person_is_asked() {
    let mut fixture = SessionFixture::ready();
    fixture.guard("guard");
    fixture.pass(Duration::from_secs(4));
    confirm(&mut fixture, "a", "");
    fixture.pass(Duration::from_secs(40));
    confirm(&mut fixture, "b", "");
    done(&mut fixture, "a");
    fixture.pass(Duration::from_secs(50));
    done(&mut fixture, "b");
    fixture.pass(Duration::from_millis(900));
    assert!(!has_timed_out(&fixture), "{}", fixture.transcript);
    fixture.pass(Duration::from_millis(200));
    assert!(has_timed_out(&fixture), "{}", fixture.transcript);
}

#[test]
fn event_that_the_host_waits_for_keeps_its_time_during_a_question() {
    let mut fixture = SessionFixture::ready();
    let waited = fixture.ask("agent_end", InterceptAgentEnd { error: None }, 5);
    confirm(&mut fixture, "a", &format!(r#","under":"{waited}""#));
    fixture.pass(Duration::from_secs(6));
    assert_eq!(fixture.transcript.matches("hook_timeout").count(), 1, "{}", fixture.transcript);
}

#[test]
fn question_stops_only_the_time_of_its_own_request() {
    let mut fixture = SessionFixture::ready();
    let (guard, other) = (fixture.guard("guard"), fixture.guard("other"));
    confirm(&mut fixture, "a", &format!(r#","under":"{guard}""#));
    // With two open requests, a question without `under` belongs to neither.
    confirm(&mut fixture, "b", "");
    call(&mut fixture, "c", "exec");
    fixture.pass(Duration::from_secs(6));
    let timeouts = fixture.transcript.matches("hook_timeout").count();
    assert_eq!(timeouts, 1, "{}", fixture.transcript);
    assert!(!fixture.transcript.contains("* cancel"), "{}", fixture.transcript);
    confirm(&mut fixture, "late", &format!(r#","under":"{other}""#));
    assert!(fixture.transcript.contains(r#""code":"cancelled""#), "{}", fixture.transcript);
    fixture.session.cancel(&guard, fixture.now);
    fixture.settle();
    assert!(fixture.transcript.contains("* cancel a"), "{}", fixture.transcript);
}

#[test]
fn questions_have_their_own_limit_and_checked_arguments() {
    let limits = Limits { max_host_calls: 1, max_asks: 1, ..Limits::default() };
    let mut fixture = SessionFixture::ready_within(limits);
    call(&mut fixture, "a", "exec");
    confirm(&mut fixture, "b", "");
    confirm(&mut fixture, "c", "");
    call(&mut fixture, "d", "exec");
    done(&mut fixture, "b");
    fixture.line(r#"{"type":"host_call","id":"e","call":"select","args":{"title":"Which?","options":[]}}"#);
    insta::assert_snapshot!(fixture.transcript, @r#"
    +0.000 ← {"type":"host_call","id":"a","call":"exec","args":{}}
    +0.000 * exec a
    +0.000 ← {"type":"host_call","id":"b","call":"confirm","args":{"title":"Go?"}}
    +0.000 * confirm b
    +0.000 ← {"type":"host_call","id":"c","call":"confirm","args":{"title":"Go?"}}
    +0.000 → {"type":"host_result","id":"c","content":[{"type":"text","text":"1 questions are already open, which is the limit; wait until one of them ends"}],"is_error":true,"code":"busy"}
    +0.000 ← {"type":"host_call","id":"d","call":"exec","args":{}}
    +0.000 → {"type":"host_result","id":"d","content":[{"type":"text","text":"1 calls are already running, which is the limit; wait until one of them ends"}],"is_error":true,"code":"busy"}
    +0.000 → {"type":"host_result","id":"b","content":[{"type":"text","text":"done"}]}
    +0.000 ← {"type":"host_call","id":"e","call":"select","args":{"title":"Which?","options":[]}}
    +0.000 → {"type":"host_result","id":"e","content":[{"type":"text","text":"select: options: must have at least one choice"}],"is_error":true,"code":"invalid_args"}
    "#);
}

#[test]
fn question_needs_the_permission_ui() {
    let mut fixture = SessionFixture::granted(r#"{"host":["exec"]}"#);
    fixture.line(r#"{"type":"hello","name":"ext"}"#);
    fixture.line(r#"{"type":"ready"}"#);
    confirm(&mut fixture, "a", "");
    assert!(fixture.transcript.contains(r#""permission":"ui""#), "{}", fixture.transcript);
    assert!(!fixture.transcript.contains('*'), "{}", fixture.transcript);
}

#[test]
fn question_is_withdrawn_when_its_request_is_answered() {
    let mut fixture = SessionFixture::ready();
    let guard = fixture.guard("guard");
    confirm(&mut fixture, "a", "");
    call(&mut fixture, "b", "exec");
    fixture.line(&format!(r#"{{"type":"event_intercept_response","id":"{guard}","block":true}}"#));
    assert_eq!(cancelled_calls(&fixture), ["a"]);
}

/// The writes have a rate of their own, beside that of messages on the bus.
#[test]
fn writes_to_the_session_are_dropped_until_the_extension_is_calm() {
    let mut fixture = SessionFixture::ready();
    let write = |fixture: &mut SessionFixture, id: &str, call: &str, args: &str| {
        let before = fixture.transcript.len();
        fixture.line(&format!(r#"{{"type":"host_call","id":"{id}","call":"{call}","args":{args}}}"#));
        let is_passed_on = fixture.transcript[before..].contains(&format!("* {call} {id}\n"));
        if is_passed_on {
            done(fixture, id);
        }
        is_passed_on
    };
    let append = ("append_entry", r#"{"kind":"count","data":1}"#);
    let others = [
        ("set_label", r#"{"entry":"e","label":"here"}"#),
        ("set_tags", r#"{"tags":{"done":""}}"#),
        ("set_name", r#"{"name":"tidy"}"#),
        ("send_message", r#"{"kind":"note","content":"go","display":true}"#),
    ];
    let all: Vec<_> = std::iter::once(append).chain(others).collect();
    for n in 0..200 {
        let (call, args) = all[n % all.len()];
        assert!(write(&mut fixture, &format!("w{n}"), call, args), "{n}: {}", fixture.transcript);
    }
    assert!(all.iter().all(|(call, args)| !write(&mut fixture, "over", call, args)));
    assert!(write(&mut fixture, "read", "get_state", "{}"));
    assert!(write(&mut fixture, "bus", "emit", r#"{"channel":"a","data":1}"#));
    fixture.pass(Duration::from_millis(900));
    assert!(!write(&mut fixture, "slow", append.0, append.1));
    fixture.line(r#"{"type":"host_call","call":"set_name","args":{"name":"tidy"}}"#);
    fixture.pass(Duration::from_millis(1001));
    assert!(write(&mut fixture, "calm", append.0, append.1));
    let transcript = &fixture.transcript;
    let text = "the extension makes too many writes to the session; this one is dropped";
    assert_eq!(transcript.matches(text).count(), 6, "{transcript}");
    assert_eq!(transcript.matches("rate_limited").count(), 1, "{transcript}");
    assert_eq!(transcript.matches("dropped one of too many writes").count(), 1, "{transcript}");
}
