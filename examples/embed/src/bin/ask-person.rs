//! Asks a person about each tool call. `cargo run -p haft-example-embed --bin ask-person`

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use haft_core::prelude::*;
use haft_example_embed::scripted;
use tokio::sync::{mpsc, oneshot};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = scripted(
        r#"[{"say": [{"call": {"name": "order", "args": {"item": "teapots"}}},
                     {"call": {"name": "order", "args": {"item": "elephants"}}}]},
            {"say": [{"text": "The last answer was: {{last_tool_result}}"}]}]"#,
    )?;
    let (questions, dialog) = mpsc::channel(8);
    tokio::spawn(show_questions(dialog));

    // begin
    let builder = Agent::builder(model).approve(move |_, call| {
        let questions = questions.clone();
        async move {
            let (answer, answered) = oneshot::channel();
            questions.send((call, answer)).await.ok()?;
            answered.await.ok() // without an answer, the call is denied
        }
    });
    // end

    let order =
        function("order", "Orders an item.", |Order { item }, _| async move { format!("ordered {item}") });
    let agent = builder.tool(order).build()?;
    println!("{}", agent.prompt("Order teapots and elephants.").await?);
    Ok(())
}

#[derive(serde::Deserialize, JsonSchema)]
struct Order {
    item: String,
}

/// The person, who wants no elephants. A program with a screen shows a dialog here.
async fn show_questions(mut dialog: mpsc::Receiver<(ToolCall, oneshot::Sender<bool>)>) {
    while let Some((call, answer)) = dialog.recv().await {
        let allowed = !call.args.as_str().contains("elephants");
        println!("{} {}? {}", call.name, call.args, if allowed { "yes" } else { "no" });
        answer.send(allowed).ok(); // the run may have ended meanwhile
    }
}
