//! Tests of cancellation: it reaches the model, hooks and tools, and pending actions do not happen.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use haft_core::Run;
use haft_core::error::TurnErrorKind;
use haft_core::hooks::{BeforeToolExecute, ToolDecision};
use haft_core::model::ModelEvent;
use haft_core::tool::{Tool, ToolConcurrency, ToolContext, ToolOutput, ToolSpec};
use haft_protocol::content::ToolCall;
use haft_protocol::event::AgentEvent;
use tokio_util::sync::CancellationToken;

use crate::fake::{Answer, Script, call, calls, line, says, spec, tool, transcript};

/// Cancels at the first event that matches `when`; returns the remaining lines and the outcome.
async fn cancel_at(mut run: Run, when: fn(&AgentEvent) -> bool) -> (Vec<String>, TurnErrorKind) {
    let cancel = run.cancellation_token();
    let mut lines = Vec::new();
    while let Some(event) = run.next().await {
        if when(&event) {
            cancel.cancel();
        } else if cancel.is_cancelled() {
            lines.push(line(&event));
        }
    }
    (lines, run.finish().await.unwrap_err().kind)
}

#[tokio::test]
async fn keeps_partial_answer_that_the_user_saw() {
    let items = vec![Ok(ModelEvent::Text("half an ans".into()))];
    let agent = Script::new(vec![Answer { items, hangs: true }]).agent().build().unwrap();
    let (lines, kind) =
        cancel_at(agent.prompt("go"), |event| matches!(event, AgentEvent::TextDelta { .. })).await;
    assert_eq!(kind, TurnErrorKind::Aborted);
    assert_eq!(
        lines,
        ["assistant half an ans", "end Aborted aborted", r#"{"type":"settled"}"#, r#"{"type":"done"}"#]
    );
    assert_eq!(transcript(&agent), ["user go", "assistant half an ans "]);
}

/// Never answers by itself.
struct Hangs;

#[async_trait]
impl BeforeToolExecute for Hangs {
    async fn before_tool_execute(&self, _: &CancellationToken, _: &ToolCall) -> ToolDecision {
        std::future::pending().await
    }
}

#[tokio::test]
async fn abort_does_not_wait_for_a_pending_gate() {
    let agent = Script::new(vec![calls(vec![call("t1", "echo", "{}")])])
        .agent()
        .tool(tool("echo", |_| panic!("must not run")))
        .before_tool_execute(Hangs)
        .build()
        .unwrap();
    let (_, kind) = cancel_at(agent.prompt("go"), |event| matches!(event, AgentEvent::ToolCall { .. })).await;
    assert_eq!(kind, TurnErrorKind::Aborted);
    assert_eq!(
        transcript(&agent)[2],
        "tool t1 error not run: the turn ended before this call was carried out"
    );
}

/// Runs until cancelled; then returns partial output, or never returns.
struct Long {
    stubborn: bool,
    dropped: Arc<AtomicBool>,
}

struct OnDrop(Arc<AtomicBool>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[async_trait]
impl Tool for Long {
    fn spec(&self) -> Arc<ToolSpec> {
        spec("long", ToolConcurrency::Exclusive)
    }

    async fn execute(&self, context: ToolContext, _: ToolCall) -> ToolOutput {
        let _guard = OnDrop(self.dropped.clone());
        context.progress("begun");
        context.cancel.cancelled().await;
        if self.stubborn {
            std::future::pending::<()>().await;
        }
        ToolOutput::text("half")
    }
}

async fn cancel_long(stubborn: bool) -> (Vec<String>, bool) {
    let dropped = Arc::new(AtomicBool::new(false));
    let two = vec![call("t1", "long", "{}"), call("t2", "long", "{}")];
    let tool = Long { stubborn, dropped: dropped.clone() };
    let agent = Script::new(vec![calls(two)]).agent().tool(tool).build().unwrap();
    let (_, kind) =
        cancel_at(agent.prompt("go"), |event| matches!(event, AgentEvent::ToolProgress { .. })).await;
    assert_eq!(kind, TurnErrorKind::Aborted);
    (transcript(&agent)[2..].to_vec(), dropped.load(Ordering::SeqCst))
}

#[tokio::test(start_paused = true)]
async fn cancelled_tool_returns_partial_output() {
    let (results, _) = cancel_long(false).await;
    assert_eq!(
        results,
        ["tool t1 half", "tool t2 error not run: the turn ended before this call was carried out"]
    );
}

#[tokio::test(start_paused = true)]
async fn drops_tool_that_ignores_cancellation() {
    let (results, dropped) = cancel_long(true).await;
    assert_eq!(results[0], "tool t1 error long was cancelled; some or all of its work may be done");
    assert!(dropped);
}

/// No part of a tool runs after the cancellation.
#[tokio::test]
async fn does_not_start_calls_after_the_cancellation() {
    let ran = Arc::new(AtomicUsize::new(0));
    let many = (0..20).map(|n| call(&format!("t{n}"), "first", "{}")).collect();
    let script = Script::new(vec![calls(many)]);
    let (count, run) = (ran.clone(), Arc::new(Mutex::new(None::<CancellationToken>)));
    let cancel = run.clone();
    let agent = script
        .agent()
        .tool(tool("first", move |_| {
            count.fetch_add(1, Ordering::SeqCst);
            cancel.lock().unwrap().as_ref().unwrap().cancel();
            ToolOutput::text("done")
        }))
        .build()
        .unwrap();
    let started = agent.prompt("go");
    *run.lock().unwrap() = Some(started.cancellation_token());
    assert_eq!(started.finish().await.unwrap_err().kind, TurnErrorKind::Aborted);
    assert_eq!(ran.load(Ordering::SeqCst), 1);
    assert_eq!(
        transcript(&agent)[2..4],
        ["tool t0 done", "tool t1 error not run: the turn ended before this call was carried out"]
    );
    assert_eq!(transcript(&agent).len(), 22);
}

#[tokio::test]
async fn dropped_run_leaves_a_valid_transcript_and_a_free_agent() {
    let script = Script::new(vec![calls(vec![call("t1", "echo", "{}")]), says("back")]);
    let agent = script
        .agent()
        .tool(tool("echo", |_| panic!("must not run")))
        .before_tool_execute(Hangs)
        .build()
        .unwrap();
    let mut run = agent.prompt("go");
    while !matches!(run.next().await, Some(AgentEvent::ToolCall { .. })) {}
    drop(run);
    assert_eq!(
        transcript(&agent)[2..],
        ["tool t1 error not run: the turn ended before this call was carried out"]
    );
    assert_eq!(agent.prompt("again").finish().await, Ok(()));
}
