//! Lines of a hook beside its replies, and incomplete replies.

use serde_json::json;

use super::super::agency::{Does, Ran, answers, goes_on, one_call, play, run};
use super::super::{hook, host_with};
use super::{Failure, POINTS, turn};
use crate::support::Events;

/// Runs a turn in which the hook sends this before each reply; `ID` is the number of the call.
async fn beside(noise: &str) -> (Ran, Events) {
    let (host, peer, events) = host_with(hook(&POINTS, &[])).await;
    let noise = noise.to_owned();
    let peer = play(peer, move |call| {
        let id = &call["id"];
        let (noise, Does::Reply(result)) = (noise.replace("ID", &id.to_string()), goes_on(call)) else {
            panic!("{call}")
        };
        Does::Says(format!("{noise}\n{}\n", json!({"jsonrpc": "2.0", "id": id, "result": result})))
    });
    let ran = run(&host, one_call()).await;
    host.shutdown().await;
    peer.await.unwrap();
    (ran, events)
}

/// For any output, the reply after it counts.
#[tokio::test(start_paused = true)]
async fn skips_lines_that_are_not_replies() {
    for noise in ["", "   ", "checking ls ...", "\u{feff}hello", "[1, 2]", "null"] {
        let (ran, events) = beside(noise).await;
        assert_eq!((ran.executions, ran.answer().as_str()), (1, "two files"), "{noise}");
        assert_eq!(events.faults(), [], "{noise}");
    }
}

/// The first report shows the form of a reply. PicoClaw accepts a hook's own call as a reply without a result
/// if its number matches a query.
#[tokio::test(start_paused = true)]
async fn reports_unrequested_reply_once() {
    let refusal = r#""result":{"approved":false,"action":"deny_tool"}"#;
    let (call, log) = (r#""method":"host.ask","params":{}"#, r#""method":"log","params":{"text":"hi"}"#);
    let only = "a call: a hook only replies";
    let shape = r#"a reply is {"jsonrpc":"2.0","id":7,"result":{…}} with the id of the request"#;
    for (id, rest, told) in [
        (r#""id":"ID","#, refusal, shape),
        (r#""id":ID.0,"#, refusal, shape),
        (r#""id":-ID,"#, refusal, shape),
        (r#""id":0,"#, refusal, shape),
        (r#""id":null,"#, refusal, shape),
        ("", refusal, shape),
        (r#""id":9ID,"#, refusal, "sent a reply with the unknown id 9"),
        (r#""id":ID,"#, call, only),
        ("", log, shape),
    ] {
        let answer = format!(r#"{{"jsonrpc":"2.0",{id}{rest}}}"#);
        let (ran, events) = beside(&answer).await;
        assert_eq!((ran.executions, ran.answer().as_str()), (1, "two files"), "{answer}");
        assert!(events.only_message().contains(told), "{}", events.only_message());
        assert_eq!(events.faults(), [crate::support::fault("gate", "unknown_id")]);
    }
}

/// Runs a turn in which the hook answers every query with this line.
async fn says(line: &'static str) -> (Ran, Events) {
    let (host, peer, events) = host_with(hook(&POINTS, &[])).await;
    let peer = play(peer, move |call| Does::Says(line.replace("ID", &call["id"].to_string()) + "\n"));
    let ran = run(&host, one_call()).await;
    host.shutdown().await;
    peer.await.unwrap();
    (ran, events)
}

/// An empty reply means "continue" at points that may change something, and is not an approval.
#[tokio::test(start_paused = true)]
async fn empty_reply_continues_and_does_not_approve() {
    for line in [
        r#"{"jsonrpc":"2.0","id":ID,"result":null}"#,
        r#"{"jsonrpc":"2.0","id":ID}"#,
        r#"{"id":ID,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":ID,"result":{},"error":null}"#,
    ] {
        let (ran, events) = says(line).await;
        assert_eq!((ran.executions, ran.outcome.is_ok()), (0, true), "{line}");
        assert_eq!(ran.result().0, "Tool execution denied by approval hook", "{line}");
        assert!(
            events.only_message().contains(r#"expected {"approved":true|false"#),
            "PicoClaw says nothing"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn reads_keys_like_go() {
    let (ran, events) =
        says(r#"{"JSONRPC":"2.0","Id":ID,"Result":{"Approved":true,"ACTION":"continue"}}"#).await;
    assert_eq!((ran.executions, events.faults()), (1, vec![]));
}

#[tokio::test(start_paused = true)]
async fn error_counts_beside_result() {
    let line =
        r#"{"jsonrpc":"2.0","id":ID,"result":{"approved":true},"error":{"code":1,"message":"no disk"}}"#;
    let (ran, _) = says(line).await;
    assert_eq!(ran.executions, 0);
    assert!(ran.result().0.contains("no disk"), "{}", ran.result().0);
}

/// PicoClaw stops reading permanently at 1 MiB.
#[tokio::test(start_paused = true)]
async fn reads_reply_of_two_mib() {
    for bytes in [2 * 1024 * 1024, 8 * 1024 * 1024 - 200] {
        let (host, peer, events) = host_with(hook(&["before_tool"], &[])).await;
        let call = json!({"arguments": {"command": "ls -1"}, "note": "x".repeat(bytes)});
        let peer = play(peer, answers("hook.before_tool", json!({"action": "modify", "call": call})));
        let ran = run(&host, one_call()).await;
        host.shutdown().await;
        peer.await.unwrap();
        assert_eq!(
            (ran.result().0.as_str(), events.faults()),
            (r#"ran {"command":"ls -1"}"#, vec![]),
            "{bytes}"
        );
    }
}

/// A reply beyond the limit fails its call like any other failure, and is reported.
#[tokio::test(start_paused = true)]
async fn reports_overlong_reply() {
    let (ran, events) = turn("approve_tool", Failure::Oversized, false).await;
    assert_eq!(ran.executions, 0);
    let codes: Vec<String> = events.faults().into_iter().map(|(_, code)| code).collect();
    assert_eq!(codes, ["frame_too_long"]);
}
