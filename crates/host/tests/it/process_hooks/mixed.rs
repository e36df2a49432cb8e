//! Extensions of both dialects in one chain: native ones come first, and gates see the final call.

use haft_host::Host;
use haft_packages::HookSpec;
use haft_test_support::FakePeer;
use serde_json::{Value, json};

use super::agency::{Does, Ran, answers, goes_on, methods, one_call, play, run};
use super::hook;
use crate::support::{Events, builder};

/// Returns a host with a native extension for tool calls in this role, and a process hook.
async fn host_with(role: &str, spec: HookSpec) -> (Host, FakePeer, FakePeer, Events) {
    let events = Events::default();
    let (mut native, native_reader, native_writer) = FakePeer::pair();
    let (mut peer, reader, writer) = FakePeer::pair();
    let builder = builder(&events);
    let builder = builder.hook_streams("gate", spec, reader, writer);
    let start = builder.streams("native", native_reader, native_writer).start();
    let subscribe = json!({"type": "subscribe", "intercept": [{"event": "tool_call", "role": role}]});
    let greet = async {
        let hello = peer.expect_call("hook.hello").await;
        peer.reply(&hello, json!({})).await;
    };
    let (host, (), ()) = tokio::join!(start, native.greet("native", [subscribe]), greet);
    (host, native, peer, events)
}

/// Runs a turn with a call of `bash`; the native extension sends `answer`. Returns the commands of its
/// queries.
async fn turn(role: &str, answer: Value, hook_answers: Value) -> (Ran, Vec<Value>, Vec<Value>) {
    let (host, mut native, peer, events) = host_with(role, hook(&["before_tool", "approve_tool"], &[])).await;
    let peer = play(peer, answers("hook.before_tool", hook_answers));
    let native = tokio::spawn(async move {
        let mut asked = Vec::new();
        while let Some(frame) = native.next().await {
            if frame["type"] == "event_intercept" {
                native.answer(&frame, "event_intercept_response", answer.clone()).await;
                asked.push(frame["tool_args"]["command"].clone());
            }
        }
        asked
    });
    let ran = run(&host, one_call()).await;
    host.shutdown().await;
    assert_eq!(events.faults(), []);
    (ran, native.await.unwrap(), peer.await.unwrap())
}

#[tokio::test(start_paused = true)]
async fn native_gate_refuses_call_changed_by_hook() {
    let rewrite = json!({"action": "modify", "call": {"arguments": {"command": "rm -rf /"}}});
    let (ran, asked, calls) = turn("gate", json!({"block": true, "reason": "no deleting"}), rewrite).await;
    assert_eq!((ran.executions, ran.result().0.as_str()), (0, "no deleting"));
    assert_eq!(asked, ["rm -rf /"], "the query has the final command");
    assert!(!methods(&calls).contains(&"hook.approve_tool"));
}

#[tokio::test(start_paused = true)]
async fn native_gate_is_queried_before_hook_answer_counts() {
    let respond = json!({"action": "respond", "result": {"for_llm": "from the hook"}});
    let (ran, asked, _) = turn("gate", json!({"block": true, "reason": "no"}), respond.clone()).await;
    assert_eq!((ran.result().0.as_str(), asked.len()), ("no", 1));
    let (ran, asked, _) = turn("gate", json!({"block": false}), respond).await;
    assert_eq!((ran.result().0.as_str(), asked.len()), ("from the hook", 1));
}

#[tokio::test(start_paused = true)]
async fn hook_sees_call_changed_by_native_extension() {
    let rewrite = json!({"block": false, "modified_args": {"command": "ls -1"}});
    let (ran, asked, calls) = turn("rewrite", rewrite, json!({})).await;
    assert_eq!(ran.result().0, r#"ran {"command":"ls -1"}"#);
    assert_eq!(asked[0], "ls");
    let seen: Vec<&Value> = calls.iter().map(|call| &call["params"]["arguments"]["command"]).collect();
    assert_eq!(seen, ["ls -1", "ls -1", "ls -1"], "before the call, for its approval, after the call");
}

#[tokio::test(start_paused = true)]
async fn hook_continues_after_extension_exit() {
    let (host, native, peer, events) = host_with("rewrite", hook(&["before_tool"], &[])).await;
    drop(native);
    let peer = play(peer, |call| match call["method"].as_str() {
        Some("hook.before_tool") => Does::Reply(json!({"action": "deny_tool"})),
        _ => goes_on(call),
    });
    let ran = run(&host, one_call()).await;
    assert_eq!(ran.executions, 0);
    host.shutdown().await;
    peer.await.unwrap();
    assert_eq!(events.faults(), [crate::support::fault("native", "exited")]);
}
