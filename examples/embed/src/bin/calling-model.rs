//! A model of your own that calls tools. `cargo run -p haft-example-embed --bin calling-model`

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use haft_core::prelude::*;
use serde_json::json;

/// Looks up what the user asks for.
struct Shopkeeper;

#[async_trait]
impl Model for Shopkeeper {
    fn info(&self) -> ModelId {
        ModelId { provider: "house".into(), model: "shopkeeper-1".into() }
    }

    async fn stream(&self, _: CancellationToken, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let answer = match request.messages.last() {
            // The agent runs the call and sends the result in the next request.
            Some(question @ Message::User { .. }) => {
                let id = format!("call-{}", request.messages.len()); // unique in the conversation
                let call = ToolCall::new(id, "stock", json!({ "item": question.text() }));
                ModelResponse::with_tool_calls([call])
            }
            Some(result @ Message::Tool(_)) => ModelResponse::text(format!("In stock: {}.", result.text())),
            Some(Message::Assistant(_)) | None => {
                return Err(ModelError::new(ModelErrorKind::Rejected, "house: there is no question"));
            }
        };
        Ok(answer.into_stream())
    }
}

#[derive(serde::Deserialize, JsonSchema)]
struct Stock {
    /// The item to count.
    item: String,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let stock = function("stock", "Counts an item.", |Stock { item }, _| async move { item.len() });
    let agent = Agent::builder(Shopkeeper).tool(stock).build()?;
    for item in ["teapots", "cups"] {
        println!("{item}: {}", agent.prompt(item).await?);
    }
    Ok(())
}
