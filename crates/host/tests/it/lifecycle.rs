//! Start, reload, shutdown, in memory and in virtual time.

use std::time::Duration;

use haft_host::{ExtensionState, FaultCode, Launch, Roles};
use haft_protocol::ext::InterceptKind;
use haft_protocol::ext::Limits;
use haft_test_support::FakePeer;
use serde_json::json;

use crate::support::{Events, blocked, builder, call, fault, host_with, spec, state};

#[tokio::test(start_paused = true)]
async fn the_greeting_tells_the_facts() {
    let (mut peer, reader, writer) = FakePeer::pair();
    let events = Events::default();
    let start = builder(&events).streams("x", reader, writer).start();
    let greet = async {
        peer.send(json!({"type": "hello", "name": "x"})).await;
        let ack = peer.expect("hello_ack").await;
        peer.send(json!({"type": "ready"})).await;
        ack
    };
    let (_host, mut ack) = tokio::join!(start, greet);
    let limits: Limits = serde_json::from_value(ack["limits"].take()).unwrap();
    assert_eq!(limits, Limits::default());
    insta::assert_snapshot!(ack.to_string(), @r##"{"type":"hello_ack","protocol_version":1,"zot_version":"0.1.0","haft_version":"0.1.0","provider":"scripted","model":"demo","cwd":"/work","capabilities":["before_agent_start","panel_resize","ping","intercept_roles"],"limits":null}"##);
}

#[tokio::test(start_paused = true)]
async fn one_that_never_says_hello_delays_the_start_by_its_deadline_alone() {
    let (_silent, reader, writer) = FakePeer::pair();
    let events = Events::default();
    let start = tokio::time::Instant::now();
    let host = builder(&events).streams("silent", reader, writer).start().await;
    assert_eq!(start.elapsed(), Duration::from_secs(10));
    assert_eq!(events.faults(), [fault("silent", "hello_timeout")]);
    assert!(matches!(state(&host, "silent"), ExtensionState::Failed { code: FaultCode::HelloTimeout, .. }));
    assert!(host.hook_source().hooks().before_tool_execute.is_empty());
}

#[tokio::test(start_paused = true)]
async fn one_that_is_stopped_leaves_and_is_not_a_fault() {
    let (host, mut peer, events) = host_with("x", []).await;
    let leave = async {
        peer.expect("shutdown").await;
        peer.send(json!({"type": "shutdown_ack"})).await;
        drop(peer);
    };
    let start = tokio::time::Instant::now();
    tokio::join!(host.shutdown(), leave);
    assert_eq!(start.elapsed(), Duration::ZERO);
    assert_eq!(state(&host, "x"), ExtensionState::Stopped);
    assert_eq!(events.faults(), []);
}

#[tokio::test(start_paused = true)]
async fn one_that_does_not_leave_is_left_after_three_seconds() {
    let (host, _peer, events) = host_with("x", []).await;
    let start = tokio::time::Instant::now();
    host.shutdown().await;
    assert_eq!(start.elapsed(), Duration::from_secs(3));
    assert_eq!(events.faults(), []);
}

#[tokio::test(start_paused = true)]
async fn a_required_gate_that_never_started_blocks() {
    let dir = tempfile::tempdir().unwrap();
    let fails = Launch::Process { program: dir.path().join("missing"), args: Vec::new() };
    for launch in [fails, Launch::Impossible { why: "its program is missing".into() }] {
        let events = Events::default();
        let mut guard = spec("guard", dir.path(), launch);
        guard.roles = Roles { required: true, ..Roles::default() };
        let host = builder(&events).specs(vec![guard]).start().await;
        let (by, reason) = blocked(&host, &call("bash", json!({}))).await.unwrap();
        assert_eq!(by, "guard");
        assert!(reason.contains("missing"), "{reason}");
        assert_eq!(events.faults(), [fault("guard", "spawn_failed")]);
        assert!(host.hook_source().hooks().before_turn.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn the_same_without_required_does_not() {
    let events = Events::default();
    let dir = tempfile::tempdir().unwrap();
    let launch = Launch::Process { program: dir.path().join("missing"), args: Vec::new() };
    let mut guard = spec("guard", dir.path(), launch);
    guard.roles = Roles { gates: vec![InterceptKind::ToolCall], ..Roles::default() };
    let host = builder(&events).specs(vec![guard]).start().await;
    assert_eq!(blocked(&host, &call("bash", json!({}))).await, None);
    assert_eq!(events.faults(), [fault("guard", "spawn_failed")]);
}

#[tokio::test(start_paused = true)]
async fn files_alone_are_loaded_and_ready_and_names_count_once() {
    let events = Events::default();
    let dir = tempfile::tempdir().unwrap();
    let theme = spec("theme", dir.path(), Launch::ThemeOnly);
    let host = builder(&events).specs(vec![theme.clone(), theme]).start().await;
    assert_eq!(state(&host, "theme"), ExtensionState::Ready);
    assert_eq!(events.faults(), [fault("theme", "register_rejected")]);
    let stats = host.reload().await;
    assert_eq!((stats.stopped, stats.loaded, stats.ready, stats.errors.len()), (0, 1, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn streams_stay_over_a_reload() {
    let (host, _peer, events) = host_with("x", [json!({"type": "register_command", "name": "go"})]).await;
    let stats = host.reload().await;
    assert_eq!((stats.stopped, stats.loaded, stats.errors.len()), (0, 0, 0));
    assert_eq!(state(&host, "x"), ExtensionState::Ready);
    assert_eq!(host.commands().len(), 1);
    assert_eq!(events.faults(), []);
}
