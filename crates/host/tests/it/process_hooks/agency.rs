//! An agent with a scripted model, a `bash` that counts its runs, and a hook that answers from a table.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures::{StreamExt as _, stream};
use haft_core::error::TurnError;
use haft_core::model::{
    Model, ModelError, ModelErrorKind, ModelEvent, ModelId, ModelRequest, ModelResponse, ModelSource,
    ModelStream,
};
use haft_core::tool::{Tool, ToolContext, ToolOutput, ToolSpec};
use haft_core::{Agent, AgentBuilder};
use haft_host::Host;
use haft_protocol::RawJson;
use haft_protocol::content::{ToolCall, joined_text};
use haft_protocol::event::AgentEvent;
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::{AssistantBlock, Message, StopCause};
use haft_test_support::FakePeer;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// A model that sends these answers in order, then the result of the last tool. Records its requests.
#[derive(Clone)]
pub(super) struct Script {
    name: &'static str,
    lines: Arc<Mutex<Lines>>,
}

#[derive(Default)]
struct Lines {
    says: VecDeque<Vec<AssistantBlock>>,
    asked: Vec<ModelRequest>,
    fails: Option<ModelErrorKind>,
}

impl Script {
    pub(super) fn new(name: &'static str, says: Vec<Vec<AssistantBlock>>) -> Self {
        let lines = Lines { says: says.into(), ..Lines::default() };
        Self { name, lines: Arc::new(Mutex::new(lines)) }
    }

    /// Fails with this error before the first answer.
    pub(super) fn fails_first(&self, kind: ModelErrorKind) {
        self.lines.lock().unwrap().fails = Some(kind);
    }

    /// Returns the requests to the model.
    pub(super) fn asked(&self) -> Vec<ModelRequest> {
        self.lines.lock().unwrap().asked.clone()
    }
}

/// Provides the model to hooks that name it.
#[async_trait]
impl ModelSource for Script {
    async fn model(&self, name: &str, _: &ModelId) -> Result<Arc<dyn Model>, String> {
        if name == self.name { Ok(Arc::new(self.clone())) } else { Err(format!("no model {name}")) }
    }
}

#[async_trait]
impl Model for Script {
    fn info(&self) -> ModelId {
        ModelId { provider: "scripted".into(), model: self.name.into() }
    }

    async fn stream(&self, _: CancellationToken, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let mut script = self.lines.lock().unwrap();
        if let Some(kind) = script.fails.take() {
            return Err(ModelError::new(kind, "it fails"));
        }
        let content = script.says.pop_front().unwrap_or_else(|| vec![said(&last_result(&request))]);
        script.asked.push(request);
        let calls = content.iter().any(|block| matches!(block, AssistantBlock::ToolCall(_)));
        let stop = if calls { StopCause::ToolUse } else { StopCause::End };
        let deltas = content.iter().filter_map(|block| match block {
            AssistantBlock::Text { text } => Some(ModelEvent::Text(text.clone())),
            AssistantBlock::Thinking { .. } | AssistantBlock::ToolCall(_) => None,
        });
        let mut events: Vec<_> = deltas.map(Ok).collect();
        let response = ModelResponse::new(content, stop);
        events.push(Ok(ModelEvent::Done(response)));
        Ok(stream::iter(events).boxed())
    }
}

fn last_result(request: &ModelRequest) -> String {
    match request.messages.last() {
        Some(Message::Tool(message)) => joined_text(&message.content),
        _ => "done".to_owned(),
    }
}

pub(super) fn said(text: &str) -> AssistantBlock {
    AssistantBlock::Text { text: text.into() }
}

pub(super) fn calls(name: &str, args: Value) -> Vec<AssistantBlock> {
    vec![call("t1", name, args)]
}

pub(super) fn call(id: &str, name: &str, args: Value) -> AssistantBlock {
    let args = RawJson::from_value(&args).unwrap();
    AssistantBlock::ToolCall(ToolCall { id: ToolCallId::new(id), name: name.into(), args })
}

/// Returns a tool with any arguments whose result is computed by `comes_to`.
pub(super) fn tool(name: &str, comes_to: impl Fn(&Value) -> String + Send + Sync + 'static) -> Made {
    let spec = ToolSpec::new(name, "echo text").with_schema(RawJson::parse(r#"{"type":"object"}"#).unwrap());
    Made { spec: Arc::new(spec), comes_to: Arc::new(comes_to) }
}

/// The tool of [`tool`].
#[derive(Clone)]
pub(super) struct Made {
    spec: Arc<ToolSpec>,
    comes_to: Arc<dyn Fn(&Value) -> String + Send + Sync>,
}

#[async_trait]
impl Tool for Made {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    async fn execute(&self, _: ToolContext, call: ToolCall) -> ToolOutput {
        let args: Value = call.args.read().unwrap();
        ToolOutput::text((self.comes_to)(&args))
    }
}

/// Counts its runs.
#[derive(Clone, Default)]
struct Bash(Arc<AtomicUsize>);

#[async_trait]
impl Tool for Bash {
    fn spec(&self) -> Arc<ToolSpec> {
        let schema = r#"{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}"#;
        Arc::new(ToolSpec::new("bash", "Runs a command.").with_schema(RawJson::parse(schema).unwrap()))
    }

    async fn execute(&self, _: ToolContext, call: ToolCall) -> ToolOutput {
        self.0.fetch_add(1, Ordering::Relaxed);
        ToolOutput::text(format!("ran {}", call.args))
    }
}

/// The outcome of a prompt.
pub(super) struct Ran {
    pub(super) events: Vec<AgentEvent>,
    pub(super) outcome: Result<(), TurnError>,
    /// The number of runs of `bash`.
    pub(super) executions: usize,
    /// The requests to the model.
    pub(super) requests: Vec<ModelRequest>,
    /// The conversation after the prompt.
    pub(super) messages: Vec<Message>,
}

/// A model and a `bash` that are checked afterwards.
pub(super) struct Stage {
    pub(super) script: Script,
    bash: Bash,
}

impl Stage {
    pub(super) fn new(says: Vec<Vec<AssistantBlock>>) -> Self {
        Self::of(Script::new("demo", says))
    }

    pub(super) fn of(script: Script) -> Self {
        Self { script, bash: Bash::default() }
    }

    /// Returns an agent with the hooks of a host.
    pub(super) fn agent(&self, host: &Host) -> AgentBuilder {
        Agent::builder(self.script.clone()).hook_source(host.hook_source()).tool(self.bash.clone())
    }

    /// Runs a prompt and returns its outcome.
    pub(super) async fn prompt(&self, agent: &Agent, text: &str) -> Ran {
        let mut run = agent.prompt(text);
        let mut events = Vec::new();
        while let Some(event) = run.next().await {
            events.push(event);
        }
        let outcome = run.finish().await;
        let messages = agent.messages().iter().cloned().collect();
        let executions = self.bash.0.load(Ordering::Relaxed);
        Ran { events, outcome, executions, requests: self.script.asked(), messages }
    }
}

/// Runs a prompt with the hooks of a host and a model with these answers.
pub(super) async fn run(host: &Host, says: Vec<Vec<AssistantBlock>>) -> Ran {
    let stage = Stage::new(says);
    let agent = stage.agent(host).build().unwrap();
    stage.prompt(&agent, "go").await
}

/// The events of a turn with one call.
pub(super) const PLAIN_TURN: [&str; 8] = [
    "agent.turn.start",
    "agent.llm.request",
    "agent.llm.response",
    "agent.tool.exec_start",
    "agent.tool.exec_end",
    "agent.llm.request",
    "agent.llm.response",
    "agent.turn.end",
];

/// A call of `bash`, then an answer.
pub(super) fn one_call() -> Vec<Vec<AssistantBlock>> {
    vec![calls("bash", json!({"command": "ls"})), vec![said("two files")]]
}

impl Ran {
    /// Returns the result of the call as the model received it.
    #[track_caller]
    pub(super) fn result(&self) -> (String, bool) {
        self.results().into_iter().next().expect("a call has a result")
    }

    /// Returns the results of all calls as the model received them, in the order of their ends.
    pub(super) fn results(&self) -> Vec<(String, bool)> {
        let results = self.events.iter().filter_map(|event| {
            let AgentEvent::ToolResult { content, is_error, .. } = event else { return None };
            Some((joined_text(content), *is_error))
        });
        results.collect()
    }

    /// Returns the tools of the first request.
    pub(super) fn offered(&self) -> Vec<&str> {
        self.requests[0].tools.iter().map(|tool| tool.name.as_str()).collect()
    }

    /// Returns the last text that was shown to the user.
    pub(super) fn answer(&self) -> String {
        let shown = self.events.iter().rev().find_map(|event| {
            let AgentEvent::AssistantMessage { content, .. } = event else { return None };
            Some(haft_protocol::message::text_of(content))
        });
        shown.unwrap_or_default()
    }
}

/// The action of a hook on a call.
#[derive(Debug, Clone)]
pub(super) enum Does {
    Reply(Value),
    /// Sends this line.
    Says(String),
    Hangs,
    Leaves,
}

/// Plays a hook with these actions; returns the received calls at its end.
pub(super) fn play(
    mut peer: FakePeer,
    mut does: impl FnMut(&Value) -> Does + Send + 'static,
) -> JoinHandle<Vec<Value>> {
    tokio::spawn(async move {
        let mut calls = Vec::new();
        while let Some(call) = peer.next().await {
            calls.push(call.clone());
            if call["id"].is_null() {
                continue;
            }
            match does(&call) {
                Does::Reply(result) => peer.reply(&call, result).await,
                Does::Says(line) => peer.send_as_far_as_read(line.as_bytes()).await,
                Does::Hangs => {}
                Does::Leaves => break,
            }
        }
        calls
    })
}

/// Continues for every query.
pub(super) fn goes_on(call: &Value) -> Does {
    Does::Reply(match call["method"].as_str() {
        Some("hook.approve_tool") => json!({"approved": true}),
        _ => json!({"action": "continue"}),
    })
}

/// Answers one method with this result and continues otherwise.
pub(super) fn answers(method: &'static str, result: Value) -> impl FnMut(&Value) -> Does + Send + 'static {
    move |call| if call["method"] == method { Does::Reply(result.clone()) } else { goes_on(call) }
}

/// Returns the methods of these calls.
pub(super) fn methods(calls: &[Value]) -> Vec<&str> {
    calls.iter().map(|call| call["method"].as_str().unwrap()).collect()
}
