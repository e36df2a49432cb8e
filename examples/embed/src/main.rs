//! An agent of one's own with one tool and one hook. Run it: `cargo run -p haft-example-embed`.

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use std::sync::Arc;

use async_trait::async_trait;
use futures::StreamExt as _;
use haft_core::hooks::{BeforeToolExecute, CancellationToken, ToolDecision};
use haft_core::tool::{Tool, ToolContext, ToolOutput, ToolSpec};
use haft_core::{Agent, protocol::content::ToolCall};
use haft_providers::Scripted;

/// A tool without arguments.
struct Dice;

#[async_trait]
impl Tool for Dice {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::new(ToolSpec::new("dice", "Rolls a die."))
    }

    async fn execute(&self, _: ToolContext, _: ToolCall) -> ToolOutput {
        ToolOutput::text("4") // chosen by fair dice roll
    }
}

/// A hook that lets only `dice` run.
struct OnlyDice;

#[async_trait]
impl BeforeToolExecute for OnlyDice {
    async fn before_tool_execute(&self, _: &CancellationToken, call: &ToolCall) -> ToolDecision {
        match call.name.as_str() {
            "dice" => ToolDecision::Allow,
            _ => {
                ToolDecision::Block { by: "only-dice".into(), reason: "this program plays dice only".into() }
            }
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Any model of haft-providers will do, or your own; this one needs neither key nor network.
    let model = Scripted::from_json(
        r#"{"steps": [{"say": [{"call": {"name": "dice", "args": {}}}]}, {"say": [{"text": "A {{last_tool_result}}!"}]}]}"#,
    )?;
    let agent = Agent::builder(Arc::new(model)).tool(Dice).before_tool_execute(OnlyDice).build()?;
    let mut run = agent.prompt("Roll the dice.");
    while let Some(event) = run.next().await {
        println!("{event:?}");
    }
    Ok(run.finish().await?)
}
