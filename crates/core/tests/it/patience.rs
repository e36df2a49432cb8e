//! Tests of hooks with their own decision time, in addition to the shared budget.

use std::time::Duration;

use async_trait::async_trait;
use haft_core::hooks::{BeforeToolExecute, CancellationToken, HookRole, PendingCall, ToolDecision};
use haft_core::tool::ToolOutput;
use haft_protocol::RawJson;
use haft_protocol::content::ToolCall;
use tokio::time::{Instant, sleep};

use crate::fake::{Script, call, calls, run, says, tool};

/// Decides after this many seconds.
#[derive(Clone)]
struct Slow {
    name: &'static str,
    takes: u64,
    /// The seconds before, in which it waits for a person.
    person_takes: u64,
    patience: Option<u64>,
    role: HookRole,
    decision: ToolDecision,
}

#[async_trait]
impl BeforeToolExecute for Slow {
    async fn before_tool_execute(&self, _: &CancellationToken, _: &ToolCall) -> ToolDecision {
        // sleep: virtual time
        sleep(Duration::from_secs(self.takes)).await;
        self.decision.clone()
    }

    async fn decide_call(&self, cancel: &CancellationToken, pending: &PendingCall<'_>) -> ToolDecision {
        let pause = pending.clock.unwrap().pause_clock();
        // sleep: virtual time
        sleep(Duration::from_secs(self.person_takes)).await;
        drop(pause);
        self.before_tool_execute(cancel, pending.call).await
    }

    fn name(&self) -> &str {
        self.name
    }

    fn role(&self, _: &str) -> Option<HookRole> {
        Some(self.role)
    }

    fn decision_time(&self) -> Option<Duration> {
        self.patience.map(Duration::from_secs)
    }
}

fn slow(name: &'static str, takes: u64, patience: Option<u64>) -> Slow {
    Slow { name, takes, person_takes: 0, patience, role: HookRole::Ordered, decision: ToolDecision::Allow }
}

/// Checks the duration of a call with these hooks, and its result.
#[track_caller]
fn check(hooks: Vec<Slow>, takes: u64, expect: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let (events, took) = runtime.unwrap().block_on(async {
        let builder = Script::new(vec![calls(vec![call("t1", "echo", r#"{"n":1}"#)]), says("ok")]).agent();
        let builder = builder.tool(tool("echo", |args| ToolOutput::text(args)));
        let agent = hooks.into_iter().fold(builder, |builder, hook| builder.before_tool_execute(hook));
        let (agent, begun) = (agent.build().unwrap(), Instant::now());
        let (events, _) = run(&agent).await;
        (events, begun.elapsed())
    });
    let result = events.iter().find(|line| line.starts_with("result t1")).unwrap();
    assert!(result.contains(expect), "{result}");
    assert_eq!(took, Duration::from_secs(takes));
}

#[test]
fn hook_can_use_its_whole_decision_time() {
    check(vec![slow("a", 59, Some(60))], 59, r#"{"n":1}"#);
    let refuses = ToolDecision::block("after thinking about it");
    check(vec![Slow { decision: refuses, ..slow("a", 59, Some(60)) }], 59, "error after thinking about it");
    let six = ["a", "b", "c", "d", "e", "f"].map(|name| slow(name, 10, Some(10)));
    check(six.to_vec(), 60, r#"{"n":1}"#);
    check(vec![slow("a", 59, Some(u64::MAX))], 59, r#"{"n":1}"#);
}

#[test]
fn decision_time_restarts_for_a_rewrite() {
    let args = RawJson::parse(r#"{"n":2}"#).unwrap();
    let rewrite = ToolDecision::Rewrite { tool: None, args };
    let rewriter = Slow { decision: rewrite, ..slow("b", 50, Some(60)) };
    check(vec![slow("a", 50, Some(60)), rewriter], 150, r#"{"n":2}"#);
    let gates = [50, 40].map(|takes| Slow { role: HookRole::Gate, ..slow("a", takes, Some(60)) });
    check(gates.to_vec(), 50, r#"{"n":1}"#);
}

#[test]
fn decision_time_does_not_reduce_the_shared_budget() {
    let stuck = |name, patience| slow(name, 10_000, patience);
    check(vec![slow("a", 1, Some(60)), stuck("b", None)], 31, "30 s; still waiting for b");
    check(vec![slow("a", 60, Some(60)), slow("b", 29, None)], 89, r#"{"n":1}"#);
    check(vec![slow("a", 29, None), slow("b", 60, Some(60)), slow("c", 2, None)], 90, "still waiting for c");
    // A hook without its own decision time is limited by the shared budget.
    check(vec![stuck("a", Some(60))], 90, "still waiting for a");
}

#[test]
fn waiting_for_a_person_does_not_reduce_the_shared_budget() {
    let asks = |takes, patience| Slow { person_takes: 90, ..slow("a", takes, patience) };
    check(vec![asks(1, None), slow("b", 28, None)], 119, r#"{"n":1}"#);
    check(vec![asks(1, None), slow("b", 30, None)], 120, "still waiting for b");
    check(vec![asks(31, None)], 120, "still waiting for a");
    check(vec![asks(59, Some(60)), slow("b", 29, None)], 178, r#"{"n":1}"#);
    check(vec![asks(59, Some(60)), slow("b", 31, None)], 179, "still waiting for b");
    let asks_briefly = |takes, patience| Slow { person_takes: 20, ..slow("a", takes, patience) };
    check(vec![asks_briefly(1, Some(60)), slow("b", 31, None)], 51, "still waiting for b");
    let three = vec![asks_briefly(5, None), slow("b", 60, Some(60)), slow("c", 24, None)];
    check(three, 109, r#"{"n":1}"#);
    let gates =
        [90, 80].map(|person_takes| Slow { role: HookRole::Gate, person_takes, ..slow("a", 29, None) });
    check(gates.to_vec(), 119, r#"{"n":1}"#);
}
