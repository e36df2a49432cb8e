//! 500 agents in one process, each with a tool and a model that takes 100 ms for an answer. `cargo run --release -p
//! haft-example-embed --bin many-agents`

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use std::time::{Duration, Instant};

use futures::future::try_join_all;
use haft_core::prelude::*;
use serde_json::json;

/// Calls `double`, and then says its result. Each answer takes 100 ms.
struct Slow;

#[async_trait]
impl Model for Slow {
    fn info(&self) -> ModelId {
        ModelId { provider: "house".into(), model: "slow-1".into() }
    }

    async fn stream(&self, _: CancellationToken, request: ModelRequest) -> Result<ModelStream, ModelError> {
        tokio::time::sleep(Duration::from_millis(100)).await;
        Ok(match request.messages.last() {
            Some(result @ Message::Tool(_)) => ModelResponse::text(result.text()),
            _ => ModelResponse::with_tool_calls([ToolCall::new("call-1", "double", json!({ "number": 21 }))]),
        }
        .into_stream())
    }
}

#[derive(serde::Deserialize, JsonSchema)]
struct Double {
    number: u32,
}

fn agent() -> Result<Agent, BuildError> {
    let double = function("double", "Doubles a number.", |Double { number }, _| async move { number * 2 });
    Agent::builder(Slow).tool(double).build()
}

/// Runs this many agents at the same time. Returns the number of right answers and the time.
async fn run_agents(count: usize) -> Result<(usize, Duration), Box<dyn std::error::Error>> {
    let agents = (0..count).map(|_| agent()).collect::<Result<Vec<_>, _>>()?;
    let begun = Instant::now();
    let answers = try_join_all(agents.iter().map(|agent| agent.prompt("Double 21.").answer())).await?;
    Ok((answers.iter().filter(|answer| *answer == "42").count(), begun.elapsed()))
}

/// Returns the memory of this process in kB; 0 on systems other than Linux.
fn resident_kilobytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or_default()
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (_, alone) = run_agents(1).await?;
    let before = resident_kilobytes();
    let (answers, together) = run_agents(500).await?;
    let each = resident_kilobytes().saturating_sub(before) / 500;
    println!("500 agents: {answers} answers");
    println!("one agent: {} ms; 500 agents: {} ms; {each} kB each", alone.as_millis(), together.as_millis());
    Ok(())
}
