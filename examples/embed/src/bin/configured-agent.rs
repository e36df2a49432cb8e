//! An agent with the settings of the user, as in `haft` itself. `cargo run -p haft-example-embed --bin configured-agent`

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use haft_config::ConfiguredAgent;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // begin
    let configured = ConfiguredAgent::of_user(std::env::current_dir()?)?;
    let agent = configured.agent_builder().await?.build()?;
    let answer = agent.prompt("What is in this directory?").await;
    // end

    println!("model: {}", agent.model());
    let tools: Vec<_> = agent.tools().iter().map(|tool| tool.name.clone()).collect();
    println!("tools: {}", tools.join(", "));
    println!("{}", answer.unwrap_or_else(|error| error.to_string()));
    Ok(())
}
