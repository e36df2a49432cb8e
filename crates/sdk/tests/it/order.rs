//! The order of handlers: events run one at a time, tools and commands in parallel, hooks without
//! delay.

use std::sync::{Arc, Mutex};

use haft_protocol::event::AgentEvent;
use haft_protocol::ids::ToolCallId;
use haft_sdk::testing::Harness;
use haft_sdk::{
    Extension, InterceptAgentEnd, InterceptSessionStart, LifecycleEvent, NoArgs, Response,
    SessionStartReason, Subscribe, ToolCallDecision, ToolResult,
};
use serde_json::json;
use tokio::sync::Notify;

#[tokio::test]
async fn slow_event_handler_does_not_delay_a_hook() {
    let release = Arc::new(Notify::new());
    let released = Arc::clone(&release);
    let extension = Extension::new("slow", "1.0.0")
        .on_event("turn_start", move |_, _| {
            let released = Arc::clone(&released);
            async move { released.notified().await }
        })
        .command("c", "", |_, _| async { Response::noop() })
        .intercept_tool_call(|_, _| async { ToolCallDecision::Allow });
    let harness = Harness::start(extension).await;
    let asked = async {
        // Answered while the event before it is still being handled: nothing else would let it end.
        harness.send_line(r#"{"type":"event","event":"turn_start","step":1}"#).await;
        assert_eq!(harness.intercept_tool_call("bash", json!({})).await, ToolCallDecision::Allow);
        assert_eq!(harness.command("c", "").await, Response::noop());
        release.notify_one();
    };
    asked.await;
    harness.shutdown().await;
}

#[tokio::test]
async fn gap_is_handled_in_order_with_events() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let (events, gaps) = (Arc::clone(&log), Arc::clone(&log));
    let extension = Extension::new("log", "1.0.0")
        .on_event("turn_start", move |event, _| {
            let events = Arc::clone(&events);
            async move { events.lock().unwrap().push(format!("step {:?}", event.step)) }
        })
        .on_event_gap(move |lost, _| {
            let gaps = Arc::clone(&gaps);
            async move { gaps.lock().unwrap().push(format!("{lost} lost")) }
        });
    let harness = Harness::start(extension).await;
    harness.event(LifecycleEvent::turn_start(1)).await;
    harness.event_gap(7).await;
    harness.event(LifecycleEvent::turn_start(9)).await;
    assert_eq!(*log.lock().unwrap(), ["step Some(1)", "7 lost", "step Some(9)"]);
    harness.shutdown().await;
}

#[tokio::test]
async fn events_and_keys_are_handled_one_at_a_time_in_order() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let (events, keys) = (Arc::clone(&log), Arc::clone(&log));
    let extension = Extension::new("log", "1.0.0")
        .on_event("turn_start", move |event, _| {
            let events = Arc::clone(&events);
            async move {
                let step = event.step.unwrap_or_default();
                events.lock().unwrap().push(format!("begin {step}"));
                tokio::task::yield_now().await;
                events.lock().unwrap().push(format!("end {step}"));
            }
        })
        .panel("p", move |_, _| {
            let keys = Arc::clone(&keys);
            async move { keys.lock().unwrap().push("key".to_owned()) }
        });
    let harness = Harness::start(extension).await;
    tokio::join!(
        harness.event(LifecycleEvent::turn_start(1)),
        harness.panel_key("p", "up"),
        harness.event(LifecycleEvent::turn_start(2)),
    );
    assert_eq!(*log.lock().unwrap(), ["begin 1", "end 1", "key", "begin 2", "end 2"]);
}

#[tokio::test]
async fn tools_and_commands_run_in_parallel() {
    let meeting = Arc::new(tokio::sync::Barrier::new(3));
    let (at_tool, at_command) = (Arc::clone(&meeting), Arc::clone(&meeting));
    let extension = Extension::new("meet", "1.0.0")
        .tool("t", "", move |_: NoArgs, _| {
            let meeting = Arc::clone(&at_tool);
            async move {
                meeting.wait().await;
                ToolResult::text("met")
            }
        })
        .command("c", "", move |_, _| {
            let meeting = Arc::clone(&at_command);
            async move {
                meeting.wait().await;
                Response::noop()
            }
        });
    let harness = Harness::start(extension).await;
    // None of the three ends before all have begun.
    let (one, two, three) =
        tokio::join!(harness.tool("t", json!({})), harness.tool("t", json!({})), harness.command("c", ""));
    assert_eq!((one, two, three), (ToolResult::text("met"), ToolResult::text("met"), Response::noop()));
}

#[tokio::test]
async fn session_events_reach_the_handlers_of_both_forms() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let (old, new) = (Arc::clone(&log), Arc::clone(&log));
    let extension = Extension::new("log", "1.0.0")
        .on_event("turn_start", move |event, _| {
            let old = Arc::clone(&old);
            async move { old.lock().unwrap().push(format!("step {:?}", event.step)) }
        })
        .on_session_event("tool_end", move |event, _| {
            let new = Arc::clone(&new);
            async move { new.lock().unwrap().push(format!("{} in {}", event.event, event.session)) }
        });
    let harness = Harness::start(extension).await;
    harness.session_event(&AgentEvent::TurnStart { step: 1 }).await;
    let id = ToolCallId::new("t");
    harness.session_event(&AgentEvent::ToolEnd { id, name: "bash".into(), duration_ms: 3 }).await;
    assert_eq!(*log.lock().unwrap(), ["step Some(1)", "tool_end in session-1"]);
    let transcript = harness.shutdown().await;
    assert!(transcript.contains(r#""event_gap","events_2","host_services""#), "{transcript}");
    assert!(
        transcript.contains(r#"{"type":"subscribe","events":["tool_end","turn_start"]}"#),
        "{transcript}"
    );
}

#[tokio::test]
async fn handler_can_replace_the_subscriptions() {
    let extension = Extension::new("once", "1.0.0").on_session_event("turn_start", |_, host| async move {
        host.subscribe(Subscribe { replace: true, ..Subscribe::default() });
    });
    let harness = Harness::start(extension).await;
    harness.session_event(&AgentEvent::TurnStart { step: 1 }).await;
    let transcript = harness.shutdown().await;
    assert!(transcript.contains(r#"{"type":"subscribe","replace":true}"#), "{transcript}");
}

#[tokio::test]
async fn host_waits_for_the_handler_of_an_event() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let (start, end) = (Arc::clone(&log), Arc::clone(&log));
    let extension = Extension::new("log", "1.0.0")
        .wait_session_start(move |session, _| {
            let start = Arc::clone(&start);
            async move { start.lock().unwrap().push(session.reason.name().to_owned()) }
        })
        .wait_agent_end(move |run, _| {
            let end = Arc::clone(&end);
            async move {
                tokio::task::yield_now().await;
                end.lock().unwrap().push(run.error.unwrap_or_default());
            }
        });
    let harness = Harness::start(extension).await;
    let (session_id, session_path, previous_path) = ("1f".to_owned(), None, None);
    let reason = SessionStartReason::Fork;
    harness.wait_event(InterceptSessionStart { session_id, session_path, reason, previous_path }).await;
    harness.wait_event(InterceptAgentEnd { error: Some("refused".into()) }).await;
    assert_eq!(*log.lock().unwrap(), ["fork", "refused"]);
    let transcript = harness.shutdown().await;
    let subscribe = r#"{"type":"subscribe","intercept":[{"event":"session_start","role":"wait"},{"event":"agent_end","role":"wait"}]}"#;
    assert!(transcript.contains(subscribe), "{transcript}");
    assert!(transcript.contains(r#"{"type":"event_intercept_response","id":"2"}"#), "{transcript}");
}
