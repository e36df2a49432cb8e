//! Hooks: your code decides about the agent's actions first. `cargo run -p haft-example-embed --bin
//! hooks`

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use haft_core::Agent;
use haft_core::hooks::{
    BeforeAssistantMessage, BeforeToolExecute, CancellationToken, MessageDecision, Observer, ToolDecision,
};
use haft_core::protocol::content::{ToolCall, joined_text};
use haft_core::protocol::event::AgentEvent;
use haft_core::tool::{Tool, ToolContext, ToolOutput, ToolSpec};
use haft_example_embed::scripted;

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

/// Lets the first call run and blocks the others.
#[derive(Default)]
struct OneRoll(AtomicBool);

#[async_trait]
impl BeforeToolExecute for OneRoll {
    async fn before_tool_execute(&self, _: &CancellationToken, _: &ToolCall) -> ToolDecision {
        match self.0.swap(true, Ordering::Relaxed) {
            false => ToolDecision::Allow,
            true => ToolDecision::block("one roll is enough"),
        }
    }

    fn name(&self) -> &str {
        "one-roll"
    }
}

/// Removes text that the user must not see before it is shown.
struct Polite;

#[async_trait]
impl BeforeAssistantMessage for Polite {
    async fn before_assistant_message(&self, _: &CancellationToken, text: &str) -> MessageDecision {
        match text.contains("darn") {
            true => MessageDecision::Replace { text: text.replace("darn", "[…]") },
            false => MessageDecision::Show,
        }
    }

    fn name(&self) -> &str {
        "polite"
    }
}

/// Observes events without changing anything.
struct Log;

impl Observer for Log {
    fn observe(&self, event: &AgentEvent) {
        if let AgentEvent::ToolBlocked { by, .. } = event {
            println!("blocked by {by}");
        } else if let AgentEvent::ToolResult { name, content, is_error, .. } = event {
            println!("{name}{}: {}", if *is_error { " failed" } else { "" }, joined_text(content));
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = scripted(
        r#"[{"say": [{"call": {"name": "dice", "args": {}}}]},
            {"say": [{"call": {"name": "dice", "args": {}}}]},
            {"say": [{"text": "A 4, and then, darn: {{last_tool_result}}"}]}]"#,
    )?;
    let agent = Agent::builder(model)
        .tool(Dice)
        .before_tool_execute(OneRoll::default())
        .before_assistant_message(Polite)
        .observer(Log)
        .build()?;
    println!("{}", agent.prompt("Roll the dice.").answer().await?);
    Ok(())
}
