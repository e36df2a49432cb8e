//! An agent behind a page in the browser. `cargo run -p haft-example-server`, then open the address that it prints.

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use std::sync::Arc;

use async_trait::async_trait;
use haft_core::protocol::content::ToolCall;
use haft_core::tool::{Tool, ToolContext, ToolOutput, ToolSpec};
use haft_core::{Agent, AgentBuilder};
use haft_example_server::app;
use haft_providers::ScriptedModel;

/// The answers of the model, repeated. The pauses make the events visible.
const SCRIPT: &str = r#"{"steps": [
    {"repeat": true, "when": {"last_role": "user"}, "chunk": 4, "pause_ms": 40,
     "say": [{"text": "I had better roll a die about that."}, {"call": {"name": "dice", "args": {"sides": 6}}}]},
    {"repeat": true, "chunk": 4, "pause_ms": 40,
     "say": [{"text": "The die says {{last_tool_result}}. <b>Bold words</b> are shown as they are written."}]}]}"#;

struct Dice;

#[async_trait]
impl Tool for Dice {
    fn spec(&self) -> Arc<ToolSpec> {
        let schema =
            serde_json::json!({ "type": "object", "properties": { "sides": { "type": "integer" } } });
        Arc::new(ToolSpec::new("dice", "Rolls a die.").with_schema(schema.into()))
    }

    async fn execute(&self, _: ToolContext, _: ToolCall) -> ToolOutput {
        ToolOutput::text("4")
    }
}

/// Creates the builder of a chat's agent. For a real model see `haft_providers::choose_model`.
fn agent() -> Result<AgentBuilder, String> {
    let model = ScriptedModel::from_json(SCRIPT).map_err(|error| error.to_string())?;
    Ok(Agent::builder(model).tool(Dice).max_steps(20))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let port = std::env::args().nth(1).unwrap_or_else(|| "0".to_owned());
    // This machine only: every client of the page can make the agent act.
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port.parse()?)).await?;
    println!("http://{}", listener.local_addr()?);
    Ok(axum::serve(listener, app(agent, |call| call.name == "dice")).await?)
}
