//! Many simultaneous results and a hook that reads line by line.

use std::time::Duration;

use haft_core::error::TurnErrorKind;
use haft_test_support::FakePeer;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::agency::{Stage, call, said, tool};
use super::{hook, host_with};
use crate::support::fault;

/// The maximum number of concurrent calls.
const CALLS: usize = 16;

/// A hook that needs this time for each result, sequentially, and redacts it.
fn slow(mut peer: FakePeer, takes: Duration) -> JoinHandle<()> {
    tokio::spawn(async move {
        while let Some(asked) = peer.next().await {
            if asked["method"] != "hook.after_tool" {
                peer.reply(&asked, json!({})).await;
                continue;
            }
            sleep(takes).await;
            peer.reply(&asked, json!({"result": {"result": {"for_llm": "[redacted]"}}})).await;
        }
    })
}

fn stage() -> Stage {
    let probe = |number| call(&format!("t{number}"), "probe", json!({"number": number}));
    Stage::new(vec![(0..CALLS).map(probe).collect(), vec![said("done")]])
}

fn secret(_: &Value) -> String {
    "the secret".to_owned()
}

#[tokio::test(start_paused = true)]
async fn each_simultaneous_result_has_full_timeout() {
    let (host, peer, events) = host_with(hook(&["after_tool"], &[])).await;
    let hook = slow(peer, Duration::from_millis(400));
    let stage = stage();
    let agent = stage.agent(&host).tool(tool("probe", secret)).build().unwrap();
    let ran = stage.prompt(&agent, "go").await;
    host.shutdown().await;
    hook.await.unwrap();
    assert_eq!(ran.results(), vec![("[redacted]".to_owned(), false); CALLS]);
    assert_eq!(events.faults(), []);
}

/// A hook that never answers costs its timeout for each result, and each failure is reported.
#[tokio::test(start_paused = true)]
async fn late_hook_uses_full_timeout_each_time() {
    let (host, mut peer, events) = host_with(hook(&["after_tool"], &[])).await;
    let hook = tokio::spawn(async move {
        while let Some(asked) = peer.next().await {
            if asked["method"] != "hook.after_tool" {
                peer.reply(&asked, json!({})).await;
            }
        }
    });
    let stage = stage();
    let agent = stage.agent(&host).tool(tool("probe", secret)).build().unwrap();
    let began = Instant::now();
    let ran = stage.prompt(&agent, "go").await;
    let seconds = began.elapsed().as_secs();
    host.shutdown().await;
    hook.await.unwrap();
    assert_eq!(ran.results().len(), CALLS);
    assert!((80..82).contains(&seconds), "{seconds}");
    assert_eq!(events.faults(), vec![fault("gate", "hook_timeout"); CALLS]);
}

/// Results that wait for their turn do not delay the end when the user stops.
#[tokio::test(start_paused = true)]
async fn cancels_turn_while_results_wait() {
    let (host, mut peer, events) = host_with(hook(&["after_tool"], &[])).await;
    let stage = stage();
    let agent = stage.agent(&host).tool(tool("probe", secret)).build().unwrap();
    let mut run = agent.prompt("go");
    let cancel = run.cancellation_token();
    let began = Instant::now();
    let turn = async {
        while run.next().await.is_some() {}
        run.finish().await
    };
    let user = async {
        let mut asked = peer.next().await.unwrap();
        while asked["method"] != "hook.after_tool" {
            peer.reply(&asked, json!({})).await;
            asked = peer.next().await.unwrap();
        }
        cancel.cancel();
        peer
    };
    let (outcome, peer) = tokio::join!(turn, user);
    assert_eq!(outcome.unwrap_err().kind, TurnErrorKind::Aborted);
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    let hook = slow(peer, Duration::ZERO);
    host.shutdown().await;
    hook.await.unwrap();
    assert_eq!(events.faults(), []);
}
