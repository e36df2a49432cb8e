//! An agent as a tool of another agent. `cargo run -p haft-example-embed --bin sub-agent`

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use haft_core::prelude::*;
use haft_example_embed::scripted;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let strict = scripted(r#"[{"say": [{"text": "Five syllables are missing."}]}]"#)?;
    let model = scripted(
        r#"[{"say": [{"call": {"name": "review", "args": {"prompt": "Old pond. A frog leaps in."}}}]},
            {"say": [{"text": "The reviewer says: {{last_tool_result}}"}]}]"#,
    )?;

    // begin
    let reviewer = Agent::builder(strict).instructions("You review haiku.").build()?;
    let writer = Agent::builder(model).tool(reviewer.as_tool("review", "Reviews a haiku.")).build()?;
    println!("{}", writer.prompt("Write a haiku about a pond.").await?);
    // end
    Ok(())
}
