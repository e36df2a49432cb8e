//! `Agent::as_tool`: an agent as a tool of another agent.

use std::sync::Arc;

use haft_protocol::event::AgentEvent;
use schemars::JsonSchema;
use serde::Deserialize;

use super::Agent;
use crate::error::{TurnError, TurnErrorKind};
use crate::tool::{FunctionTool, ToolContext, ToolFailureKind, ToolOutput, function};

/// The arguments of an agent as a tool.
#[derive(Deserialize, JsonSchema)]
struct SubAgentArgs {
    /// The task, with all facts that it needs: the agent knows nothing of this conversation.
    prompt: String,
}

impl Agent {
    /// Returns a tool that gives this agent a task and returns its answer. Each call is a run of its own with an empty
    /// transcript in memory, so that calls can run at the same time. The runs share the model, tools, hooks and settings
    /// of this agent. Its observers receive their events.
    ///
    /// The run of the caller cancels the run of the call. The names of the tools that the agent calls are the progress of
    /// the call. An error of the run is an error result. [Details](ToolOutput::details) have the `usage`, which does not
    /// count for the caller.
    ///
    /// Calls of one message run at the same time and share the tools. A tool with state, such as the built-in ones,
    /// which remember the files that were read, then sees the calls of all runs. Make the calls run one after the
    /// other for such tools:
    ///
    /// ```
    /// use haft_core::model::Model;
    /// use haft_core::{Agent, BuildError};
    ///
    /// fn lead(model: impl Model + 'static, editor: &Agent) -> Result<Agent, BuildError> {
    ///     Agent::builder(model).tool(editor.as_tool("edit_text", "Changes a file.").run_alone()).build()
    /// }
    /// ```
    ///
    /// Without such tools:
    ///
    /// ```
    /// use haft_core::model::Model;
    /// use haft_core::{Agent, BuildError};
    ///
    /// fn writer(model: impl Model + Clone + 'static) -> Result<Agent, BuildError> {
    ///     let reviewer = Agent::builder(model.clone()).instructions("You review texts.").build()?;
    ///     Agent::builder(model).tool(reviewer.as_tool("review", "Reviews a text.")).build()
    /// }
    /// ```
    pub fn as_tool(&self, name: impl Into<String>, description: impl Into<String>) -> FunctionTool {
        let agent = self.clone();
        function(name, description, move |SubAgentArgs { prompt }, context| {
            agent.clone().work_on(prompt, context)
        })
    }

    /// Works on a task with an empty transcript.
    async fn work_on(self, task: String, context: ToolContext) -> ToolOutput {
        let agent = Self { inner: Arc::new(self.inner.with_empty_transcript()) };
        let mut run = agent.prompt(task).with_cancellation(context.cancel.clone());
        let report_call = |event: &AgentEvent| {
            if let AgentEvent::ToolCall { name, .. } = event {
                context.progress(format!("{name}\n"));
            }
        };
        let answer = run.read_answer(report_call).await;
        let details = serde_json::json!({ "usage": agent.usage() });
        ToolOutput { details: Some(details.into()), ..task_output(answer) }
    }
}

fn task_output(answer: Result<String, TurnError>) -> ToolOutput {
    match answer {
        Ok(answer) => ToolOutput::text(answer),
        Err(error) if error.kind == TurnErrorKind::Aborted => {
            ToolOutput::failed(ToolFailureKind::Cancelled, error.to_string())
        }
        Err(error) => ToolOutput::error(error.to_string()),
    }
}
