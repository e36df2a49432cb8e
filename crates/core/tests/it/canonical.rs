//! Tests of `Tool::canonical_args`: hooks, approvers and the tool get the same bytes.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use haft_core::hooks::{
    ApproveTool, ApproverDecision, BeforeToolExecute, CancellationToken, HookRole, PendingCall, ToolDecision,
};
use haft_core::session::entry::EntryBody;
use haft_core::tool::{CanonicalArgs, Tool, ToolConcurrency, ToolContext, ToolOutput, ToolSpec};
use haft_core::{Agent, CallableTool, ExtensionToolCall};
use haft_protocol::RawJson;
use haft_protocol::content::{ResolvedPath, ToolCall, joined_text};
use haft_protocol::ids::{ExtensionName, ToolCallId};
use serde_json::json;

use crate::fake::{Script, call, calls, run, says, spec, transcript};

/// A tool that ignores the sign of `n`, and cannot run with 0. Its "path" is named after `n`.
struct Unsigned;

#[async_trait]
impl Tool for Unsigned {
    fn spec(&self) -> Arc<ToolSpec> {
        spec("unsigned", ToolConcurrency::Parallel)
    }

    async fn canonical_args(&self, args: RawJson) -> Result<CanonicalArgs, String> {
        let n = args.read::<serde_json::Value>().unwrap()["n"].as_i64().unwrap().unsigned_abs();
        match n {
            0 => return Err("0 is no number".to_owned()),
            13 => panic!("13"),
            _ => {}
        }
        let place = ResolvedPath::new("n", format!("/{n}")).with_exists(true);
        Ok(CanonicalArgs::from(RawJson::from(json!({ "n": n }))).with_resolved_paths([place]))
    }

    async fn execute(&self, context: ToolContext, call: ToolCall) -> ToolOutput {
        ToolOutput::text(format!("ran {} at {}", call.args, places(&context.resolved_paths)))
    }
}

fn places(resolved: &[ResolvedPath]) -> String {
    resolved.iter().map(|place| place.path.as_str()).collect::<Vec<_>>().join(" ")
}

/// Records what it sees. Rewrites its first call to `n`, if there is one.
#[derive(Clone)]
struct Watcher {
    name: &'static str,
    role: HookRole,
    rewrite: Arc<Mutex<Option<i64>>>,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Watcher {
    fn new(name: &'static str, role: HookRole, rewrite: Option<i64>, seen: &Arc<Mutex<Vec<String>>>) -> Self {
        Self { name, role, rewrite: Arc::new(Mutex::new(rewrite)), seen: Arc::clone(seen) }
    }

    fn note(&self, pending: &PendingCall<'_>) {
        let PendingCall { call, resolved_paths, .. } = pending;
        self.seen.lock().unwrap().push(format!("{} {} at {}", self.name, call.args, places(resolved_paths)));
    }
}

#[async_trait]
impl BeforeToolExecute for Watcher {
    async fn before_tool_execute(&self, _: &CancellationToken, _: &ToolCall) -> ToolDecision {
        panic!("asked without the places")
    }

    async fn decide_call(&self, _: &CancellationToken, pending: &PendingCall<'_>) -> ToolDecision {
        self.note(pending);
        match self.rewrite.lock().unwrap().take() {
            Some(n) => ToolDecision::Rewrite { tool: None, args: json!({ "n": n }).into() },
            None => ToolDecision::Allow,
        }
    }

    fn role(&self, _: &str) -> Option<HookRole> {
        Some(self.role)
    }

    fn name(&self) -> &str {
        self.name
    }
}

#[async_trait]
impl ApproveTool for Watcher {
    async fn approve_tool(&self, _: &CancellationToken, _: &ToolCall) -> ApproverDecision {
        panic!("asked without the places")
    }

    async fn approve_call(&self, _: &CancellationToken, pending: &PendingCall<'_>) -> ApproverDecision {
        self.note(pending);
        ApproverDecision::Approve
    }
}

fn agent(script: &Script, seen: &Arc<Mutex<Vec<String>>>, rewrite: Option<i64>) -> Agent {
    script
        .agent()
        .tool(Unsigned)
        .before_tool_execute(Watcher::new("first", HookRole::Ordered, None, seen))
        .before_tool_execute(Watcher::new("writer", HookRole::Ordered, rewrite, seen))
        .before_tool_execute(Watcher::new("gate", HookRole::Gate, None, seen))
        .approve_tool(Watcher::new("person", HookRole::Gate, None, seen))
        .build()
        .unwrap()
}

/// Runs a call with these arguments; returns what the hooks saw, and the result.
async fn run_call(args: &str, rewrite: Option<i64>) -> (Vec<String>, String, Agent) {
    let script = Script::new(vec![calls(vec![call("t1", "unsigned", args)]), says("ok")]);
    let seen = Arc::default();
    let agent = agent(&script, &seen, rewrite);
    run(&agent).await.1.unwrap();
    let result = transcript(&agent)[2].clone();
    let seen = seen.lock().unwrap().clone();
    (seen, result, agent)
}

#[tokio::test]
async fn hooks_and_tool_get_the_same_arguments() {
    let (seen, result, agent) = run_call(r#"{"n":-1}"#, None).await;
    let at = |name| format!(r#"{name} {{"n":1}} at /1"#);
    assert_eq!(seen, [at("first"), at("writer"), at("gate"), at("person")]);
    assert!(result.ends_with(r#"ran {"n":1} at /1"#), "{result}");
    // The model reads what it wrote.
    assert_eq!(transcript(&agent)[1], r#"assistant  unsigned{"n":-1}"#);
    let entries = agent.session().branch();
    let started = entries.iter().find_map(|entry| match &entry.body {
        EntryBody::ToolStart(start) => Some(start.args.to_string()),
        _ => None,
    });
    assert_eq!(started.as_deref(), Some(r#"{"n":1}"#));
    // The canonical form is not a change by a hook.
    assert!(!entries.iter().any(|entry| matches!(entry.body, EntryBody::Custom(_))));
}

#[tokio::test]
async fn rewritten_arguments_become_canonical_before_the_next_hook() {
    let (seen, result, _) = run_call(r#"{"n":1}"#, Some(-2)).await;
    let mut last = seen[2..5].to_vec();
    last.sort();
    assert_eq!(seen[..2], [r#"first {"n":1} at /1"#, r#"writer {"n":1} at /1"#]);
    // The writer has not seen the canonical form of its own arguments.
    assert_eq!(last, [r#"first {"n":2} at /2"#, r#"gate {"n":2} at /2"#, r#"writer {"n":2} at /2"#]);
    assert_eq!(seen[5..], [r#"person {"n":2} at /2"#]);
    assert!(result.ends_with(r#"ran {"n":2} at /2"#), "{result}");

    let (seen, ..) = run_call(r#"{"n":1}"#, Some(2)).await;
    let writer = seen.iter().filter(|line| line.starts_with("writer")).count();
    assert_eq!(writer, 1, "asked about its own words: {seen:?}");
}

#[tokio::test]
async fn arguments_without_a_canonical_form_do_not_run() {
    for (args, reason) in
        [(r#"{"n":0}"#, "0 is no number"), (r#"{"n":13}"#, "unsigned panicked when it read its arguments")]
    {
        let (seen, result, _) = run_call(args, None).await;
        assert!(seen.is_empty(), "{seen:?}");
        assert!(result.ends_with(reason), "{result}");
    }
    let (seen, result, _) = run_call(r#"{"n":1}"#, Some(0)).await;
    assert_eq!(seen.len(), 2);
    assert!(result.contains("arguments rewritten by writer"), "{result}");
}

#[tokio::test]
async fn calls_of_extensions_become_canonical_too() {
    let (script, seen) = (Script::new(Vec::new()), Arc::default());
    let agent = agent(&script, &seen, None);
    let tool = CallableTool::new(Arc::new(Unsigned));
    let call = |n: i64| {
        ExtensionToolCall::new(
            ExtensionName::new("notes"),
            ToolCallId::new("host-1"),
            &tool,
            json!({ "n": n }).into(),
        )
    };
    let cancel = CancellationToken::new();
    let called = agent.tool_runner().call(&cancel, call(-3), Arc::new(drop)).await;
    assert_eq!(joined_text(&called.output.content), r#"ran {"n":3} at /3"#);
    assert_eq!(seen.lock().unwrap()[0], r#"first {"n":3} at /3"#);
    let called = agent.tool_runner().call(&cancel, call(0), Arc::new(drop)).await;
    assert_eq!(joined_text(&called.output.content), "0 is no number");
}
