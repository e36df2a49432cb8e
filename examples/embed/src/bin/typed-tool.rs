//! A tool with typed arguments. `cargo run -p haft-example-embed --bin typed-tool`

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use haft_core::prelude::*;
use haft_example_embed::scripted;

// begin
#[derive(serde::Deserialize, JsonSchema)]
struct StockArgs {
    /// The item to count. The model reads this description.
    item: String,
}
// end

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = scripted(
        r#"[{"say": [{"call": {"name": "stock", "args": {"item": "teapots"}}},
                     {"call": {"name": "stock", "args": {"item": "spoons"}}}]},
            {"say": [{"text": "I looked: {{last_tool_result}}."}]}]"#,
    )?;

    // begin
    let stock = function("stock", "Counts an item.", |StockArgs { item }, _| async { count(item) });
    // end

    let agent = Agent::builder(model).tool(stock).build()?;
    println!("{}", agent.prompt("How many teapots and spoons are left?").await?);
    Ok(())
}

/// Returns the number of pieces, or an error, which the model reads, too.
fn count(item: String) -> Result<String, String> {
    match item.as_str() {
        "kettles" => Ok("3 left".to_owned()),
        "teapots" => Ok("12 left".to_owned()),
        _ => Err(format!("{item}: not sold here")),
    }
}
