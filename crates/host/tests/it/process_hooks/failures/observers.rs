//! Hooks that only observe: none of their actions affects a turn.

use std::path::Path;
use std::time::Duration;

use haft_packages::{ExtensionSpec, HookCommand};
use haft_protocol::ids::ExtensionName;
use serde_json::{Value, json};

use super::super::agency::{Does, one_call, play, run, said};
use super::super::processes::{host, patient};
use super::super::{hook, host_with};
use super::until_told;
use crate::support::Events;

/// The time that PicoClaw waits for an observer at each event.
const PATIENCE: Duration = Duration::from_millis(500);

/// Checks the faults of a hook with this reaction to events.
async fn check(does: fn(&Value) -> Option<Does>, faults: &[&str]) {
    let (host, mut peer, events) = host_with(hook(&[], &["*"])).await;
    let peer = tokio::spawn(async move {
        let mut told = 0;
        while let Some(event) = peer.next().await {
            told += 1;
            match does(&event) {
                Some(Does::Says(line)) => peer.send_as_far_as_read(line.as_bytes()).await,
                Some(Does::Leaves) => break,
                _ => {}
            }
        }
        told
    });
    let began = tokio::time::Instant::now();
    let ran = run(&host, one_call()).await;
    assert_eq!((ran.executions, ran.answer().as_str()), (1, "two files"));
    assert!(began.elapsed() < PATIENCE, "the turn does not wait for the hook");
    until_told(&events, faults.len()).await;
    host.ping().await;
    host.shutdown().await;
    assert!(peer.await.unwrap() > 0);
    let codes: Vec<String> = events.faults().into_iter().map(|(_, code)| code).collect();
    assert_eq!(codes, faults);
}

#[tokio::test(start_paused = true)]
async fn handles_exit_at_first_event() {
    check(|_| Some(Does::Leaves), &["exited"]).await;
}

/// A reply without a query is reported once.
#[tokio::test(start_paused = true)]
async fn handles_replies_to_events() {
    let abort = |_: &Value| {
        Some(Does::Says("{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"action\":\"hard_abort\"}}\n".into()))
    };
    check(abort, &["unknown_id"]).await;
    let error = |_: &Value| {
        Some(Does::Says("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"no\"}}\n".into()))
    };
    check(error, &["unknown_id"]).await;
}

#[tokio::test(start_paused = true)]
async fn handles_unreadable_output() {
    check(|event| Some(Does::Says(format!("got {event}\n"))), &[]).await;
    check(|_| Some(Does::Says("\u{0}\u{1}\n{{{{\n".into())), &[]).await;
}

#[tokio::test(start_paused = true)]
async fn handles_flood_of_observer() {
    check(|_| Some(Does::Says("x".repeat(8 * 1024 * 1024 + 1) + "\n")), &["frame_too_long"]).await;
}

/// The hook receives no further events, and the rest of the program continues: surplus events are dropped.
#[tokio::test(start_paused = true)]
async fn drops_events_of_unreading_hook() {
    let (host, peer, events) = host_with(hook(&[], &["*"])).await;
    let began = tokio::time::Instant::now();
    for _ in 0..200 {
        assert_eq!(run(&host, one_call()).await.executions, 1);
    }
    assert_eq!((began.elapsed() < PATIENCE, events.faults()), (true, vec![]));
    assert!(host.statuses()[0].events_dropped > 0);
    let peer = play(peer, |_| Does::Reply(json!({})));
    host.shutdown().await;
    peer.await.unwrap();
}

/// The same with a process, whose pipe is full soon. It is also stopped when the program ends.
#[cfg(unix)]
#[tokio::test]
async fn drops_events_of_unreading_process() {
    let dir = tempfile::tempdir().unwrap();
    let script = r#"read hello; echo '{"jsonrpc":"2.0","id":1,"result":{}}'; echo $$ > pid; exec sleep 600"#;
    let command = ["sh", "-c", script].map(str::to_owned).to_vec();
    let command = HookCommand { command, dir: Some(dir.path().to_owned()) };
    let name = ExtensionName::new("gate");
    let spec = patient(ExtensionSpec::from_hook(name, hook(&[], &["*"]), &command, Path::new("/")));
    let events = Events::default();
    let host = host(vec![spec], &events).await;
    for _ in 0..300 {
        let says = vec![one_call().remove(0), vec![said(&"x".repeat(4096))]];
        assert_eq!(run(&host, says).await.executions, 1);
    }
    assert_eq!(events.faults(), []);
    assert!(host.statuses()[0].events_dropped > 0);
    host.shutdown().await;
    let pid = std::fs::read_to_string(dir.path().join("pid")).unwrap();
    assert!(!Path::new("/proc").join(pid.trim()).exists() || !Path::new("/proc/self").exists());
}
