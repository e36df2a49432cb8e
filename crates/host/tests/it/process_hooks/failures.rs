//! Every kind of failure of a hook, for each class of hook, and the effect on the call.

mod flight;
mod hello;
mod lines;
mod observers;

use std::time::Duration;

use haft_packages::{ExtensionSpec, HookCommand};
use haft_protocol::ids::ExtensionName;
use serde_json::{Value, json};

use super::agency::{Does, Ran, goes_on, one_call, play, run};
use super::{hook, host_with};
use crate::support::{Events, builder};

const POINTS: [&str; 5] = ["before_llm", "after_llm", "before_tool", "after_tool", "approve_tool"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Failure {
    Timeout,
    Late,
    Error,
    Garbage,
    WrongTypes,
    TwiceTheKey,
    UnknownAction,
    Oversized,
    HalfALine,
    End,
}

const FAILURES: [Failure; 10] = [
    Failure::Timeout,
    Failure::Late,
    Failure::Error,
    Failure::Garbage,
    Failure::WrongTypes,
    Failure::TwiceTheKey,
    Failure::UnknownAction,
    Failure::Oversized,
    Failure::HalfALine,
    Failure::End,
];

impl Failure {
    fn does(self, call: &Value) -> Does {
        let id = &call["id"];
        match self {
            Self::Timeout | Self::Late => Does::Hangs,
            Self::Error => Does::Says(format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":-32000,\"message\":\"no disk\"}}}}\n"
            )),
            Self::Garbage => Does::Reply(json!("garbage")),
            Self::WrongTypes => Does::Reply(json!({"action": 7, "approved": "yes"})),
            Self::TwiceTheKey => Does::Says(format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"approved\":true,\"approved\":false}}}}\n"
            )),
            Self::UnknownAction => Does::Reply(json!({"action": "warp", "approved": 1})),
            Self::Oversized => Does::Says(format!("{}\n", "x".repeat(8 * 1024 * 1024 + 1))),
            Self::HalfALine => Does::Says(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id}")),
            Self::End => Does::Leaves,
        }
    }
}

/// Runs a turn with a call in which the hook fails at this point.
async fn turn(point: &'static str, failure: Failure, allow: bool) -> (Ran, Events) {
    let mut spec = hook(&[point], &[]);
    spec.on_timeout_allow = allow;
    let (host, peer, events) = host_with(spec).await;
    let method = format!("hook.{point}");
    let mut late = None;
    let peer = play(peer, move |call| {
        if call["method"] == method.as_str() {
            late = Some(call["id"].clone()).filter(|_| failure == Failure::Late);
            return failure.does(call);
        }
        match late.take() {
            // The answer to the previous query arrives together with the answer to this one.
            Some(id) => {
                let result =
                    if call["method"] == "hook.approve_tool" { json!({"approved": true}) } else { json!({}) };
                Does::Says(format!(
                    "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{result}}}\n",
                    call["id"]
                ))
            }
            None => goes_on(call),
        }
    });
    let ran = run(&host, one_call()).await;
    host.shutdown().await;
    peer.await.unwrap();
    (ran, events)
}

/// Waits until this number of faults was reported.
async fn until_told(events: &Events, faults: usize) {
    for _ in 0..100_000 {
        if events.faults().len() >= faults {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("told: {:?}", events.faults());
}

fn guards(point: &str) -> bool {
    matches!(point, "before_tool" | "approve_tool")
}

#[tokio::test(start_paused = true)]
async fn gates_block_on_every_failure_and_others_pass() {
    for point in POINTS {
        for failure in FAILURES {
            let (ran, events) = turn(point, failure, false).await;
            let what = format!("{point} {failure:?}: {:?}", events.faults());
            assert_eq!(ran.executions, usize::from(!guards(point)), "{what}");
            assert!(ran.outcome.is_ok(), "{what}: {:?}", ran.outcome);
            assert!(!events.faults().is_empty(), "{what}: no fault was reported");
            assert_eq!(ran.answer(), "two files", "{what}: the turn continues");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn timeout_passes_only_by_user_setting() {
    for point in ["before_tool", "approve_tool"] {
        let (ran, _) = turn(point, Failure::Timeout, true).await;
        assert_eq!(ran.executions, 1, "{point}");
        let (ran, _) = turn(point, Failure::End, true).await;
        assert_eq!(ran.executions, 0, "{point}: an exit is not a timeout");
    }
}

#[tokio::test(start_paused = true)]
async fn model_receives_reason_of_failed_gate() {
    let (ran, _) = turn("approve_tool", Failure::Timeout, false).await;
    assert_eq!(
        ran.result().0,
        r#"Tool execution denied by approval hook: tool approval hook "gate" timed out"#
    );
    let (ran, _) = turn("approve_tool", Failure::Error, false).await;
    assert_eq!(ran.result().0, r#"Tool execution denied by approval hook: tool approval hook "gate" failed"#);
    let (ran, _) = turn("before_tool", Failure::Timeout, false).await;
    insta::assert_snapshot!(ran.result().0, @"Tool execution denied by hook: blocked: extension gate, which must approve this, did not answer within 5 s; the user was notified");
}

#[tokio::test(start_paused = true)]
async fn each_hook_class_has_its_timeout() {
    for (point, seconds) in [("before_tool", 5), ("approve_tool", 60)] {
        let start = tokio::time::Instant::now();
        turn(point, Failure::Timeout, false).await;
        let took = start.elapsed();
        let expect = Duration::from_secs(seconds);
        assert!((expect..expect + Duration::from_secs(4)).contains(&took), "{point}: {took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn hook_that_never_started_blocks() {
    for point in POINTS {
        let command = HookCommand { command: vec!["no-such-program-here".into()], dir: None };
        let name = ExtensionName::new("gate");
        let spec = ExtensionSpec::from_hook(name, hook(&[point], &[]), &command, std::path::Path::new("/"));
        let events = Events::default();
        let host = builder(&events).specs(vec![spec]).start().await;
        let ran = run(&host, one_call()).await;
        // A hook for `after_tool` is also queried before the tool.
        let guards = matches!(point, "before_tool" | "after_tool" | "approve_tool");
        assert_eq!(ran.executions, usize::from(!guards), "{point}");
        assert_eq!(events.faults(), [crate::support::fault("gate", "spawn_failed")], "{point}");
        host.shutdown().await;
    }
}
