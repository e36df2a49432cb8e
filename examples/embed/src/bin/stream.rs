//! The minimum: an agent, a prompt, and the answer as it arrives. `cargo run -p haft-example-embed
//! --bin minimal`

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use futures::StreamExt as _;
use haft_core::Agent;
use haft_core::protocol::event::AgentEvent;
use haft_example_embed::scripted;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = scripted(
        r#"[{"say": [{"text": "An agent is a model, tools, and a loop around both."}], "chunk": 8}]"#,
    )?;
    let agent = Agent::builder(model).build()?;
    let mut run = agent.prompt("What is an agent?");
    while let Some(event) = run.next().await {
        if let AgentEvent::TextDelta { delta } = event {
            print!("{delta}");
        }
    }
    println!();
    Ok(run.finish().await?)
}
