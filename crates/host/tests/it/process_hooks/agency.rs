//! An agent with a scripted model and a `bash` that counts, and a hook that answers by a table.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures::{StreamExt as _, stream};
use haft_core::Agent;
use haft_core::error::TurnError;
use haft_core::model::{Model, ModelError, ModelEvent, ModelInfo, ModelRequest, ModelResponse, ModelStream};
use haft_core::tool::{Tool, ToolContext, ToolOutput, ToolSpec};
use haft_host::Host;
use haft_protocol::RawJson;
use haft_protocol::content::{ToolCall, joined_text};
use haft_protocol::event::AgentEvent;
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::{AssistantBlock, Message, Stop, Usage};
use haft_test_support::FakePeer;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Says these, one after the other, and keeps what it was asked.
#[derive(Clone, Default)]
struct Script(Arc<Mutex<Lines>>);

#[derive(Default)]
struct Lines {
    says: VecDeque<Vec<AssistantBlock>>,
    asked: Vec<ModelRequest>,
}

#[async_trait]
impl Model for Script {
    fn info(&self) -> ModelInfo {
        ModelInfo { provider: "scripted".into(), model: "demo".into() }
    }

    async fn stream(&self, _: CancellationToken, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let mut script = self.0.lock().unwrap();
        script.asked.push(request);
        let content = script.says.pop_front().unwrap_or_else(|| vec![said("done")]);
        let calls = content.iter().any(|block| matches!(block, AssistantBlock::ToolCall(_)));
        let stop = if calls { Stop::ToolUse } else { Stop::End };
        let response = ModelResponse { content, stop, usage: Usage::default(), native: None };
        Ok(stream::iter([Ok(ModelEvent::Done(response))]).boxed())
    }
}

pub(super) fn said(text: &str) -> AssistantBlock {
    AssistantBlock::Text { text: text.into() }
}

pub(super) fn calls(name: &str, args: Value) -> Vec<AssistantBlock> {
    let args = RawJson::from_value(&args).unwrap();
    vec![AssistantBlock::ToolCall(ToolCall { id: ToolCallId::new("t1"), name: name.into(), args })]
}

/// Counts how often it ran.
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

/// What became of a prompt.
pub(super) struct Ran {
    pub(super) events: Vec<AgentEvent>,
    pub(super) outcome: Result<(), TurnError>,
    /// How often `bash` ran.
    pub(super) executions: usize,
    /// What the model was asked.
    pub(super) requests: Vec<ModelRequest>,
    /// What the conversation is now.
    pub(super) messages: Vec<Message>,
}

/// Works on a prompt with the hooks of a host and a model that says these.
pub(super) async fn run(host: &Host, says: Vec<Vec<AssistantBlock>>) -> Ran {
    let (script, bash) = (Script::default(), Bash::default());
    script.0.lock().unwrap().says.extend(says);
    let mut tools = haft_core::tool::ToolSet::default();
    tools.add(Arc::new(bash.clone())).unwrap();
    let agent = Agent::builder(script.clone()).hook_source(host.hook_source()).tools(tools).build().unwrap();
    let mut run = agent.prompt("go");
    let mut events = Vec::new();
    while let Some(event) = run.next().await {
        events.push(event);
    }
    let outcome = run.finish().await;
    let requests = script.0.lock().unwrap().asked.clone();
    let messages = agent.messages().iter().cloned().collect();
    Ran { events, outcome, executions: bash.0.load(Ordering::Relaxed), requests, messages }
}

/// A call of `bash`, then an answer.
pub(super) fn one_call() -> Vec<Vec<AssistantBlock>> {
    vec![calls("bash", json!({"command": "ls"})), vec![said("two files")]]
}

impl Ran {
    /// What the model was told of the call.
    pub(super) fn result(&self) -> (String, bool) {
        let found = self.events.iter().find_map(|event| {
            let AgentEvent::ToolResult { content, is_error, .. } = event else { return None };
            Some((joined_text(content), *is_error))
        });
        found.expect("a call has a result")
    }

    /// What the user was shown last.
    pub(super) fn answer(&self) -> String {
        let shown = self.events.iter().rev().find_map(|event| {
            let AgentEvent::AssistantMessage { content, .. } = event else { return None };
            Some(haft_protocol::message::text_of(content))
        });
        shown.unwrap_or_default()
    }
}

/// What a hook does with a call.
#[derive(Debug, Clone)]
pub(super) enum Does {
    Reply(Value),
    /// Any line.
    Says(String),
    Hangs,
    Leaves,
}

/// A hook that does this with each call; the calls, when it is over.
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

/// Goes on, whatever is asked.
pub(super) fn goes_on(call: &Value) -> Does {
    Does::Reply(match call["method"].as_str() {
        Some("hook.approve_tool") => json!({"approved": true}),
        _ => json!({"action": "continue"}),
    })
}

/// Answers this to one method, and goes on else.
pub(super) fn answers(method: &'static str, result: Value) -> impl FnMut(&Value) -> Does + Send + 'static {
    move |call| if call["method"] == method { Does::Reply(result.clone()) } else { goes_on(call) }
}

/// The methods of these calls.
pub(super) fn methods(calls: &[Value]) -> Vec<&str> {
    calls.iter().map(|call| call["method"].as_str().unwrap()).collect()
}
