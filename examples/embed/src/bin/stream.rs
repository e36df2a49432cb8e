//! The minimum: an agent, a prompt, and the answer as it arrives. `cargo run -p haft-example-embed
//! --bin stream`

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use haft_core::prelude::*;
use haft_example_embed::scripted;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = scripted(
        r#"[{"say": [{"text": "An agent is a model, tools, and a loop around both."}], "chunk": 8}]"#,
    )?;
    let agent = Agent::builder(model).build()?;

    // begin
    let mut run = agent.prompt("What is an agent?");
    while let Some(event) = run.next().await {
        print!("{}", event.text_delta().unwrap_or_default());
    }
    run.finish().await?; // the error, if the run failed
    // end

    println!();
    Ok(())
}
