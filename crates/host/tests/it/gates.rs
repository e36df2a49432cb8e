//! Roles, tool filters and answers of gates, end to end and in memory.

use std::time::Duration;

use haft_test_support::FakePeer;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::agent::Agency;
use crate::support::{call, fault, host_with, host_with_two};

fn subscribe(entry: Value) -> Value {
    json!({"type": "subscribe", "intercept": [entry]})
}

fn gate(tools: &[&str]) -> Value {
    subscribe(json!({"event": "tool_call", "tools": tools, "role": "gate"}))
}

fn rewriter() -> Value {
    subscribe(json!({"event": "tool_call", "role": "rewrite"}))
}

fn ls() -> (&'static str, Value) {
    ("bash", json!({"command": "ls"}))
}

/// Answers every intercept with these fields and records the queries, until the host has ended.
async fn answer_all(mut peer: FakePeer, fields: Value) -> Vec<Value> {
    let mut asked = Vec::new();
    while let Some(frame) = peer.next().await {
        match frame["type"].as_str() {
            Some("event_intercept") => {
                peer.answer(&frame, "event_intercept_response", fields.clone()).await;
                asked.push(frame);
            }
            Some("event") => asked.push(frame),
            Some("tool_call") => {
                let content = json!({"content": [{"type": "text", "text": "done"}]});
                peer.answer(&frame, "tool_result", content).await;
                asked.push(frame);
            }
            _ => {}
        }
    }
    asked
}

#[tokio::test(start_paused = true)]
async fn gate_sees_result_of_later_rewriter() {
    let (host, [guard, polite], events) =
        host_with_two(("guard", [gate(&["bash"])]), ("polite", [rewriter()])).await;
    let agency = Agency::new(&host, [ls()]);
    let playing = async {
        let rewrite = json!({"modified_args": {"command": "ls -1"}});
        tokio::join!(answer_all(guard, json!({"block": false})), answer_all(polite, rewrite))
    };
    let working = async {
        let ran = agency.run().await;
        host.shutdown().await;
        ran
    };
    let ((asked, rewrote), ran) = tokio::join!(playing, working);
    assert_eq!((ran.executions, ran.outcome.clone(), ran.blocks()), (1, Ok(()), vec![]));
    let seen: Vec<_> = asked.iter().map(|frame| frame["tool_args"]["command"].as_str().unwrap()).collect();
    assert_eq!((seen, rewrote.len()), (vec!["ls -1"], 1));
    assert_eq!(ran.rewrites(), [("polite".to_owned(), "/command".to_owned())]);
    assert_eq!(events.faults(), []);
}

#[tokio::test(start_paused = true)]
async fn subscription_with_tools_receives_no_other_tool() {
    let observe = subscribe(json!({"event": "tool_call", "tools": ["weather"], "role": "observe"}));
    let weather = json!({"type": "register_tool", "name": "weather", "description": "w"});
    let (host, [guard, watcher], _) =
        host_with_two(("guard", [gate(&["Bash"])]), ("watcher", [observe, weather])).await;
    let agency = Agency::new(&host, [ls(), ("weather", json!({}))]);
    let playing =
        async { tokio::join!(answer_all(guard, json!({"block": false})), answer_all(watcher, json!({}))) };
    let working = async {
        let ran = agency.run().await;
        host.shutdown().await;
        ran
    };
    let ((asked, told), ran) = tokio::join!(playing, working);
    assert_eq!((ran.executions, ran.blocks()), (1, vec![]));
    let asked: Vec<&Value> = asked.iter().map(|frame| &frame["tool_name"]).collect();
    assert_eq!(asked, ["bash"]);
    let told: Vec<(&str, &str)> = told
        .iter()
        .map(|frame| (frame["type"].as_str().unwrap(), frame["tool_name"].as_str().unwrap_or("its tool")))
        .collect();
    assert_eq!(told, [("event", "weather"), ("tool_call", "its tool")]);
}

#[tokio::test(start_paused = true)]
async fn extension_tool_passes_gates() {
    let shell = json!({"type": "register_tool", "name": "dangerous_shell", "description": "bash, but worse"});
    let plain = json!({"type": "subscribe", "intercept": ["tool_call"]});
    let (host, [guard, owner], _) = host_with_two(("guard", [plain]), ("owner", [shell])).await;
    let agency = Agency::new(&host, [("dangerous_shell", json!({"command": "rm -rf /"}))]);
    let refuse = json!({"block": true, "reason": "not in any shell"});
    let playing = async { tokio::join!(answer_all(guard, refuse), answer_all(owner, json!({}))) };
    let working = async {
        let ran = agency.run().await;
        host.shutdown().await;
        ran
    };
    let ((asked, called), ran) = tokio::join!(playing, working);
    assert_eq!(ran.blocks(), [("guard".to_owned(), "not in any shell".to_owned())]);
    assert_eq!((asked.len(), called.len()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn unknown_role_is_reported_and_counts_as_none() {
    let oracle = subscribe(json!({"event": "tool_call", "role": "oracle"}));
    let (host, peer, events) = host_with("guard", [oracle]).await;
    let agency = Agency::new(&host, [ls()]);
    let playing = answer_all(peer, json!({"modified_args": {"command": "pwd"}}));
    let working = async {
        let ran = agency.run().await;
        host.shutdown().await;
        ran
    };
    let (asked, ran) = tokio::join!(playing, working);
    assert_eq!((asked.len(), ran.executions), (1, 1));
    assert_eq!(events.faults(), [fault("guard", "register_rejected")]);
}

/// Returns true if the call ran under this answer, with the faults.
async fn answered(subscription: Value, answer: Value) -> (bool, Vec<(String, String)>) {
    let (host, mut peer, events) = host_with("guard", [subscription]).await;
    let agency = Agency::new(&host, [ls()]);
    let reply = async {
        let question = peer.expect("event_intercept").await;
        peer.answer(&question, "event_intercept_response", answer).await;
    };
    let (ran, ()) = tokio::join!(agency.run(), reply);
    assert_eq!(ran.blocks().len() + ran.executions, 1, "the call ran or was blocked once");
    assert_eq!(ran.outcome, Ok(()));
    (ran.executions == 1, events.faults())
}

#[track_caller]
fn check_broken(answer: &Value, outcome: (bool, Vec<(String, String)>)) {
    assert_eq!(outcome, (false, vec![fault("guard", "hook_error")]), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn only_booleans_are_valid_decisions() {
    let values = [
        json!("false"),
        json!("true"),
        json!(""),
        json!("Allow"),
        json!("no"),
        json!(0),
        json!(1),
        json!(-1),
        json!(0.0),
        json!(null),
        json!([]),
        json!({}),
    ];
    for value in values {
        for subscription in [subscribe(json!("tool_call")), gate(&["bash"]), rewriter()] {
            let answer = json!({"block": value});
            check_broken(&answer, answered(subscription, answer.clone()).await);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn gate_must_allow_or_block() {
    let broken = [
        json!({}),
        json!({"approved": null}),
        json!({"action": "Allow"}),
        json!({"allow": true}),
        json!({"Block": true}),
        json!({"block": false, "error": "no disk"}),
        json!({"block": false, "modified_args": {"command": "ls"}}),
        json!({"block": false, "modified_args": null}),
    ];
    for answer in broken {
        check_broken(&answer, answered(gate(&["bash"]), answer.clone()).await);
    }
    assert_eq!(answered(gate(&["bash"]), json!({"block": false})).await, (true, vec![]));
    assert_eq!(answered(gate(&["bash"]), json!({"block": true})).await, (false, vec![]));
}

#[tokio::test(start_paused = true)]
async fn invalid_rewrite_blocks_and_is_reported_once() {
    let broken = [
        json!({"modified_args": null}),
        json!({"modified_args": [1]}),
        json!({"modified_args": "ls"}),
        json!({"modified_args": {"command": 7}}),
        json!({"modified_args": {}}),
        json!({"modified_args": {"command": "ls"}, "tool_name": "read"}),
    ];
    for answer in broken {
        for subscription in [subscribe(json!("tool_call")), rewriter()] {
            check_broken(&answer, answered(subscription, answer.clone()).await);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn oversized_rewrite_blocks_despite_large_line_limit() {
    let slow = json!({"type": "register_tool", "name": "slow", "description": "s"});
    let (host, mut peer, events) = host_with("guard", [subscribe(json!("tool_call")), slow]).await;
    let long = json!({"modified_args": {"command": "x".repeat(2 * 1024 * 1024)}});
    let (agency, other) = (Agency::new(&host, [ls()]), Agency::new(&host, [("slow", json!({}))]));
    let play = async {
        let question = peer.expect("event_intercept").await;
        peer.answer(&question, "event_intercept_response", json!({"block": false})).await;
        let call = peer.expect("tool_call").await;
        let run = agency.run();
        let reply = async {
            let question = peer.expect("event_intercept").await;
            peer.answer(&question, "event_intercept_response", long).await;
        };
        let (ran, ()) = tokio::join!(run, reply);
        peer.answer(&call, "tool_result", json!({"content": []})).await;
        ran
    };
    let (_, ran) = tokio::join!(other.run(), play);
    assert_eq!((ran.executions, ran.blocks().len()), (0, 1));
    assert_eq!(events.faults(), [fault("guard", "hook_error")]);
}

#[tokio::test(start_paused = true)]
async fn budget_timeout_is_not_the_extensions_fault() {
    let (host, peer, events) = host_with("guard", [gate(&["bash"])]).await;
    let hook = host.hook_source().hooks().before_tool_execute.remove(0);
    let call = call("bash", json!({"command": "ls"}));
    let cancel = CancellationToken::new();
    let asked = hook.before_tool_execute(&cancel, &call);
    assert!(tokio::time::timeout(Duration::from_secs(1), asked).await.is_err());
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(events.faults(), []);
    drop(peer);
}
