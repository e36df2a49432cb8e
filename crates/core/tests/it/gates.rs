//! `BeforeToolExecute` end to end: what runs, what the model is told, what is recorded.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use haft_core::error::TurnErrorKind;
use haft_core::hooks::{BeforeToolExecute, HookSource, Hooks, ToolDecision};
use haft_core::tool::ToolOutput;
use haft_protocol::RawJson;
use haft_protocol::content::ToolCall;
use tokio_util::sync::CancellationToken;

use crate::fake::{Script, call, calls, run, says, tool, transcript};

/// Gives its decisions in turn, then allows; keeps what it was asked.
#[derive(Clone, Default)]
struct Gate {
    decisions: Arc<Mutex<VecDeque<ToolDecision>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Gate {
    fn new(decisions: Vec<ToolDecision>) -> Self {
        Self { decisions: Arc::new(Mutex::new(decisions.into())), asked: Arc::default() }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

#[async_trait]
impl BeforeToolExecute for Gate {
    async fn before_tool_execute(&self, _: &CancellationToken, call: &ToolCall) -> ToolDecision {
        self.asked.lock().unwrap().push(call.args.to_string());
        self.decisions.lock().unwrap().pop_front().unwrap_or(ToolDecision::Allow)
    }
}

fn rewrite(by: &str, args: &str) -> ToolDecision {
    ToolDecision::Rewrite { by: by.into(), args: RawJson::parse(args).unwrap() }
}

fn block(by: &str, reason: &str) -> ToolDecision {
    ToolDecision::Block { by: by.into(), reason: reason.into() }
}

fn script() -> Script {
    Script::new(vec![calls(vec![call("t1", "echo", r#"{"n":1}"#)]), says("ok")])
}

#[tokio::test]
async fn the_tool_gets_the_rewrite_and_the_transcript_keeps_the_models() {
    let (first, second) = (Gate::default(), Gate::new(vec![rewrite("b", r#"{"n":2}"#)]));
    let agent = script()
        .agent()
        .tool(tool("echo", |args| ToolOutput::text(args)))
        .before_tool_execute(first.clone())
        .before_tool_execute(second)
        .build()
        .unwrap();
    let (events, _) = run(&agent).await;
    assert_eq!(first.asked(), [r#"{"n":1}"#, r#"{"n":2}"#]);
    let told: Vec<_> = events.iter().filter(|line| line.contains("t1")).collect();
    assert_eq!(told, [r#"call t1 echo {"n":1}"#, r#"rewritten t1 by b {"n":2}"#, r#"result t1 {"n":2}"#]);
    assert_eq!(transcript(&agent)[1], r#"assistant  echo{"n":1}"#);
}

#[tokio::test]
async fn a_block_of_an_earlier_approver_counts_after_a_late_rewrite() {
    let first = Gate::new(vec![ToolDecision::Allow, block("a", "not with 2")]);
    let agent = script()
        .agent()
        .tool(tool("echo", |_| panic!("must not run")))
        .before_tool_execute(first)
        .before_tool_execute(Gate::new(vec![rewrite("b", r#"{"n":2}"#)]))
        .build()
        .unwrap();
    let (events, _) = run(&agent).await;
    assert!(events.contains(&"blocked t1 by a: not with 2".to_owned()));
    assert!(events.contains(&"result t1 error not with 2".to_owned()));
}

#[tokio::test]
async fn rewritten_arguments_that_do_not_fit_block_the_call() {
    for args in [r#"{"n":"two"}"#, "null", "[1]", r#""s""#] {
        let agent = script()
            .agent()
            .tool(tool("echo", |_| panic!("must not run")))
            .before_tool_execute(Gate::new(vec![rewrite("b", args)]))
            .build()
            .unwrap();
        let (events, _) = run(&agent).await;
        let result = events.iter().find(|line| line.starts_with("result t1 error")).unwrap();
        assert!(result.contains("arguments rewritten by b do not fit the tool"), "{args}: {result}");
    }
}

#[tokio::test]
async fn an_abort_keeps_the_answers_that_were_given_and_tells_every_result_before_the_end() {
    let three = vec![call("t1", "echo", "{}"), call("t2", "echo", "{}"), call("t3", "echo", "{}")];
    let abort = ToolDecision::AbortTurn { by: "a".into(), reason: "stop".into() };
    let agent = Script::new(vec![calls(three)])
        .agent()
        .tool(tool("echo", |_| panic!("must not run")))
        .before_tool_execute(Gate::new(vec![block("a", "not this one"), abort]))
        .build()
        .unwrap();
    let (events, _) = run(&agent).await;
    let told: Vec<_> =
        events.iter().filter(|line| line.starts_with("result") || line.starts_with("end")).collect();
    let dangling = "error not run: the turn ended first";
    assert_eq!(
        told,
        [
            "result t1 error not this one",
            &format!("result t2 {dangling}"),
            &format!("result t3 {dangling}"),
            "end Error turn blocked by a: stop"
        ]
    );
    assert_eq!(transcript(&agent)[2], "tool t1 error not this one");
}

#[tokio::test]
async fn an_abort_ends_the_turn_and_leaves_no_dangling_call() {
    let abort = ToolDecision::AbortTurn { by: "a".into(), reason: "stop".into() };
    let agent = Script::new(vec![calls(vec![call("t1", "echo", "{}"), call("t2", "echo", "{}")])])
        .agent()
        .tool(tool("echo", |_| panic!("must not run")))
        .before_tool_execute(Gate::new(vec![ToolDecision::Allow, abort]))
        .build()
        .unwrap();
    let (_, outcome) = run(&agent).await;
    assert_eq!(outcome.unwrap_err().kind, TurnErrorKind::Blocked { by: "a".into(), reason: "stop".into() });
    let dangling = "error not run: the turn ended first";
    assert_eq!(transcript(&agent)[2..], [format!("tool t1 {dangling}"), format!("tool t2 {dangling}")]);
}

struct Panics;

#[async_trait]
impl BeforeToolExecute for Panics {
    async fn before_tool_execute(&self, _: &CancellationToken, _: &ToolCall) -> ToolDecision {
        panic!("boom")
    }
}

#[tokio::test]
async fn a_gate_that_panics_blocks() {
    let agent = script()
        .agent()
        .tool(tool("echo", |_| panic!("must not run")))
        .before_tool_execute(Panics)
        .build()
        .unwrap();
    let (events, _) = run(&agent).await;
    assert!(events.contains(&"result t1 error the hook panicked".to_owned()));
}

/// A source of one gate.
struct Source(Gate);

impl HookSource for Source {
    fn hooks(&self) -> Hooks {
        Hooks { before_tool_execute: vec![Arc::new(self.0.clone())], ..Hooks::default() }
    }
}

#[tokio::test]
async fn hooks_of_a_source_are_asked_after_the_agents_own() {
    let own = Gate::new(vec![rewrite("own", r#"{"n":5}"#)]);
    let late = Gate::default();
    let agent = script()
        .agent()
        .tool(tool("echo", |args| ToolOutput::text(args)))
        .hook_source(Arc::new(Source(late.clone())))
        .before_tool_execute(own)
        .build()
        .unwrap();
    run(&agent).await.1.unwrap();
    assert_eq!(late.asked(), [r#"{"n":5}"#]);
}
