//! Questions of a case: calls of tools and commands, and whole prompts with a scripted model.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use haft_core::model::{Model, ModelError, ModelFacts, ModelId, ModelRequest, ModelStream};
use haft_core::tool::{Tool, ToolContext, ToolOutput, ToolSet, ToolSpec};
use haft_core::{Agent, AgentBuilder, Prompt};
use haft_protocol::RawJson;
use haft_protocol::content::{ToolCall, joined_text};
use haft_protocol::event::AgentEvent;
use haft_providers::ScriptedModel;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::World;
use crate::timeouts::LOOK;

/// The built-in tools of the agent, whose names are reserved.
pub(crate) const BUILT_IN: &[&str] = &["probe", "bash", "read"];

/// The numbers of started and ended questions.
#[derive(Debug, Clone, Default)]
pub(crate) struct QuestionTally(Arc<(AtomicU64, AtomicU64)>);

impl QuestionTally {
    pub(super) fn count_asked(&self) {
        self.0.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_ended(&self) {
        self.0.1.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the numbers of started and ended questions.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.0.0.load(Ordering::Relaxed), self.0.1.load(Ordering::Relaxed))
    }
}

/// The outcome of one question.
#[derive(Debug, Clone)]
pub(crate) struct ToolAnswer {
    pub(crate) text: String,
    pub(crate) is_error: bool,
    pub(crate) took: Duration,
}

/// The outcome of a guarded tool call.
#[derive(Debug, Clone)]
pub(crate) struct GatedCall {
    /// The text of the arguments with which the tool ran, if it ran.
    pub(crate) ran_with: Option<String>,
    /// The extension that blocked the call, and its reason.
    pub(crate) blocked: Option<(String, String)>,
    /// The text for the model.
    pub(crate) result: String,
    pub(crate) took: Duration,
}

/// The outcome of a prompt.
#[derive(Debug)]
pub(crate) struct PromptOutcome {
    /// The text of the arguments of every run of `probe`.
    pub(crate) ran: Vec<String>,
    /// The extensions that blocked a call, and their reasons.
    pub(crate) blocked: Vec<(String, String)>,
    /// The texts for the model, one for each call.
    pub(crate) results: Vec<String>,
    /// The extensions that gave results instead of a tool.
    pub(crate) synthetic: Vec<String>,
    /// The system prompt of the last step.
    pub(crate) system: String,
    /// The model's text that the user saw.
    pub(crate) said: Vec<String>,
    /// The end of the prompt.
    pub(crate) outcome: Result<(), String>,
}

impl Default for PromptOutcome {
    fn default() -> Self {
        Self {
            ran: Vec::new(),
            blocked: Vec::new(),
            results: Vec::new(),
            synthetic: Vec::new(),
            system: String::new(),
            said: Vec::new(),
            outcome: Ok(()),
        }
    }
}

impl PromptOutcome {
    /// Runs a prompt with a model that plays these steps, until it ends or `stop` holds.
    pub(super) async fn run_prompt(
        world: &World,
        steps: &Value,
        with: impl FnOnce(AgentBuilder) -> AgentBuilder,
        stop: impl Fn() -> bool,
    ) -> Result<Self> {
        let model = ScriptedModel::from_json(&json!({ "steps": steps }).to_string())
            .context("parse the model's script")?;
        let probe = ProbeTool::default();
        let mut tools = ToolSet::default();
        tools.add(Arc::new(probe.clone())).context("add the probe tool")?;
        for tool in world.host.tools() {
            tools.add(tool).context("add the tools of the host")?;
        }
        let model = RecordingModel { model, system: Arc::default() };
        let system = Arc::clone(&model.system);
        let agent = Agent::builder(model).tools(tools).hook_source(world.host.hook_source());
        let agent = with(agent).build().context("create an agent")?;
        world.tally.count_asked();
        let mut run = agent.prompt(Prompt::from("go"));
        let mut played = Self::default();
        let cancel = run.cancellation_token();
        loop {
            let event = tokio::select! {
                event = run.next() => event,
                // sleep: between two checks
                () = tokio::time::sleep(LOOK) => {
                    if stop() {
                        cancel.cancel();
                    }
                    continue;
                }
            };
            let Some(event) = event else { break };
            played.take(&event);
            world.events.push(event);
        }
        world.tally.count_ended();
        played.outcome = run.finish().await.map_err(|error| error.to_string());
        played.system = lock(&system).clone();
        played.ran = lock(&probe.0).clone();
        Ok(played)
    }

    fn take(&mut self, event: &AgentEvent) {
        #[expect(clippy::wildcard_enum_match_arm, reason = "the oracle checks the other events")]
        match event {
            AgentEvent::ToolBlocked { by, reason, .. } => self.blocked.push((by.clone(), reason.clone())),
            AgentEvent::ToolResult { content, synthetic_by, .. } => {
                self.results.push(joined_text(content));
                self.synthetic.extend(synthetic_by.clone());
            }
            AgentEvent::AssistantMessage { content, .. } => {
                self.said.push(serde_json::to_string(content).unwrap_or_default());
            }
            _ => {}
        }
    }
}

/// Returns the final step of a scripted model.
pub(crate) fn last_word() -> Value {
    json!({"say": [{"text": "The last word."}]})
}

/// A tool that records its arguments.
#[derive(Debug, Clone, Default)]
struct ProbeTool(Arc<Mutex<Vec<String>>>);

#[async_trait::async_trait]
impl Tool for ProbeTool {
    fn spec(&self) -> Arc<ToolSpec> {
        let schema =
            RawJson::from_value(&json!({"type": "object", "properties": {"number": {"type": "integer"}}}))
                .unwrap_or_else(|_| RawJson::empty_object());
        Arc::new(ToolSpec::new("probe", "Records its arguments.").with_schema(schema))
    }

    async fn execute(&self, _: ToolContext, call: ToolCall) -> ToolOutput {
        lock(&self.0).push(call.args.as_str().to_owned());
        ToolOutput::text("probed")
    }
}

/// A model that records its system prompt.
struct RecordingModel {
    model: ScriptedModel,
    system: Arc<Mutex<String>>,
}

#[async_trait::async_trait]
impl Model for RecordingModel {
    fn info(&self) -> ModelId {
        self.model.info()
    }

    fn facts(&self) -> ModelFacts {
        self.model.facts()
    }

    async fn stream(
        &self,
        cancel: CancellationToken,
        request: ModelRequest,
    ) -> Result<ModelStream, ModelError> {
        lock(&self.system).clone_from(&request.system);
        self.model.stream(cancel, request).await
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
