//! Tests of the hooks that the agent waits for.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use haft_core::hooks::{CancellationToken, Observer, OnWaitPoint, WaitPoint};
use haft_core::tool::ToolOutput;
use haft_protocol::event::AgentEvent;

use crate::fake::{Script, call, calls, says, tool};

/// Records the events, and the points after a moment.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn add(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }

    fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl Observer for Log {
    fn observe(&self, event: &AgentEvent) {
        self.add(event.kind().name());
    }
}

#[async_trait]
impl OnWaitPoint for Log {
    async fn on_wait_point(&self, _: &CancellationToken, point: &WaitPoint) {
        // sleep: virtual time
        tokio::time::sleep(Duration::from_secs(1)).await;
        self.add(match point {
            WaitPoint::AgentStart => "-> agent start".to_owned(),
            WaitPoint::UserMessage => "-> user".to_owned(),
            WaitPoint::AssistantStart => "-> assistant".to_owned(),
            WaitPoint::ToolEnd { id, .. } => format!("-> end of {id}"),
            WaitPoint::TurnEnd { stop, .. } => format!("-> {stop:?}"),
            WaitPoint::AgentEnd { error } => format!("-> agent end {error:?}"),
            other => panic!("a new point: {other:?}"),
        });
    }
}

/// Panics at every point.
struct Broken;

#[async_trait]
impl OnWaitPoint for Broken {
    async fn on_wait_point(&self, _: &CancellationToken, _: &WaitPoint) {
        panic!("on purpose");
    }
}

#[tokio::test(start_paused = true)]
async fn run_waits_at_each_point() {
    let log = Log::default();
    let script = Script::new(vec![calls(vec![call("t1", "look", "{}")]), says("done")]);
    let agent = script.agent().tool(tool("look", |_| ToolOutput::text("seen")));
    let agent = agent.observer(log.clone()).on_wait_point(log.clone()).on_wait_point(Broken).build().unwrap();
    agent.prompt("go").finish().await.unwrap();
    let quiet = ["model_request", "model_response", "usage", "text_delta"];
    let lines = log.lines().into_iter().filter(|line| !quiet.contains(&line.as_str()));
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @"
    agent_start
    user_message
    -> agent start
    -> user
    turn_start
    assistant_start
    -> assistant
    assistant_message
    tool_call
    tool_start
    tool_end
    -> end of t1
    tool_result
    turn_end
    -> ToolUse
    turn_start
    assistant_start
    -> assistant
    assistant_message
    turn_end
    -> End
    -> agent end None
    settled
    done
    ");
}

#[tokio::test(start_paused = true)]
async fn aborted_run_waits_only_at_its_end() {
    let log = Log::default();
    let script = Script::new(vec![says("done")]);
    let agent = script.agent().on_wait_point(log.clone()).build().unwrap();
    let mut run = agent.prompt("go");
    run.cancellation_token().cancel();
    while run.next().await.is_some() {}
    assert!(run.finish().await.is_err());
    assert_eq!(log.lines(), [r#"-> agent end Some("aborted")"#]);
}
