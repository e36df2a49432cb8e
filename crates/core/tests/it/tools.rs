//! Tests of tool calls: schema, panics, concurrency, order.

use std::sync::Arc;

use async_trait::async_trait;
use haft_core::hooks::{AfterToolExecute, FinishedCall, HookSet, HookSource, ResultDecision};
use haft_core::tool::{Tool, ToolConcurrency, ToolContext, ToolOutput, ToolOwner, ToolSet, ToolSpec};
use haft_protocol::RawJson;
use haft_protocol::content::ToolCall;
use haft_protocol::event::AgentEvent;
use haft_protocol::message::Message;
use tokio::sync::Barrier;
use tokio_util::sync::CancellationToken;

use haft_core::{CallableTool, ExtensionToolCall};
use haft_protocol::ids::{ExtensionName, ToolCallId};

use crate::fake::{Script, call, calls, run, says, spec, tool, transcript};

#[track_caller]
fn check(events: &[String], expect: &str) {
    assert!(events.iter().any(|line| line == expect), "no {expect:?} in {events:#?}");
}

#[tokio::test]
async fn invalid_calls_return_errors_without_running() {
    let script = Script::new(vec![
        calls(vec![
            call("t1", "echo", r#"{"n":"x"}"#),
            call("t2", "nope", "{}"),
            call("t3", "echo", "[1]"),
            call("t4", "echo", r#"{"n":4}"#),
        ]),
        says("ok"),
    ]);
    let agent = script.agent().tool(tool("echo", |args| ToolOutput::text(args))).build().unwrap();
    let (events, _) = run(&agent).await;
    check(&events, r#"result t1 error echo was not run: /n: "x" is not of type "integer""#);
    check(&events, r#"result t2 error unknown tool "nope"; available tools: echo"#);
    check(&events, "result t3 error echo was not run: arguments must be a JSON object, got [1]");
    check(&events, r#"result t4 {"n":4}"#);
}

#[tokio::test]
async fn hidden_characters_do_not_reach_the_model() {
    let script = Script::new(vec![calls(vec![call("t1", "cat", "{}")]), says("ok")]);
    let cat = tool("cat", |_| ToolOutput::text("fog\u{e0041}\u{e0042}\u{200b}!"));
    let agent = script.agent().tool(cat).build().unwrap();
    let (events, _) = run(&agent).await;
    check(&events, "result t1 fog\u{200b}!\n[2 invisible characters were removed]");
}

#[tokio::test]
async fn result_names_its_extension() {
    let script =
        Script::new(vec![calls(vec![call("t1", "own", "{}"), call("t2", "other", "{}")]), says("ok")]);
    let own = tool("own", |_| ToolOutput::text("a"));
    let owned = ToolSpec::new("other", "").with_owner(ToolOwner::Extension("weather".into()));
    let agent = script.agent().tool(own).tool(Given(owned)).build().unwrap();
    run(&agent).await.1.unwrap();
    let extensions: Vec<_> = agent
        .messages()
        .iter()
        .filter_map(|message| match message {
            Message::Tool(result) => Some(result.extension.as_ref().map(|name| name.as_str().to_owned())),
            Message::User { .. } | Message::Assistant(_) => None,
        })
        .collect();
    assert_eq!(extensions, [None, Some("weather".to_owned())]);
}

#[tokio::test]
async fn unusable_schema_allows_no_call() {
    let broken = |owner| {
        ToolSpec::new("odd", "")
            .with_owner(owner)
            .with_schema(RawJson::parse(r#"{"type":"object","properties":7}"#).unwrap())
    };
    let script = || Script::new(vec![calls(vec![call("t1", "odd", "{}")]), says("ok")]);
    let refused = script().agent().tool(Given(broken(ToolOwner::Embedder))).build().unwrap_err();
    assert!(refused.to_string().contains("\"odd\""), "{refused}");

    let agent = script().agent().tool(Given(broken(ToolOwner::Extension("x".into())))).build().unwrap();
    let (events, _) = run(&agent).await;
    check(
        &events,
        "result t1 error odd was not run: unusable schema: /properties: 7 is not of type \"object\"",
    );
}

/// A tool with this specification and an empty result.
struct Given(ToolSpec);

#[async_trait]
impl Tool for Given {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::new(self.0.clone())
    }

    async fn execute(&self, _: ToolContext, _: ToolCall) -> ToolOutput {
        ToolOutput::text("")
    }
}

#[tokio::test]
async fn panicking_tool_returns_an_error_result() {
    let script = Script::new(vec![calls(vec![call("t1", "bad", "{}")]), says("ok")]);
    let agent = script.agent().tool(tool("bad", |_| panic!("boom"))).build().unwrap();
    let (events, outcome) = run(&agent).await;
    check(&events, "result t1 error bad panicked: boom");
    assert_eq!(outcome, Ok(()));
}

/// Returns only when as many calls as the barrier requires run concurrently.
struct Meet(Arc<Barrier>);

#[async_trait]
impl Tool for Meet {
    fn spec(&self) -> Arc<ToolSpec> {
        spec("meet", ToolConcurrency::Parallel)
    }

    async fn execute(&self, context: ToolContext, call: ToolCall) -> ToolOutput {
        context.progress("waiting");
        self.0.wait().await;
        ToolOutput::text(format!("met {}", call.id))
    }
}

#[tokio::test]
async fn parallel_calls_run_together_and_report_in_order() {
    let script = Script::new(vec![
        calls(vec![call("t1", "meet", "{}"), call("t2", "meet", "{}"), call("t3", "meet", "{}")]),
        says("ok"),
    ]);
    let agent = script.agent().tool(Meet(Arc::new(Barrier::new(3)))).build().unwrap();
    let (events, _) = run(&agent).await;
    let results: Vec<_> = events.iter().filter(|line| line.starts_with("result")).collect();
    assert_eq!(results, ["result t1 met t1", "result t2 met t2", "result t3 met t3"]);
    check(&events, r#"{"type":"tool_progress","id":"t2","text":"waiting"}"#);
}

/// Records its start and end, and yields in between.
struct Slow(Arc<std::sync::Mutex<Vec<String>>>, &'static str, ToolConcurrency);

#[async_trait]
impl Tool for Slow {
    fn spec(&self) -> Arc<ToolSpec> {
        spec(self.1, self.2)
    }

    async fn execute(&self, _: ToolContext, call: ToolCall) -> ToolOutput {
        self.0.lock().unwrap().push(format!("+{}", call.id));
        tokio::task::yield_now().await;
        self.0.lock().unwrap().push(format!("-{}", call.id));
        ToolOutput::text("")
    }
}

#[tokio::test]
async fn exclusive_call_runs_alone() {
    let log = Arc::default();
    let script = Script::new(vec![
        calls(vec![
            call("1", "par", "{}"),
            call("2", "par", "{}"),
            call("3", "exc", "{}"),
            call("4", "exc", "{}"),
            call("5", "par", "{}"),
        ]),
        says("ok"),
    ]);
    let agent = script
        .agent()
        .tool(Slow(Arc::clone(&log), "par", ToolConcurrency::Parallel))
        .tool(Slow(Arc::clone(&log), "exc", ToolConcurrency::Exclusive))
        .build()
        .unwrap();
    run(&agent).await.1.unwrap();
    let log = log.lock().unwrap().join(" ");
    // The order in which the two parallel calls end is not fixed.
    assert!(log.starts_with("+1 +2 -") && log.ends_with(" +3 -3 +4 -4 +5 -5"), "{log}");
}

struct Stamp(&'static str);

#[async_trait]
impl AfterToolExecute for Stamp {
    async fn after_tool_execute(
        &self,
        _: &CancellationToken,
        finished: &FinishedCall,
        output: ToolOutput,
    ) -> ResultDecision {
        let text = haft_protocol::content::joined_text(&output.content);
        ToolOutput::text(format!("{text} {}({})", self.0, finished.call.args)).into()
    }
}

#[tokio::test]
async fn results_pass_the_hooks_in_order() {
    let script = Script::new(vec![calls(vec![call("t1", "echo", "{}")]), says("ok")]);
    let agent = script
        .agent()
        .tool(tool("echo", |_| ToolOutput::text("out")))
        .after_tool_execute(Stamp("a"))
        .after_tool_execute(Stamp("b"))
        .build()
        .unwrap();
    let (events, _) = run(&agent).await;
    check(&events, "result t1 out a({}) b({})");
}

/// Reviews every result and changes one.
struct Redacts;

#[async_trait]
impl AfterToolExecute for Redacts {
    async fn after_tool_execute(
        &self,
        _: &CancellationToken,
        finished: &FinishedCall,
        mut output: ToolOutput,
    ) -> ResultDecision {
        if finished.call.id.to_string() == "t2" {
            output.content = vec![haft_protocol::content::ContentBlock::text("redacted")];
        }
        output.into()
    }
}

/// Details would show the content that the hook removed from the result.
#[tokio::test]
async fn details_stay_unless_a_hook_changes_the_result() {
    let two = vec![call("t1", "echo", "{}"), call("t2", "echo", "{}")];
    let script = Script::new(vec![calls(two), says("ok")]);
    let details = RawJson::parse(r#"{"diff":{"added":1}}"#).unwrap();
    let output = ToolOutput::text("out").with_details(details.clone());
    let agent = script
        .agent()
        .tool(tool("echo", move |_| output.clone()))
        .after_tool_execute(Redacts)
        .build()
        .unwrap();
    let mut told = Vec::new();
    let mut run = agent.prompt("go");
    while let Some(event) = futures::StreamExt::next(&mut run).await {
        if let AgentEvent::ToolResult { details, .. } = event {
            told.push(details);
        }
    }
    let messages = agent.messages();
    let kept = messages.iter().filter_map(|message| match message {
        Message::Tool(message) => Some(message.details.clone()),
        Message::User { .. } | Message::Assistant(_) => None,
    });
    assert_eq!(kept.collect::<Vec<_>>(), told);
    assert_eq!(told, [Some(details), None]);
}

/// Changes a result together with its details, for the extension `own`.
struct Recounts;

#[async_trait]
impl AfterToolExecute for Recounts {
    async fn after_tool_execute(
        &self,
        _: &CancellationToken,
        _: &FinishedCall,
        _: ToolOutput,
    ) -> ResultDecision {
        let details = Some(RawJson::parse(r#"{"diff":{"added":2}}"#).unwrap());
        ToolOutput::text("recounted").with_details(details).into()
    }

    fn belongs_to(&self, extension: &ExtensionName) -> bool {
        extension.as_str() == "own"
    }
}

#[tokio::test]
async fn hook_changes_a_result_with_its_details() {
    let script = Script::new(vec![calls(vec![call("t1", "echo", "{}")]), says("ok")]);
    let agent =
        script.agent().tool(tool("echo", |_| ToolOutput::text("out"))).after_tool_execute(Recounts).build();
    let agent = agent.unwrap();
    run(&agent).await.1.unwrap();
    let messages = agent.messages();
    let Message::Tool(result) = &messages[2] else { panic!("{messages:?}") };
    assert_eq!(result.details, Some(RawJson::parse(r#"{"diff":{"added":2}}"#).unwrap()));
    assert_eq!(transcript(&agent)[2], "tool t1 recounted");
}

#[tokio::test]
async fn hook_is_not_asked_about_results_of_its_own_extension() {
    let agent = Script::new(vec![]).agent().after_tool_execute(Recounts).build().unwrap();
    let callable = CallableTool::new(Arc::new(tool("echo", |_| ToolOutput::text("out"))));
    for (caller, expect) in [("own", "out"), ("other", "recounted")] {
        let call = ExtensionToolCall::new(
            ExtensionName::new(caller),
            ToolCallId::new("host-1"),
            &callable,
            RawJson::empty_object(),
        );
        let called = agent.tool_runner().call(&CancellationToken::new(), call, Arc::new(drop)).await;
        assert_eq!(called.output.content, ToolOutput::text(expect).content, "{caller}");
    }
}

struct Fails;

#[async_trait]
impl AfterToolExecute for Fails {
    async fn after_tool_execute(
        &self,
        _: &CancellationToken,
        _: &FinishedCall,
        _: ToolOutput,
    ) -> ResultDecision {
        panic!("boom")
    }
}

#[tokio::test]
async fn withholds_result_that_a_hook_did_not_review() {
    let script = Script::new(vec![calls(vec![call("t1", "echo", "{}")]), says("ok")]);
    let agent = script
        .agent()
        .tool(tool("echo", |_| ToolOutput::text("SECRET")))
        .after_tool_execute(Fails)
        .build()
        .unwrap();
    let (events, _) = run(&agent).await;
    check(&events, "result t1 error result withheld: a hook panicked");
    assert!(!events.join("\n").contains("SECRET"), "{events:#?}");
}

/// Leaves a task behind that still has the context after the call.
struct Leaves(Arc<std::sync::Mutex<Option<ToolContext>>>);

#[async_trait]
impl Tool for Leaves {
    fn spec(&self) -> Arc<ToolSpec> {
        spec("leaves", ToolConcurrency::Parallel)
    }

    async fn execute(&self, context: ToolContext, _: ToolCall) -> ToolOutput {
        *self.0.lock().unwrap() = Some(context);
        ToolOutput::text("")
    }
}

#[tokio::test]
async fn drops_progress_after_the_end_of_a_call() {
    let kept: Arc<std::sync::Mutex<Option<ToolContext>>> = Arc::default();
    let script = Script::new(vec![calls(vec![call("t1", "leaves", "{}")]), says("ok")]);
    let agent = script.agent().tool(Leaves(kept.clone())).build().unwrap();
    let mut run = agent.prompt("go");
    while let Some(event) = futures::StreamExt::next(&mut run).await {
        assert!(!matches!(event, AgentEvent::ToolProgress { .. }), "{event:?}");
        if let Some(context) = &*kept.lock().unwrap() {
            context.progress("too late");
        }
    }
}

#[test]
fn rejects_two_tools_of_one_name() {
    let script = Script::default();
    let twice = || tool("echo", |_| ToolOutput::text(""));
    let error = script.agent().tool(twice()).tool(twice()).build().unwrap_err();
    assert_eq!(error.to_string(), r#"a tool named "echo" already exists"#);
}

/// Provides one tool after a delay.
struct LateToolSource;

#[async_trait]
impl HookSource for LateToolSource {
    fn hooks(&self) -> HookSet {
        HookSet::default()
    }

    async fn late_tool(&self, _: &CancellationToken, name: &str) -> Option<Arc<dyn Tool>> {
        tokio::task::yield_now().await;
        (name == "late").then(|| Arc::new(tool("late", |args| ToolOutput::text(args))) as Arc<dyn Tool>)
    }
}

#[tokio::test]
async fn waits_for_late_tool() {
    let said = || {
        let wanted =
            vec![call("t1", "late", r#"{"n":1}"#), call("t2", "late", "[]"), call("t3", "nope", "{}")];
        Script::new(vec![calls(wanted), says("ok")]).agent().hook_source(Arc::new(LateToolSource))
    };
    let agent = said().build().unwrap();
    let (events, _) = run(&agent).await;
    check(&events, r#"result t1 {"n":1}"#);
    check(&events, "result t2 error late was not run: arguments must be a JSON object, got []");
    check(&events, r#"result t3 error unknown tool "nope"; available tools: "#);
    let agent = said().build().unwrap();
    agent.set_active_tools(Some(vec!["other".into()]));
    let (events, _) = run(&agent).await;
    check(&events, r#"result t1 error unknown tool "late"; available tools: "#);
}

#[tokio::test]
async fn adds_existing_tools_and_rejects_duplicates() {
    let script = Script::new(vec![says("ok")]);
    let shared = |name| Arc::new(tool(name, |_| ToolOutput::text("done"))) as Arc<dyn Tool>;
    let agent =
        script.agent().tool(tool("own", |_| ToolOutput::text("done"))).tools([shared("one"), shared("two")]);
    let agent = agent.build().unwrap();
    let names: Vec<String> = agent.tools().iter().map(|spec| spec.name.clone()).collect();
    assert_eq!(names, ["own", "one", "two"]);

    let twice = script.agent().tools([shared("one")]).tools([shared("two"), shared("one")]);
    let error = twice.build().unwrap_err();
    assert_eq!(error.to_string(), r#"a tool named "one" already exists"#);
}

#[test]
fn replaced_tool_keeps_its_place() {
    let mut set = ToolSet::default();
    for name in ["read", "bash"] {
        set.add(Arc::new(Given(ToolSpec::new(name, "own")))).unwrap();
    }
    for name in ["read", "weather"] {
        set.replace(Arc::new(Given(ToolSpec::new(name, "other"))));
    }
    let specs: Vec<_> =
        set.specs().iter().map(|spec| format!("{} {}", spec.name, spec.description)).collect();
    assert_eq!(specs, ["read other", "bash own", "weather other"]);
    assert_eq!(set.get("weather").unwrap().spec().description, "other");
}

#[tokio::test]
async fn start_of_call_has_the_label_of_its_tool() {
    let script = Script::new(vec![calls(vec![call("t1", "weather", "{}")]), says("ok")]);
    let labeled = ToolSpec::new("weather", "").with_label("Weather");
    let agent = script.agent().tool(Given(labeled)).build().unwrap();
    let events: Vec<_> = futures::StreamExt::collect(agent.prompt("go")).await;
    let labels = events.into_iter().filter_map(|event| match event {
        AgentEvent::ToolStart { label, .. } => Some(label),
        _ => None,
    });
    assert_eq!(labels.collect::<Vec<_>>(), [Some("Weather".to_owned())]);
}
