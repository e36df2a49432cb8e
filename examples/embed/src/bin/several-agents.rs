//! Several agents in one program: writers that work at the same time, and a reviewer of their
//! texts. `cargo run -p haft-example-embed --bin several-agents`

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use std::error::Error;

use futures::future::try_join_all;
use haft_core::Agent;
use haft_core::error::TurnError;
use haft_core::prompt::SystemPrompt;
use haft_example_embed::scripted;

/// Creates an agent. Agents are cheap: each has its own transcript, tools and hooks, and a model
/// can be shared as an `Arc`.
fn agent(identity: &str, steps: &str) -> Result<Agent, Box<dyn Error>> {
    let system = SystemPrompt::default().with_identity(identity);
    Ok(Agent::builder(scripted(steps)?).system_prompt(system).max_steps(10).build()?)
}

/// Asks the reviewer until it approves, or has rejected twice.
async fn reviewed(writer: &Agent, reviewer: &Agent, task: &str) -> Result<String, TurnError> {
    let mut text = writer.prompt(task).answer().await?;
    for _ in 0..2 {
        // The reviewer also has a transcript, so it gets the drafts one after the other.
        let verdict = reviewer.prompt(format!("Task: {task}\nText: {text}")).answer().await?;
        if verdict.starts_with("ok") {
            break;
        }
        text = writer.prompt(format!("The reviewer says: {verdict}. Write it again.")).answer().await?;
    }
    Ok(text)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let haiku = agent(
        "You write haiku.",
        r#"[{"say": [{"text": "Old pond. A frog."}]},
        {"say": [{"text": "Old pond. A frog leaps in. The sound of water."}]}]"#,
    )?;
    let slogan = agent("You write slogans.", r#"[{"say": [{"text": "Tea: it is warm."}]}]"#)?;
    let strict =
        agent("You review haiku.", r#"[{"say": [{"text": "too short"}]}, {"say": [{"text": "ok"}]}]"#)?;
    let kind = agent("You review slogans.", r#"[{"say": [{"text": "ok, and well said"}]}]"#)?;

    // Both pairs work at the same time on this one thread. With `tokio::spawn` they use all
    // threads.
    let pairs = [reviewed(&haiku, &strict, "A haiku."), reviewed(&slogan, &kind, "A slogan for tea.")];
    for text in try_join_all(pairs).await? {
        println!("{text}");
    }
    Ok(())
}
