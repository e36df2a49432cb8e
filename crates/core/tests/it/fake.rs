//! A scripted model, simple tools, and events as short lines.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock};

use async_trait::async_trait;
use futures::{StreamExt, stream};
use haft_core::error::TurnError;
use haft_core::hooks::Observer;
use haft_core::model::{
    Model, ModelError, ModelEvent, ModelFacts, ModelId, ModelRequest, ModelResponse, ModelStream,
};
use haft_core::tool::{Tool, ToolConcurrency, ToolContext, ToolOutput, ToolSpec};
use haft_core::{Agent, AgentBuilder};
use haft_protocol::RawJson;
use haft_protocol::content::{ToolCall, joined_text};
use haft_protocol::event::AgentEvent;
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::{AssistantBlock, Message, Rfc3339Time, StopCause, TokenUsage, text_of};
use tokio_util::sync::CancellationToken;

/// One answer: the items of its stream, and whether it then hangs instead of ending.
#[derive(Clone)]
pub(crate) struct Answer {
    pub(crate) items: Vec<Result<ModelEvent, ModelError>>,
    pub(crate) hangs: bool,
}

/// Replays its answers in order and records the requests.
#[derive(Clone, Default)]
pub(crate) struct Script {
    name: Option<&'static str>,
    answers: Arc<Mutex<VecDeque<Answer>>>,
    pub(crate) requests: Arc<Mutex<Vec<ModelRequest>>>,
    pub(crate) window: Option<u64>,
}

impl Script {
    pub(crate) fn new(answers: Vec<Answer>) -> Self {
        Self { answers: Arc::new(Mutex::new(answers.into())), ..Self::default() }
    }

    /// Returns the same script under another model's name.
    pub(crate) fn named(self, name: &'static str) -> Self {
        Self { name: Some(name), ..self }
    }

    pub(crate) fn agent(&self) -> AgentBuilder {
        Agent::builder(Arc::new(self.clone())).clock(|| Rfc3339Time("T".into()))
    }
}

#[async_trait]
impl Model for Script {
    fn info(&self) -> ModelId {
        ModelId { provider: "script".into(), model: self.name.unwrap_or("test").into() }
    }

    fn facts(&self) -> ModelFacts {
        ModelFacts::default().with_window(self.window)
    }

    async fn stream(&self, _: CancellationToken, request: ModelRequest) -> Result<ModelStream, ModelError> {
        self.requests.lock().unwrap().push(request);
        let answer =
            self.answers.lock().unwrap().pop_front().expect("the script has an answer for every request");
        let items = stream::iter(answer.items);
        Ok(if answer.hangs { items.chain(stream::pending()).boxed() } else { items.boxed() })
    }
}

pub(crate) fn call(id: &str, name: &str, args: &str) -> ToolCall {
    ToolCall { id: ToolCallId::new(id), name: name.into(), args: RawJson::parse(args).unwrap() }
}

pub(crate) fn says(text: &str) -> Answer {
    answer(Some(text), vec![], StopCause::End)
}

pub(crate) fn calls(calls: Vec<ToolCall>) -> Answer {
    answer(None, calls, StopCause::ToolUse)
}

pub(crate) fn answer(text: Option<&str>, calls: Vec<ToolCall>, stop: StopCause) -> Answer {
    let mut items: Vec<_> = text.iter().map(|text| Ok(ModelEvent::Text((*text).to_owned()))).collect();
    let mut content: Vec<_> =
        text.iter().map(|text| AssistantBlock::Text { text: (*text).to_owned() }).collect();
    content.extend(calls.into_iter().map(AssistantBlock::ToolCall));
    let usage = TokenUsage::default().with_input(10).with_output(1);
    items.push(Ok(ModelEvent::Done(ModelResponse::new(content, stop).with_usage(usage))));
    Answer { items, hangs: false }
}

/// A tool that computes its result from its arguments with a closure.
pub(crate) struct FnTool<F> {
    name: &'static str,
    concurrency: ToolConcurrency,
    act: F,
}

pub(crate) fn tool<F>(name: &'static str, act: F) -> FnTool<F>
where
    F: Fn(&str) -> ToolOutput + Send + Sync,
{
    FnTool { name, concurrency: ToolConcurrency::Parallel, act }
}

#[async_trait]
impl<F: Fn(&str) -> ToolOutput + Send + Sync> Tool for FnTool<F> {
    fn spec(&self) -> Arc<ToolSpec> {
        spec(self.name, self.concurrency)
    }

    async fn execute(&self, _: ToolContext, call: ToolCall) -> ToolOutput {
        (self.act)(call.args.as_str())
    }
}

pub(crate) fn spec(name: &str, concurrency: ToolConcurrency) -> Arc<ToolSpec> {
    let schema = r#"{"type":"object","properties":{"n":{"type":"integer"}},"additionalProperties":false}"#;
    Arc::new(
        ToolSpec::new(name, format!("The {name} tool."))
            .with_schema(RawJson::parse(schema).unwrap())
            .with_concurrency(concurrency),
    )
}

/// Calls a closure with the agent at every event.
pub(crate) struct Whenever<F> {
    agent: Arc<OnceLock<Agent>>,
    act: F,
}

impl<F: Fn(&Agent, &AgentEvent) + Send + Sync> Observer for Whenever<F> {
    fn observe(&self, event: &AgentEvent) {
        if let Some(agent) = self.agent.get() {
            (self.act)(agent, event);
        }
    }
}

/// Builds an agent that calls the closure at every event.
pub(crate) fn whenever(
    builder: AgentBuilder,
    act: impl Fn(&Agent, &AgentEvent) + Send + Sync + 'static,
) -> Agent {
    let slot = Arc::new(OnceLock::new());
    let agent = builder.observer(Whenever { agent: slot.clone(), act }).build().unwrap();
    slot.set(agent.clone()).unwrap();
    agent
}

/// Runs one prompt; returns events as short lines, and the outcome. Start and end events of tools and of the run are left
/// out; see `starts` and `settling`.
pub(crate) async fn run(agent: &Agent) -> (Vec<String>, Result<(), TurnError>) {
    let mut run = agent.prompt("go");
    let mut lines = Vec::new();
    while let Some(event) = run.next().await {
        let is_left_out = matches!(
            event,
            AgentEvent::ToolStart { .. }
                | AgentEvent::ToolEnd { .. }
                | AgentEvent::AgentStart
                | AgentEvent::Settled
        );
        if !is_left_out {
            lines.push(line(&event));
        }
    }
    (lines, run.finish().await)
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the short forms are for the events that tests look at most"
)]
pub(crate) fn line(event: &AgentEvent) -> String {
    match event {
        AgentEvent::UserMessage { content, .. } => format!("user {}", joined_text(content)),
        AgentEvent::TextDelta { delta } => format!("delta {delta}"),
        AgentEvent::AssistantMessage { content, .. } => format!("assistant {}", text_of(content)),
        AgentEvent::ToolResult { id, is_error, content, synthetic_by, .. } => {
            let by = synthetic_by.iter().map(|by| format!("(by {by}) ")).collect::<String>();
            format!("result {id} {by}{}{}", if *is_error { "error " } else { "" }, joined_text(content))
        }
        AgentEvent::ToolCall { id, name, args } => format!("call {id} {name} {args}"),
        AgentEvent::ToolRewritten { id, by, tool, args, .. } => {
            let tool = tool.iter().map(|tool| format!("{tool} ")).collect::<String>();
            format!("rewritten {id} by {by} {tool}{args}")
        }
        AgentEvent::ToolRewriteConflict { id, path, by: [first, then] } => {
            format!("conflict {id} {path} {first} {then}")
        }
        AgentEvent::ToolBlocked { id, by, reason } => format!("blocked {id} by {by}: {reason}"),
        AgentEvent::TurnEnd { stop, error } => {
            format!("end {stop:?}{}", error.iter().map(|e| format!(" {e}")).collect::<String>())
        }
        AgentEvent::Error { message, .. } => format!("error {message}"),
        other => serde_json::to_string(other).unwrap(),
    }
}

/// Returns the transcript as short lines.
pub(crate) fn transcript(agent: &Agent) -> Vec<String> {
    agent
        .messages()
        .iter()
        .map(|message| match message {
            Message::User { content, .. } => format!("user {}", joined_text(content)),
            Message::Assistant(message) => {
                let calls: Vec<_> =
                    message.tool_calls().map(|call| format!("{}{}", call.name, call.args)).collect();
                format!("assistant {} {}", message.text(), calls.join(" "))
            }
            Message::Tool(message) => {
                format!(
                    "tool {} {}{}",
                    message.call_id,
                    if message.is_error { "error " } else { "" },
                    joined_text(&message.content)
                )
            }
        })
        .collect()
}
