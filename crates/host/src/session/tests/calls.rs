//! Calls of an extension to the host. `*` marks a call that the session passes on.

use std::time::Duration;

use haft_protocol::ext::{HostResult, Limits, ResultBlock};
use haft_protocol::ids::RequestId;

use super::bench::Bench;

fn call(bench: &mut Bench, id: &str, call: &str) {
    bench.line(&format!(r#"{{"type":"host_call","id":"{id}","call":"{call}","args":{{}}}}"#));
}

fn done(bench: &mut Bench, id: &str) {
    let content = vec![ResultBlock::Text { text: "done".into() }];
    let (id, is_error) = (RequestId::new(id), false);
    let result = HostResult { id, content, is_error, code: None, by: None, permission: None, details: None };
    bench.session.handle_result(result, bench.now);
    bench.settle();
}

#[test]
fn answers_each_call_once_within_limit() {
    let mut bench = Bench::ready_within(Limits { max_host_calls: 2, ..Limits::default() });
    call(&mut bench, "a", "read");
    call(&mut bench, "b", "exec");
    call(&mut bench, "c", "write");
    call(&mut bench, "b", "edit");
    call(&mut bench, "d", "delete");
    done(&mut bench, "a");
    done(&mut bench, "a");
    call(&mut bench, "a", "edit");
    bench.line(r#"{"type":"host_call_cancel","id":"b"}"#);
    bench.line(r#"{"type":"host_call_cancel","id":"z"}"#);
    bench.session.shutdown(bench.now);
    bench.settle();
    done(&mut bench, "b");
    insta::assert_snapshot!(bench.transcript, @r#"
    +0.000 ← {"type":"host_call","id":"a","call":"read","args":{}}
    +0.000 * read a
    +0.000 ← {"type":"host_call","id":"b","call":"exec","args":{}}
    +0.000 * exec b
    +0.000 ← {"type":"host_call","id":"c","call":"write","args":{}}
    +0.000 → {"type":"host_result","id":"c","content":[{"type":"text","text":"2 calls are already running, which is the limit; wait until one of them ends"}],"is_error":true,"code":"busy"}
    +0.000 ← {"type":"host_call","id":"b","call":"edit","args":{}}
    +0.000 ! frame_invalid: sent host_call b while another call with that id runs; the second call is ignored
    +0.000 ← {"type":"host_call","id":"d","call":"delete","args":{}}
    +0.000 → {"type":"host_result","id":"d","content":[{"type":"text","text":"unknown call \"delete\"; the calls are read, write, edit, exec"}],"is_error":true,"code":"unknown_call"}
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

/// Two queries are open at the first call, none at the second, and one at the third.
#[test]
fn call_ends_with_last_query_that_it_may_serve() {
    let mut bench = Bench::ready();
    let (tool, guard) = (bench.tool("tool"), bench.guard("guard"));
    call(&mut bench, "both", "exec");
    bench.session.cancel(&tool);
    bench.settle();
    assert!(!bench.transcript.contains("cancel"), "{}", bench.transcript);
    bench.session.cancel(&guard);
    bench.settle();
    call(&mut bench, "own", "exec");
    let tool = bench.tool("tool");
    call(&mut bench, "one", "exec");
    bench.session.cancel(&tool);
    bench.settle();
    let tool = bench.tool("tool");
    call(&mut bench, "answered", "exec");
    bench.line(&format!(r#"{{"type":"tool_result","id":"{tool}","content":[]}}"#));
    bench.session.cancel(&tool);
    bench.settle();
    let cancelled: Vec<&str> =
        bench.transcript.lines().filter_map(|line| line.split_once("* cancel ")).map(|(_, id)| id).collect();
    assert_eq!(cancelled, ["both", "one"]);
}

/// A call for an answer that came too late ends, like a call for a cancelled query.
#[test]
fn call_ends_with_overdue_query() {
    let mut bench = Bench::ready();
    call(&mut bench, "own", "exec");
    bench.guard("guard");
    call(&mut bench, "asked", "exec");
    bench.pass(Duration::from_secs(3600));
    assert!(bench.transcript.contains("hook_timeout"), "{}", bench.transcript);
    let cancelled: Vec<&str> =
        bench.transcript.lines().filter_map(|line| line.split_once("* cancel ")).map(|(_, id)| id).collect();
    assert_eq!(cancelled, ["asked"]);
}

#[test]
fn rejects_calls_before_ready() {
    let mut bench = Bench::new();
    bench.line(r#"{"type":"hello","name":"ext"}"#);
    call(&mut bench, "a", "read");
    assert!(bench.transcript.contains(r#""code":"unavailable""#), "{}", bench.transcript);
    assert!(!bench.transcript.contains('*'), "{}", bench.transcript);
}

/// Ten thousand sequential calls are slowed down to the rate and do not end the extension.
#[test]
fn limits_call_rate_and_counts_refused_calls() {
    let mut bench = Bench::ready();
    let limits = Limits::default();
    for _ in 0..limits.frame_burst {
        call(&mut bench, "a", "edit");
        done(&mut bench, "a");
    }
    assert!(!bench.session.is_paused());
    bench.transcript.clear();
    let begun = bench.now;
    for _ in 0..10_000 {
        call(&mut bench, "a", "edit");
        done(&mut bench, "a");
        while bench.session.is_paused() {
            bench.pass(Duration::from_millis(5));
        }
    }
    let took = (bench.now - begun).as_secs();
    assert!((49..=51).contains(&took), "{took} s at {} a second", limits.frames_per_second);
    assert_eq!(bench.faults(), ["rate_limited"]);
    for _ in 0..10_000 {
        call(&mut bench, "a", "delete");
        bench.pass(Duration::from_millis(2));
    }
    assert_eq!(
        bench.faults(),
        ["rate_limited", "rate_limited"],
        "one report of the slow-down, one of the end"
    );
    assert!(!bench.session.phase.is_in_use());
}

#[test]
fn ungranted_calls_count_as_flood_and_are_reported_once() {
    let mut bench = Bench::granted(r#"{"host":["fs.read"]}"#);
    bench.line(r#"{"type":"hello","name":"ext"}"#);
    bench.line(r#"{"type":"ready"}"#);
    bench.transcript.clear();
    call(&mut bench, "a", "write");
    call(&mut bench, "b", "read");
    insta::assert_snapshot!(bench.transcript, @r#"
    +0.000 ← {"type":"host_call","id":"a","call":"write","args":{}}
    +0.000 ! permission_denied: made a call without permission: extension ext must not use write through haft: the permission fs.write is not granted
    +0.000 → {"type":"host_result","id":"a","content":[{"type":"text","text":"extension ext must not use write through haft: the permission fs.write is not granted"}],"is_error":true,"code":"permission_denied","permission":"fs.write"}
    +0.000 ← {"type":"host_call","id":"b","call":"read","args":{}}
    +0.000 * read b
    "#);
    for _ in 0..10_000 {
        call(&mut bench, "a", "exec");
    }
    assert!(bench.session.is_paused());
    assert_eq!(bench.faults(), ["permission_denied", "rate_limited"]);
}

#[test]
fn long_call_counts_for_each_portion() {
    let mut bench = Bench::ready_within(Limits { frame_burst: 20, ..Limits::default() });
    let long = "x".repeat(900_000);
    for expect in [false, true] {
        bench.line(&format!(
            r#"{{"type":"host_call","id":"{expect}","call":"write","args":{{"content":"{long}"}}}}"#
        ));
        assert_eq!(bench.session.is_paused(), expect);
    }
}
