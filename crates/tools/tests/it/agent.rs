//! The tools in an agent.

use std::sync::Arc;

use async_trait::async_trait;
use futures::StreamExt;
use futures::stream;
use haft_core::Agent;
use haft_core::model::{
    Model, ModelError, ModelEvent, ModelFacts, ModelId, ModelRequest, ModelResponse, ModelStream,
};
use haft_core::tool::ToolSet;
use haft_protocol::RawJson;
use haft_protocol::content::{ToolCall, joined_text};
use haft_protocol::event::AgentEvent;
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::{AssistantBlock, StopCause};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::ground::Ground;

/// A model that requests the same command again and again.
struct Wants {
    command: &'static str,
}

#[async_trait]
impl Model for Wants {
    fn info(&self) -> ModelId {
        ModelId { provider: "test".into(), model: "wants".into() }
    }

    fn facts(&self) -> ModelFacts {
        ModelFacts::default()
    }

    async fn stream(&self, _: CancellationToken, _: ModelRequest) -> Result<ModelStream, ModelError> {
        let args = RawJson::from_value(&json!({"command": self.command})).unwrap();
        let call = ToolCall { id: ToolCallId::new("t1"), name: "bash".to_owned(), args };
        let content = vec![AssistantBlock::ToolCall(call)];
        let response = ModelResponse::new(content, StopCause::ToolUse);
        Ok(stream::iter([Ok(ModelEvent::Done(response))]).boxed())
    }
}

/// Killing the command takes longer than asking it to end; the agent must wait for that.
#[tokio::test]
async fn cancelled_command_that_ignores_sigterm_returns_its_output() {
    let ground = Ground::new();
    // sleep: a step of a loop that never ends
    let model = Wants { command: "trap '' TERM; echo begun; while :; do sleep 0.1; done" };
    let mut tools = ToolSet::default();
    tools.add(ground.tool("bash")).unwrap();
    let agent = Agent::builder(Arc::new(model)).tools(tools).build().unwrap();
    let mut run = agent.prompt("go");
    let cancel = run.cancellation_token();
    let mut results = Vec::new();
    while let Some(event) = run.next().await {
        if matches!(event, AgentEvent::ToolProgress { .. }) {
            cancel.cancel();
        }
        if let AgentEvent::ToolResult { content, .. } = event {
            results.push(joined_text(&content));
        }
    }
    assert_eq!(results, ["begun\n[cancelled and killed]"]);
}
