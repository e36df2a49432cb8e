//! Cancels a run together with the work that it belongs to. `cargo run -p haft-example-embed --bin
//! cancel`

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use haft_core::prelude::*;
use haft_example_embed::scripted;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = scripted(r#"[{"say": [{"text": "1, 2, 3"}], "chunk": 1, "pause_ms": 60000}]"#)?;
    let agent = Agent::builder(model).build()?;

    // begin
    let request = CancellationToken::new(); // of the work that the run belongs to
    let counting = tokio::spawn(agent.prompt("Count.").with_cancellation(request.clone()).answer());
    request.cancel();
    // end

    match counting.await? {
        Err(TurnError { kind: TurnErrorKind::Aborted, .. }) => println!("stopped"),
        answer => println!("{}", answer?),
    }
    Ok(())
}
