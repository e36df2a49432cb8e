//! A custom tool with arguments. `cargo run -p haft-example-embed --bin custom-tool`

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use haft_core::Agent;
use haft_core::protocol::content::ToolCall;
use haft_core::tool::{Tool, ToolContext, ToolFailureKind, ToolOutput, ToolSpec};
use haft_example_embed::scripted;
use serde_json::json;

/// The number of each item.
struct Stock(BTreeMap<&'static str, u32>);

#[derive(serde::Deserialize)]
struct Args {
    item: String,
}

#[async_trait]
impl Tool for Stock {
    /// Describes the tool for the model.
    fn spec(&self) -> Arc<ToolSpec> {
        let schema = json!({
            "type": "object",
            "properties": { "item": { "type": "string", "description": "The item to count." } },
            "required": ["item"],
        });
        Arc::new(ToolSpec::new("stock", "Count the remaining pieces of an item.").with_schema(schema.into()))
    }

    /// At this point the arguments fit the schema, and every hook has allowed the call.
    async fn execute(&self, context: ToolContext, call: ToolCall) -> ToolOutput {
        let item = match call.args.read() {
            Ok(Args { item }) => item,
            Err(error) => return ToolOutput::error(error.to_string()),
        };
        context.progress(format!("looking for {item}"));
        match self.0.get(item.as_str()) {
            Some(left) => ToolOutput::text(format!("{item}: {left} left")),
            // The model reads this and may try another name.
            None => ToolOutput::failed(ToolFailureKind::NotFound, format!("{item}: not sold here")),
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = scripted(
        r#"[{"say": [{"call": {"name": "stock", "args": {"item": "teapots"}}}]},
            {"say": [{"text": "I looked: {{last_tool_result}}."}]}]"#,
    )?;
    let stock = Stock(BTreeMap::from([("kettles", 3), ("teapots", 12)]));
    let agent = Agent::builder(model).tool(stock).build()?;
    println!("{}", agent.prompt("How many teapots are left?").answer().await?);
    Ok(())
}
