//! Tests of the events for the start and the end of tools.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use haft_core::hooks::{
    AfterToolExecute, ApproveTool, ApproverDecision, BeforeToolExecute, CancellationToken, FinishedCall,
    Observer, ResultDecision, ToolDecision,
};
use haft_core::tool::{Tool, ToolConcurrency, ToolContext, ToolOutput, ToolSpec};
use haft_protocol::RawJson;
use haft_protocol::content::ToolCall;
use haft_protocol::event::AgentEvent;

use crate::fake::{Script, call, calls, run, says, spec, tool};

/// Records the events of calls, one per line.
#[derive(Clone, Default)]
struct Calls(Arc<Mutex<Vec<String>>>);

impl Observer for Calls {
    #[expect(clippy::wildcard_enum_match_arm, reason = "only calls are of interest")]
    fn observe(&self, event: &AgentEvent) {
        self.0.lock().unwrap().push(match event {
            AgentEvent::ToolStart { id, name, args, .. } => format!("start {id} {name} {args}"),
            AgentEvent::ToolEnd { id, name, duration_ms } => format!("end {id} {name} {duration_ms}"),
            AgentEvent::ToolBlocked { id, .. } => format!("blocked {id}"),
            AgentEvent::ToolResult { id, .. } => format!("result {id}"),
            _ => return,
        });
    }
}

/// Takes as many seconds as the arguments specify.
struct Slow;

#[async_trait]
impl Tool for Slow {
    fn spec(&self) -> Arc<ToolSpec> {
        spec("slow", ToolConcurrency::Parallel)
    }

    async fn execute(&self, _: ToolContext, call: ToolCall) -> ToolOutput {
        let seconds: u64 = call.args.as_str().trim_matches(|c: char| !c.is_ascii_digit()).parse().unwrap();
        // sleep: virtual time
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        ToolOutput::text("slept")
    }
}

/// Decides after a delay: rewrites one call, refuses one, and answers another one.
struct Gate;

#[async_trait]
impl BeforeToolExecute for Gate {
    async fn before_tool_execute(&self, _: &CancellationToken, call: &ToolCall) -> ToolDecision {
        // sleep: virtual time
        tokio::time::sleep(Duration::from_secs(1)).await;
        match call.id.as_str() {
            "rewritten" => {
                let args = RawJson::parse(r#"{"n":7}"#).unwrap();
                ToolDecision::Rewrite { tool: Some("echo".into()), args }
            }
            "refused" => ToolDecision::block("no"),
            "answered" => ToolDecision::Respond { output: ToolOutput::text("here") },
            _ => ToolDecision::Allow,
        }
    }

    fn name(&self) -> &str {
        "gate"
    }
}

#[async_trait]
impl ApproveTool for Gate {
    async fn approve_tool(&self, _: &CancellationToken, call: &ToolCall) -> ApproverDecision {
        // sleep: virtual time
        tokio::time::sleep(Duration::from_secs(1)).await;
        match call.id.as_str() {
            "denied" => ApproverDecision::Deny { reason: "no".into() },
            _ => ApproverDecision::Approve,
        }
    }

    fn name(&self) -> &str {
        "gate"
    }
}

/// Reviews results after a delay.
#[async_trait]
impl AfterToolExecute for Gate {
    async fn after_tool_execute(
        &self,
        _: &CancellationToken,
        _: &FinishedCall,
        output: ToolOutput,
    ) -> ResultDecision {
        // sleep: virtual time
        tokio::time::sleep(Duration::from_secs(5)).await;
        ResultDecision::Show(output)
    }
}

async fn told(made: Vec<ToolCall>) -> Vec<String> {
    let (script, told) = (Script::new(vec![calls(made), says("done")]), Calls::default());
    let agent = script
        .agent()
        .tool(Slow)
        .tool(tool("echo", |args| ToolOutput::text(args)))
        .before_tool_execute(Gate)
        .approve_tool(Gate)
        .after_tool_execute(Gate)
        .observer(told.clone())
        .build()
        .unwrap();
    run(&agent).await.1.unwrap();
    let told = told.0.lock().unwrap();
    told.clone()
}

#[tokio::test(start_paused = true)]
async fn tool_start_is_reported_after_all_gates_allow() {
    let made = vec![call("a", "slow", r#"{"n":3}"#), call("b", "slow", r#"{"n":2}"#)];
    assert_eq!(
        told(made).await,
        [
            r#"start a slow {"n":3}"#,
            r#"start b slow {"n":2}"#,
            "end b slow 2000",
            "end a slow 3000",
            "result a",
            "result b",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn only_running_calls_report_a_start() {
    let made = vec![
        call("rewritten", "slow", r#"{"n":3}"#),
        call("refused", "echo", "{}"),
        call("denied", "echo", "{}"),
        call("answered", "echo", "{}"),
        call("unfit", "echo", r#"{"no":1}"#),
        call("unknown", "nothing", "{}"),
    ];
    assert_eq!(
        told(made).await,
        [
            "blocked refused",
            "blocked denied",
            r#"start rewritten echo {"n":7}"#,
            "end rewritten echo 0",
            "result rewritten",
            "result refused",
            "result denied",
            "result answered",
            "result unfit",
            "result unknown",
        ]
    );
}
