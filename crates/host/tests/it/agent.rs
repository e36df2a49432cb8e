//! An agent with a host: a model that makes scripted calls, and a `bash` that counts its runs.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures::{StreamExt as _, stream};
use haft_core::error::TurnError;
use haft_core::model::{Model, ModelError, ModelEvent, ModelId, ModelRequest, ModelResponse, ModelStream};
use haft_core::tool::{Tool, ToolContext, ToolOutput, ToolSpec};
use haft_core::{Agent, Run};
use haft_host::Host;
use haft_protocol::RawJson;
use haft_protocol::content::ToolCall;
use haft_protocol::event::AgentEvent;
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::{AssistantBlock, StopCause};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// Makes one call in each step and then ends.
struct Caller(Mutex<VecDeque<ToolCall>>);

#[async_trait]
impl Model for Caller {
    fn info(&self) -> ModelId {
        ModelId { provider: "scripted".into(), model: "demo".into() }
    }

    async fn stream(&self, _: CancellationToken, _: ModelRequest) -> Result<ModelStream, ModelError> {
        let call = self.0.lock().unwrap().pop_front();
        let stop = if call.is_some() { StopCause::ToolUse } else { StopCause::End };
        let content = call.into_iter().map(AssistantBlock::ToolCall).collect();
        let response = ModelResponse::new(content, stop);
        Ok(stream::iter([Ok(ModelEvent::Done(response))]).boxed())
    }
}

/// Creates a model that answers without text.
pub(crate) fn silent_model() -> impl Model {
    Caller(Mutex::default())
}

/// Counts its runs.
#[derive(Clone, Default)]
pub(crate) struct Bash(Arc<AtomicUsize>);

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

/// An agent with the extensions of one host.
pub(crate) struct Agency {
    agent: Agent,
    bash: Bash,
}

/// The outcome of a run.
pub(crate) struct Ran {
    pub(crate) events: Vec<AgentEvent>,
    pub(crate) outcome: Result<(), TurnError>,
    /// The number of runs of `bash`.
    pub(crate) executions: usize,
}

impl Agency {
    /// Creates an agent whose model makes these calls, one after the other.
    pub(crate) fn new(host: &Host, calls: impl IntoIterator<Item = (&'static str, Value)>) -> Self {
        let calls = calls.into_iter().enumerate().map(|(index, (name, args))| ToolCall {
            id: ToolCallId::new(format!("t{}", index + 1)),
            name: name.into(),
            args: RawJson::from_value(&args).unwrap(),
        });
        let bash = Bash::default();
        let model = Arc::new(Caller(Mutex::new(calls.collect())));
        let mut builder = Agent::builder(model).hook_source(host.hook_source());
        let mut tools = haft_core::tool::ToolSet::default();
        tools.add(Arc::new(bash.clone())).unwrap();
        host.tools().into_iter().for_each(|tool| tools.add(tool).unwrap());
        builder = builder.tools(tools);
        Self { agent: builder.build().unwrap(), bash }
    }

    pub(crate) fn agent(&self) -> &Agent {
        &self.agent
    }

    pub(crate) fn into_agent(self) -> Agent {
        self.agent
    }

    pub(crate) fn start(&self) -> Run {
        self.agent.prompt("go")
    }

    /// Runs the agent to its end.
    pub(crate) async fn run(&self) -> Ran {
        self.finish(self.start()).await
    }

    pub(crate) async fn finish(&self, mut run: Run) -> Ran {
        let mut events = Vec::new();
        while let Some(event) = run.next().await {
            events.push(event);
        }
        Ran { events, outcome: run.finish().await, executions: self.bash.0.load(Ordering::Relaxed) }
    }
}

impl Ran {
    /// Returns the blocking extensions and their reasons, in order.
    pub(crate) fn blocks(&self) -> Vec<(String, String)> {
        let mut blocks = Vec::new();
        for event in &self.events {
            if let AgentEvent::ToolBlocked { by, reason, .. } = event {
                blocks.push((by.clone(), reason.clone()));
            }
        }
        blocks
    }

    /// Returns the changing extensions and their changes, in order.
    pub(crate) fn rewrites(&self) -> Vec<(String, String)> {
        let mut rewrites = Vec::new();
        for event in &self.events {
            if let AgentEvent::ToolRewritten { by, changed, .. } = event {
                rewrites.push((by.clone(), changed.join(" ")));
            }
        }
        rewrites
    }
}
