//! Start, reload and shutdown, in memory and in virtual time.

use std::time::Duration;

use haft_core::hooks::ToolDecision;
use haft_host::{ExtensionState, FaultCode, Host};
use haft_packages::{GuardRoles, LaunchPlan};
use haft_protocol::event::AgentEvent;
use haft_protocol::ext::InterceptKind;
use haft_protocol::ext::Limits;
use haft_test_support::FakePeer;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::{
    Events, blocked, builder, call, config, execute, fault, host_with, host_with_two, spec, state, text,
};

#[tokio::test(start_paused = true)]
async fn hello_ack_contains_configuration() {
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
    insta::assert_snapshot!(ack.to_string(), @r#"{"type":"hello_ack","protocol_version":1,"zot_version":"0.1.0","haft_version":"0.1.0","provider":"scripted","model":"demo","cwd":"/work","capabilities":["before_agent_start","before_compact","tool_result","input","before_settle","context","message_end","before_provider_request","user_bash","before_switch","before_fork","before_tree","resources","approve","project_trust","panel_resize","ping","event_gap","intercept_roles","register_rejected","command_completions","status","asks","shows","session","bus","tools_2","cancel","tool_cancel","progress","events_2","mirror","hooks_2","calls"],"limits":null}"#);
}

#[tokio::test(start_paused = true)]
async fn missing_hello_delays_start_briefly_and_calls_for_ten_seconds() {
    let (_silent, reader, writer) = FakePeer::pair();
    let events = Events::default();
    let start = tokio::time::Instant::now();
    let host = builder(&events).streams("silent", reader, writer).start().await;
    assert_eq!(start.elapsed(), config().timeouts.start_patience);
    assert_eq!(state(&host, "silent"), ExtensionState::Starting);
    let hooks = host.hook_source().hooks();
    assert!(
        hooks.before_turn.is_empty() && hooks.before_agent_start.is_empty(),
        "no declaration makes it a gate"
    );
    assert_eq!(blocked(&host, &call("bash", json!({}))).await, None);
    assert_eq!(start.elapsed(), Duration::from_secs(10), "it may be a gate, but it may be late");
    assert_eq!(blocked(&host, &call("bash", json!({}))).await, None);
    assert_eq!(
        (start.elapsed(), state(&host, "silent")),
        (Duration::from_secs(10), ExtensionState::Starting)
    );
    host.wait_until_settled().await;
    assert_eq!(start.elapsed(), Duration::from_secs(60));
    assert_eq!(events.faults(), [fault("silent", "hello_timeout")]);
    assert!(matches!(state(&host, "silent"), ExtensionState::Failed { code: FaultCode::HelloTimeout, .. }));
    assert!(host.hook_source().hooks().before_tool_execute.is_empty());
}

#[tokio::test(start_paused = true)]
async fn late_gate_applies_from_first_tool_call() {
    let (mut late, reader, writer) = FakePeer::pair();
    let events = Events::default();
    let host = builder(&events).streams("late", reader, writer).start().await;
    let mut changes = host.changes();
    changes.mark_unchanged();
    assert!(host.tools().is_empty());
    let join = async {
        tokio::time::sleep(Duration::from_secs(3)).await;
        let tool = json!({"type": "register_tool", "name": "news", "schema": {"type": "object"}});
        late.greet("late", [tool, json!({"type": "subscribe", "intercept": ["tool_call"]})]).await;
        let question = late.expect("event_intercept").await;
        late.answer(&question, "event_intercept_response", json!({"block": true, "reason": "no"})).await;
    };
    let bash = call("bash", json!({}));
    let (refused, ()) = tokio::join!(blocked(&host, &bash), join);
    assert_eq!(refused, Some(("late".to_owned(), "no".to_owned())));
    assert!(changes.has_changed().unwrap());
    assert_eq!(host.tools().len(), 1);
    assert_eq!(events.faults(), []);
}

#[tokio::test(start_paused = true)]
async fn slow_gate_delays_start_briefly_and_applies_to_first_call() {
    let (mut slow, reader, writer) = FakePeer::pair();
    let events = Events::default();
    let register = async {
        slow.send(json!({"type": "hello", "name": "slow"})).await;
        slow.expect("hello_ack").await;
        tokio::time::sleep(Duration::from_secs(6)).await;
        slow.send(json!({"type": "subscribe", "intercept": ["tool_call"]})).await;
        slow.send(json!({"type": "ready"})).await;
        let question = slow.expect("event_intercept").await;
        slow.answer(&question, "event_intercept_response", json!({"block": true, "reason": "no"})).await;
    };
    let call_at_once = async {
        let start = tokio::time::Instant::now();
        let host = builder(&events).streams("slow", reader, writer).start().await;
        assert_eq!(start.elapsed(), config().timeouts.start_patience);
        assert_eq!(state(&host, "slow"), ExtensionState::Starting);
        blocked(&host, &call("bash", json!({}))).await
    };
    let (refused, ()) = tokio::join!(call_at_once, register);
    assert_eq!(refused, Some(("slow".to_owned(), "no".to_owned())));
    assert_eq!(events.faults(), []);
}

#[tokio::test(start_paused = true)]
async fn cancels_call_that_waits_for_late_extension() {
    let (_silent, reader, writer) = FakePeer::pair();
    let host = builder(&Events::default()).streams("silent", reader, writer).start().await;
    let (cancel, start) = (CancellationToken::new(), tokio::time::Instant::now());
    let hook = host.hook_source().hooks().before_tool_execute.remove(0);
    let bash = call("bash", json!({}));
    let (decision, ()) = tokio::join!(hook.before_tool_execute(&cancel, &bash), async { cancel.cancel() });
    assert!(matches!(decision, ToolDecision::Refuse(_)));
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn ping_returns_without_querying_extensions() {
    let (host, [_hung, peer], _) = host_with_two(("hung", []), ("gone", [])).await;
    drop(peer);
    let start = tokio::time::Instant::now();
    host.ping().await;
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn panic_fails_only_its_extension() {
    let events = Events::default();
    let sink = events.sink();
    let fragile: haft_host::EventSink = std::sync::Arc::new(move |event| {
        assert!(!matches!(event, AgentEvent::ExtNotify { .. }), "a sink that panics");
        sink(event);
    });
    let (mut peer, reader, writer) = FakePeer::pair();
    let builder = Host::builder(config()).events(fragile).streams("noisy", reader, writer);
    let (mut other, reader, writer) = FakePeer::pair();
    let start = builder.streams("other", reader, writer).start();
    let tool = json!({"type": "register_tool", "name": "news", "schema": {"type": "object"}});
    let (host, (), ()) = tokio::join!(start, peer.greet("noisy", [tool]), other.greet("other", []));
    let crash = async {
        peer.expect("tool_call").await;
        peer.send(json!({"type": "notify", "level": "info", "message": "boom"})).await;
    };
    let (output, ()) = tokio::join!(execute(&host, "news", json!({})), crash);
    assert_eq!(
        text(&output),
        "extension noisy/news failed: stopped because of an internal error: its task panicked"
    );
    host.ping().await;
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert!(matches!(state(&host, "noisy"), ExtensionState::Failed { code: FaultCode::Exited, .. }));
    assert_eq!(state(&host, "other"), ExtensionState::Ready);
    assert_eq!(events.faults(), [fault("noisy", "exited")]);
    assert!(execute(&host, "news", json!({})).await.is_error);
}

#[tokio::test(start_paused = true)]
async fn stopped_extension_is_not_a_fault() {
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
async fn shutdown_gives_up_after_three_seconds() {
    let (host, _peer, events) = host_with("x", []).await;
    let start = tokio::time::Instant::now();
    host.shutdown().await;
    assert_eq!(start.elapsed(), Duration::from_secs(3));
    assert_eq!(events.faults(), []);
}

#[tokio::test(start_paused = true)]
async fn required_gate_that_never_started_blocks() {
    let dir = tempfile::tempdir().unwrap();
    let fails = LaunchPlan::Process { program: dir.path().join("missing"), args: Vec::new() };
    for launch in [fails, LaunchPlan::Impossible { why: "its program is missing".into() }] {
        let events = Events::default();
        let mut guard = spec("guard", dir.path(), launch);
        guard.roles = GuardRoles { required: true, ..GuardRoles::default() };
        let host = builder(&events).specs(vec![guard]).start().await;
        let (by, reason) = blocked(&host, &call("bash", json!({}))).await.unwrap();
        assert_eq!(by, "guard");
        assert!(reason.contains("missing"), "{reason}");
        assert_eq!(events.faults(), [fault("guard", "spawn_failed")]);
        assert!(host.hook_source().hooks().before_turn.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn only_declared_gate_blocks_without_start() {
    let dir = tempfile::tempdir().unwrap();
    for (gates, blocks) in
        [(vec![InterceptKind::ToolCall], true), (vec![InterceptKind::TurnStart], false), (vec![], false)]
    {
        let events = Events::default();
        let launch = LaunchPlan::Process { program: dir.path().join("missing"), args: Vec::new() };
        let mut guard = spec("guard", dir.path(), launch);
        guard.roles = GuardRoles { gates, ..GuardRoles::default() };
        let host = builder(&events).specs(vec![guard]).start().await;
        assert_eq!(blocked(&host, &call("bash", json!({}))).await.is_some(), blocks);
        assert_eq!(events.faults(), [fault("guard", "spawn_failed")]);
    }
}

#[tokio::test(start_paused = true)]
async fn file_only_extension_is_ready_and_names_are_unique() {
    let events = Events::default();
    let dir = tempfile::tempdir().unwrap();
    let theme = spec("theme", dir.path(), LaunchPlan::ThemeOnly);
    let host = builder(&events).specs(vec![theme.clone(), theme]).start().await;
    assert_eq!(state(&host, "theme"), ExtensionState::Ready);
    assert_eq!(events.faults(), [fault("theme", "register_rejected")]);
    let stats = host.reload().await;
    assert_eq!((stats.stopped, stats.loaded, stats.ready, stats.errors.len()), (0, 1, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn streams_survive_reload() {
    let (host, _peer, events) = host_with("x", [json!({"type": "register_command", "name": "go"})]).await;
    let stats = host.reload().await;
    assert_eq!((stats.stopped, stats.loaded, stats.errors.len()), (0, 0, 0));
    assert_eq!(state(&host, "x"), ExtensionState::Ready);
    assert_eq!(host.commands().len(), 1);
    assert_eq!(events.faults(), []);
}
