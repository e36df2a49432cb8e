//! Concurrent calls, late answers, and turns that end meanwhile.

use std::time::Duration;

use haft_core::error::TurnErrorKind;
use haft_protocol::event::AgentEvent;
use haft_test_support::FakePeer;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::super::agency::{Stage, answers, call, goes_on, one_call, play, run, said};
use super::super::{hook, host_with};
use super::{POINTS, guards, until_told};
use crate::support::{Events, builder};

/// Two turns send queries at the same time, and the second is answered first. Queries that pass on a timeout
/// are sent one at a time.
#[tokio::test(start_paused = true)]
async fn matches_answers_in_any_order() {
    let (host, mut peer, events) = host_with(hook(&["before_tool"], &[])).await;
    let turn = |command: &'static str| {
        let stage =
            Stage::new(vec![vec![call("t1", "bash", json!({"command": command}))], vec![said("done")]]);
        let agent = stage.agent(&host).build().unwrap();
        async move { stage.prompt(&agent, "go").await.result().0 }
    };
    let answer = async {
        let command = |asked: &Value| asked["params"]["arguments"]["command"].as_str().unwrap().to_owned();
        let (first, second) =
            (peer.expect_call("hook.before_tool").await, peer.expect_call("hook.before_tool").await);
        assert_ne!(first["id"], second["id"]);
        for asked in [second, first] {
            let changed = json!({"call": {"arguments": {"command": format!("{}!", command(&asked))}}});
            peer.reply(&asked, changed).await;
        }
        for _ in 0..2 {
            let asked = peer.expect_call("hook.after_tool").await;
            let done = json!({"result": {"result": {"for_llm": format!("{} is done", command(&asked))}}});
            peer.reply(&asked, done).await;
        }
        peer
    };
    let (one, two, peer) = tokio::join!(turn("one"), turn("two"), answer);
    assert_eq!((one.as_str(), two.as_str()), ("one! is done", "two! is done"));
    let peer = play(peer, goes_on);
    host.shutdown().await;
    peer.await.unwrap();
    assert_eq!(events.faults(), []);
}

/// A late approval does not apply to the next query.
#[tokio::test(start_paused = true)]
async fn late_answer_does_not_match_next_query() {
    let (host, mut peer, events) = host_with(hook(&["approve_tool"], &[])).await;
    let stage = Stage::new([one_call(), one_call()].concat());
    let agent = stage.agent(&host).build().unwrap();
    let answer = async {
        let first = peer.expect_call("hook.approve_tool").await;
        let second = peer.expect_call("hook.approve_tool").await;
        peer.reply(&first, json!({"approved": true})).await;
        peer.reply(&second, json!({"approved": false, "reason": "the second one"})).await;
        peer
    };
    let turns = async { (stage.prompt(&agent, "one").await, stage.prompt(&agent, "two").await) };
    let ((one, two), peer) = tokio::join!(turns, answer);
    assert_eq!(
        one.result().0,
        r#"Tool execution denied by approval hook: tool approval hook "gate" timed out"#
    );
    assert_eq!(two.result().0, "Tool execution denied by approval hook: the second one");
    assert_eq!(two.executions, 0);
    let peer = play(peer, goes_on);
    host.shutdown().await;
    peer.await.unwrap();
    assert_eq!(events.faults(), [crate::support::fault("gate", "hook_timeout")]);
}

/// The user ends the turn during a query: it ends immediately, without the tool and without a fault. PicoClaw
/// counts this as a timeout and runs the tool.
#[tokio::test(start_paused = true)]
async fn cancels_turn_during_hook_query() {
    for point in POINTS {
        let (host, mut peer, events) = host_with(hook(&[point], &[])).await;
        let stage = Stage::new(one_call());
        let agent = stage.agent(&host).build().unwrap();
        let mut run = agent.prompt("go");
        let cancel = run.cancellation_token();
        let began = Instant::now();
        let turn = async {
            let mut results = Vec::new();
            while let Some(event) = run.next().await {
                results.extend(matches!(event, AgentEvent::ToolResult { .. }).then_some(event));
            }
            (run.finish().await, results.len())
        };
        let user = async {
            let mut asked = peer.next().await.unwrap();
            while asked["method"] != format!("hook.{point}").as_str() {
                peer.reply(&asked, json!({})).await;
                asked = peer.next().await.unwrap();
            }
            cancel.cancel();
            (peer, asked)
        };
        let ((outcome, _), (mut peer, asked)) = tokio::join!(turn, user);
        assert_eq!(outcome.unwrap_err().kind, TurnErrorKind::Aborted, "{point}");
        assert!(began.elapsed() < Duration::from_secs(5), "{point}: the timeout is not waited for");
        assert_eq!(events.faults(), [], "{point}");
        // The answer to the cancelled query is ignored, and the next turn sends its query as usual.
        peer.reply(&asked, json!({"action": "abort_turn", "approved": false})).await;
        let peer = play(peer, goes_on);
        let ran = super::super::agency::run(&host, one_call()).await;
        assert_eq!((ran.executions, events.faults()), (1, vec![]), "{point}");
        host.shutdown().await;
        peer.await.unwrap();
    }
}

/// A hook that ended before the query: gates block immediately, and all else continues without the hook.
#[tokio::test(start_paused = true)]
async fn does_not_wait_for_ended_hook() {
    for point in POINTS {
        let (host, peer, events) = host_with(hook(&[point], &["*"])).await;
        drop(peer);
        until_told(&events, 1).await;
        let began = Instant::now();
        let ran = run(&host, one_call()).await;
        // A hook for `after_tool` is also queried before the tool.
        let blocks = guards(point) || point == "after_tool";
        assert_eq!((ran.executions, ran.answer().as_str()), (usize::from(!blocks), "two files"), "{point}");
        assert!(began.elapsed() < Duration::from_secs(1), "{point}: {:?}", began.elapsed());
        if point == "approve_tool" {
            let text = r#"Tool execution denied by approval hook: tool approval hook "gate" failed"#;
            assert_eq!(ran.result().0, text);
        }
        assert_eq!(events.faults(), [crate::support::fault("gate", "exited")], "{point}: reported once");
        host.shutdown().await;
    }
}

/// The next hook is queried if one hook makes no decision, and it has its full timeout.
#[tokio::test(start_paused = true)]
async fn failure_affects_only_one_hook() {
    let events = Events::default();
    let mut builder = builder(&events);
    let mut peers = Vec::new();
    for name in ["a", "b"] {
        let (peer, reader, writer) = FakePeer::pair();
        builder = builder.hook_streams(name, hook(&["after_tool"], &[]), reader, writer);
        let redact = json!({"result": {"result": {"for_llm": "[redacted]"}}});
        let mut answer = answers("hook.after_tool", redact);
        let hangs = name == "a";
        peers.push(play(peer, move |call: &Value| match call["method"] == "hook.after_tool" && hangs {
            true => super::super::agency::Does::Hangs,
            false => answer(call),
        }));
    }
    let host = builder.start().await;
    let ran = run(&host, one_call()).await;
    host.shutdown().await;
    assert_eq!(ran.result(), ("[redacted]".to_owned(), false));
    assert_eq!(events.faults(), [crate::support::fault("a", "hook_timeout")]);
    for peer in peers {
        peer.await.unwrap();
    }
}
