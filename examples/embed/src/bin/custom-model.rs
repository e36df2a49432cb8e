//! A custom model. `cargo run -p haft-example-embed --bin custom-model`
//!
//! For the APIs that haft supports, use `haft_providers::HttpModel`.

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use async_trait::async_trait;
use haft_core::Agent;
use haft_core::hooks::CancellationToken;
use haft_core::model::{
    Model, ModelError, ModelErrorKind, ModelId, ModelRequest, ModelResponse, ModelStream,
};
use haft_core::protocol::content::joined_text;
use haft_core::protocol::message::Message;

/// Counts the words of the user's message.
struct Counter;

#[async_trait]
impl Model for Counter {
    fn info(&self) -> ModelId {
        ModelId { provider: "house".into(), model: "counter-1".into() }
    }

    async fn stream(&self, _: CancellationToken, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let Some(Message::User { content, .. }) = request.messages.last() else {
            return Err(ModelError::new(ModelErrorKind::Rejected, "house: I answer people only"));
        };
        let words = joined_text(content).split_whitespace().count();
        // `ModelStream` is any stream of `ModelEvent`s. This one contains the whole answer in one
        // event.
        Ok(ModelResponse::text(format!("You said {words} words.")).into_stream())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let agent = Agent::builder(Counter).build()?;
    println!("{}", agent.prompt("How many words are these?").answer().await?);
    // The transcript grows with each prompt.
    println!("{}", agent.prompt("And these?").answer().await?);
    println!("{} messages with {}", agent.messages().len(), agent.model());
    Ok(())
}
