//! Handlers that panic, fail or are missing: each request is answered once, and the extension
//! continues.

use haft_sdk::protocol::message::StopCause;
use haft_sdk::testing::Harness;
use haft_sdk::{
    ApproveDecision, AssistantMessageDecision, BeforeAgentStartDecision, BeforeForkDecision,
    BeforeProviderRequestDecision, BeforeSettleDecision, BeforeSwitchDecision, BeforeTreeDecision,
    ContextDecision, Extension, InputDecision, LifecycleEvent, MessageEndDecision, NoArgs, NoteLevel,
    ProjectTrustDecision, ResourcesDecision, ResourcesReason, Response, SwitchReason, ToolCallDecision,
    ToolResult, ToolResultDecision, TurnStartDecision, UserBashDecision,
};
use serde_json::json;

use crate::content::{finished_call, left_branch};

fn boom<T>() -> T {
    panic!("boom")
}

/// All handlers panic, before or inside their future.
fn panicking() -> Extension {
    Extension::new("panicking", "1.0.0")
        .command("c", "", |_, _| async { boom::<Response>() })
        .tool("t", "", |_: NoArgs, _| -> std::future::Ready<ToolResult> { boom() })
        .on_event("turn_start", |_, _| async { boom::<()>() })
        .panel("p", |_, _| async { boom::<()>() })
        .intercept_tool_call(|_, _| async { boom::<ToolCallDecision>() })
        .intercept_turn_start(|_, _| async { boom::<TurnStartDecision>() })
        .intercept_assistant_message(|_, _| async { boom::<AssistantMessageDecision>() })
        .before_agent_start(|_, _| async { boom::<BeforeAgentStartDecision>() })
        .intercept_tool_result(|_, _| async { boom::<ToolResultDecision>() })
        .intercept_input(|_, _| async { boom::<InputDecision>() })
        .intercept_message_end(|_, _| async { boom::<MessageEndDecision>() })
        .before_provider_request(|_, _| async { boom::<BeforeProviderRequestDecision>() })
        .intercept_user_bash(|_, _| async { boom::<UserBashDecision>() })
        .before_switch(|_, _| async { boom::<BeforeSwitchDecision>() })
        .before_fork(|_, _| async { boom::<BeforeForkDecision>() })
        .before_tree(|_, _| async { boom::<BeforeTreeDecision>() })
        .intercept_resources(|_, _| async { boom::<ResourcesDecision>() })
        .approve_calls(|_, _| async { boom::<ApproveDecision>() })
        .intercept_project_trust(|_, _| async { boom::<ProjectTrustDecision>() })
        .intercept_context(|_, _| async { boom::<ContextDecision>() })
        .before_settle(|_, _| async { boom::<BeforeSettleDecision>() })
}

/// All handlers return an error.
fn failing() -> Extension {
    Extension::new("failing", "1.0.0")
        .command("c", "", |_, _| async { Err::<Response, _>("boom") })
        .tool("t", "", |_: NoArgs, _| async { Err::<ToolResult, _>("boom".to_owned()) })
        .on_event("turn_start", |_, _| async { Err::<(), _>("boom") })
        .panel("p", |_, _| async { Err::<(), _>("boom") })
        .intercept_tool_call(|_, _| async { Err::<ToolCallDecision, _>("boom") })
        .intercept_turn_start(|_, _| async { Err::<TurnStartDecision, _>("boom") })
        .intercept_assistant_message(|_, _| async { Err::<AssistantMessageDecision, _>("boom") })
        .before_agent_start(|_, _| async { Err::<BeforeAgentStartDecision, _>("boom") })
        .intercept_tool_result(|_, _| async { Err::<ToolResultDecision, _>("boom") })
        .intercept_input(|_, _| async { Err::<InputDecision, _>("boom") })
        .intercept_message_end(|_, _| async { Err::<MessageEndDecision, _>("boom") })
        .before_provider_request(|_, _| async { Err::<BeforeProviderRequestDecision, _>("boom") })
        .intercept_user_bash(|_, _| async { Err::<UserBashDecision, _>("boom") })
        .before_switch(|_, _| async { Err::<BeforeSwitchDecision, _>("boom") })
        .before_fork(|_, _| async { Err::<BeforeForkDecision, _>("boom") })
        .before_tree(|_, _| async { Err::<BeforeTreeDecision, _>("boom") })
        .intercept_resources(|_, _| async { Err::<ResourcesDecision, _>("boom") })
        .approve_calls(|_, _| async { Err::<ApproveDecision, _>("boom") })
        .intercept_project_trust(|_, _| async { Err::<ProjectTrustDecision, _>("boom") })
        .intercept_context(|_, _| async { Err::<ContextDecision, _>("boom") })
        .before_settle(|_, _| async { Err::<BeforeSettleDecision, _>("boom") })
}

/// The number of hooks that each extension here has.
const HOOKS: usize = 17;

/// Twice, because a handler must survive its own failure.
async fn check(extension: Extension, reason: &str) {
    let harness = Harness::start(extension).await;
    ask_everything(&harness, reason).await;
    ask_everything(&harness, reason).await;
    // What nobody waits for is told to the user; what the host waits for is told to the host.
    let told = ["handler of turn_start failed", "handler of p failed"];
    let told: Vec<_> = told.iter().map(|what| (NoteLevel::Error, format!("{what}: {reason}"))).collect();
    assert_eq!(harness.notes(), [told.clone(), told].concat());
    assert_eq!(harness.failures().await, vec![reason; 2 * HOOKS]);
    harness.shutdown().await;
}

async fn ask_everything(harness: &Harness, reason: &str) {
    assert_eq!(harness.command("c", "").await, Response::error(reason));
    assert_eq!(harness.tool("t", json!({})).await, ToolResult::error(reason));
    assert_eq!(harness.intercept_tool_call("bash", json!({})).await, ToolCallDecision::block(reason));
    assert_eq!(harness.turn_start(1).await, TurnStartDecision::Allow);
    assert_eq!(harness.assistant_message("hi").await, AssistantMessageDecision::Show);
    assert_eq!(harness.before_agent_start("hi", "").await, BeforeAgentStartDecision::unchanged());
    assert_eq!(harness.tool_result(finished_call("x")).await, ToolResultDecision::Unchanged);
    assert_eq!(harness.before_settle("done", 0).await, BeforeSettleDecision::Settle);
    assert_eq!(harness.before_switch(SwitchReason::New, None).await, BeforeSwitchDecision::Continue);
    assert_eq!(harness.before_fork("0a").await, BeforeForkDecision::Continue);
    assert_eq!(harness.before_tree(left_branch(0)).await, BeforeTreeDecision::Continue);
    assert_eq!(harness.find_resources(ResourcesReason::Startup).await, ResourcesDecision::default());
    assert_eq!(harness.approve_call("bash", json!({})).await, ApproveDecision::block(reason));
    assert_eq!(harness.ask_about_trust(&[]).await, ProjectTrustDecision::Undecided);
    assert_eq!(harness.context_messages(Vec::new()).await, ContextDecision::Unchanged);
    assert_eq!(harness.message_end(Vec::new(), StopCause::End).await, MessageEndDecision::Unchanged);
    let request = harness.before_provider_request("p", "m", json!({})).await;
    assert_eq!(request, BeforeProviderRequestDecision::Unchanged);
    assert_eq!(harness.user_bash("ls", false).await, UserBashDecision::block(reason));
    assert_eq!(harness.review_input("hi").await, InputDecision::Unchanged);
    harness.event(LifecycleEvent::turn_start(1)).await;
    harness.panel_key("p", "up").await;
}

#[tokio::test]
async fn panics_are_answered() {
    check(panicking(), "handler panicked: boom").await;
}

#[tokio::test]
async fn errors_are_answered() {
    check(failing(), "boom").await;
}

#[tokio::test]
async fn unregistered_names_are_rejected() {
    let harness = Harness::start(Extension::new("empty", "1.0.0")).await;
    assert_eq!(harness.command("c", "").await, Response::error("this extension has no command \"c\""));
    assert_eq!(harness.tool("t", json!({})).await, ToolResult::error("this extension has no tool \"t\""));
    assert_eq!(harness.intercept_tool_call("bash", json!({})).await, ToolCallDecision::Allow);
    harness.event(LifecycleEvent::session_start()).await;
    harness.panel_key("p", "up").await;
    harness.shutdown().await;
}

#[tokio::test]
async fn every_request_is_answered_exactly_once() {
    let harness = Harness::start(panicking()).await;
    let asked = ["command_invoked", "tool_call", "event_intercept"].into_iter().cycle().enumerate().take(300);
    for (id, kind) in asked {
        let question = json!({
            "type": kind, "id": id.to_string(), "name": (["c", "t", "missing"][id % 7 % 3]), "args": "",
            "event": (["tool_call", "turn_start", "assistant_message"][id % 5 % 3]),
            "step": 1, "text": "", "tool_id": "1", "tool_name": "bash", "tool_args": {},
        });
        harness.send_line(&question.to_string()).await;
    }
    let transcript = harness.shutdown().await;
    let answers = transcript.lines().filter_map(|line| line.strip_prefix("← "));
    let mut answered: Vec<usize> = answers
        .filter_map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["id"].as_str()?.parse().ok()
        })
        .collect();
    answered.sort_unstable();
    assert_eq!(answered, (0..300).collect::<Vec<_>>());
}
