//! An agent with the settings of the user, as in `haft` itself. `cargo run -p haft-example-embed --bin configured-agent`

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use haft_config::ConfiguredAgent;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // begin
    let configured = ConfiguredAgent::of_user()?;
    let agent = configured.agent_builder().await?.build()?;
    let answer = agent.prompt("Which planet is the largest?").await;
    // end

    println!("model: {}", agent.model());
    println!("{}", answer.unwrap_or_else(|error| error.to_string()));
    Ok(())
}
