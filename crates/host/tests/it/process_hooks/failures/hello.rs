//! The hook's reply to hello, and hooks without a reply.

use std::time::Duration;

use haft_host::ExtensionState;
use haft_packages::HookTimeouts;
use haft_test_support::FakePeer;
use tokio::time::Instant;

use super::super::agency::{Does, goes_on, one_call, play, run};
use super::super::hook;
use super::{POINTS, guards};
use crate::support::{Events, builder, state};

/// Returns the effects of a hook with this reaction to hello: true if it takes part in turns, its fault
/// codes, and the elapsed time.
async fn greeted(points: &[&str], does: Option<&'static str>) -> (bool, usize, Vec<String>, Duration) {
    let events = Events::default();
    let (peer, reader, writer) = FakePeer::pair();
    let peer = play(peer, move |call| match (call["method"] == "hook.hello", does) {
        (true, Some("")) => Does::Leaves,
        (true, Some(line)) => Does::Says(format!("{line}\n")),
        (true, None) => Does::Hangs,
        (false, _) => goes_on(call),
    });
    let began = Instant::now();
    let host = builder(&events).hook_streams("gate", hook(points, &[]), reader, writer).start().await;
    let ran = run(&host, one_call()).await;
    let took = began.elapsed();
    let is_ready = matches!(state(&host, "gate"), ExtensionState::Ready);
    assert_eq!(ran.answer(), "two files", "the turn continues");
    host.shutdown().await;
    peer.await.unwrap();
    (is_ready, ran.executions, events.faults().into_iter().map(|(_, code)| code).collect(), took)
}

#[tokio::test(start_paused = true)]
async fn accepts_object_or_nothing_as_hello_reply() {
    for line in [
        r#"{"jsonrpc":"2.0","id":1,"result":{"ok":true,"name":"x"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"ok":false}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":null}"#,
        r#"{"id":1}"#,
        "starting up ...\n{\"id\":1,\"result\":{}}",
    ] {
        let (is_ready, executions, faults, _) = greeted(&POINTS, Some(line)).await;
        assert_eq!((is_ready, executions, faults), (true, 1, vec![]), "{line}");
    }
    for line in [
        r#"{"jsonrpc":"2.0","id":1,"result":"hi"}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":[]}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":true}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no license"}}"#,
    ] {
        let (is_ready, executions, faults, _) = greeted(&POINTS, Some(line)).await;
        assert_eq!((is_ready, executions, faults), (false, 0, vec!["hello_invalid".to_owned()]), "{line}");
    }
}

/// PicoClaw waits forever at its start, so one silent hook prevents any start.
#[tokio::test(start_paused = true)]
async fn waits_five_seconds_for_hello_reply() {
    for point in POINTS {
        let (is_ready, executions, faults, took) = greeted(&[point], None).await;
        let blocks = guards(point) || point == "after_tool";
        assert_eq!((is_ready, executions), (false, usize::from(!blocks)), "{point}");
        assert_eq!(faults, ["hello_timeout"], "{point}");
        assert!((Duration::from_secs(5)..Duration::from_secs(6)).contains(&took), "{point}: {took:?}");
    }
}

/// The query times out before hello does. This is reported once, because the run may end before another
/// report.
#[tokio::test(start_paused = true)]
async fn reports_hook_that_is_not_ready_at_deadline() {
    for point in POINTS {
        let events = Events::default();
        let (peer, reader, writer) = FakePeer::pair();
        let peer = play(peer, |_| Does::Says("starting up ...\n".to_owned()));
        let mut spec = hook(&[point], &[]);
        let short = Duration::from_millis(300);
        spec.timeouts = HookTimeouts { interceptor: short, approval: short };
        let host = builder(&events).hook_streams("gate", spec, reader, writer).start().await;
        let ran = run(&host, one_call()).await;
        host.shutdown().await;
        peer.await.unwrap();
        let blocks = guards(point) || point == "after_tool";
        assert_eq!(ran.executions, usize::from(!blocks), "{point}");
        assert!(events.faults().contains(&crate::support::fault("gate", "hook_timeout")), "{point}");
        let told = events.messages();
        assert!(told[0].ends_with("is starting and was not ready within 0.3 s"), "{point}: {told:?}");
        let distinct: std::collections::BTreeSet<_> = told.iter().collect();
        assert_eq!(distinct.len(), told.len(), "{point}: {told:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn hook_that_exits_before_hello_blocks() {
    for point in POINTS {
        let (is_ready, executions, faults, took) = greeted(&[point], Some("")).await;
        let blocks = guards(point) || point == "after_tool";
        assert_eq!(
            (is_ready, executions, faults.len()),
            (false, usize::from(!blocks), 1),
            "{point}: {faults:?}"
        );
        assert!(took < Duration::from_secs(1), "{point}: {took:?}");
    }
}
