//! A tool that ends the run with its result.

use haft_sdk::{Extension, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize, JsonSchema)]
struct FinalAnswer {
    answer: String,
}

pub(crate) fn build() -> Extension {
    Extension::new("final_answer", "1.0.0").tool(
        "finish",
        "Give the final answer.",
        |args: FinalAnswer, _host| async move {
            ToolResult::text("Done").with_details(json!({"answer": args.answer})).ending_run()
        },
    )
}
