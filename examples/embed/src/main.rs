//! An agent of one's own with one tool and one hook. Run it: `cargo run -p haft-example-embed`.

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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

/// A hook that lets the first call run and blocks the others.
#[derive(Default)]
struct OneRoll(AtomicBool);

#[async_trait]
impl BeforeToolExecute for OneRoll {
    async fn before_tool_execute(&self, _: &CancellationToken, _: &ToolCall) -> ToolDecision {
        match self.0.swap(true, Ordering::Relaxed) {
            false => ToolDecision::Allow,
            true => ToolDecision::Block { by: "one-roll".into(), reason: "one roll is enough".into() },
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Any model of haft-providers will do, or your own; this one needs neither key nor network.
    // It rolls, rolls again, which the hook blocks, and says what it was told.
    let model = Scripted::from_json(
        r#"{"steps": [{"say": [{"call": {"name": "dice", "args": {}}}]},
                      {"say": [{"call": {"name": "dice", "args": {}}}]},
                      {"say": [{"text": "A 4, and then: {{last_tool_result}}"}]}]}"#,
    )?;
    let agent = Agent::builder(Arc::new(model)).tool(Dice).before_tool_execute(OneRoll::default()).build()?;
    let mut run = agent.prompt("Roll the dice.");
    while let Some(event) = run.next().await {
        println!("{event:?}");
    }
    Ok(run.finish().await?)
}
