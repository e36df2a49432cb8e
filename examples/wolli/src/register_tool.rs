//! A tool with all its properties: texts, progress, details and errors.

use haft_sdk::{Extension, Host, ToolBuilder, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize, JsonSchema)]
struct TodoCall {
    action: TodoAction,
    #[serde(default)]
    text: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum TodoAction {
    List,
    Add,
}

pub(crate) fn build() -> Extension {
    let tool = ToolBuilder::new("my_tool", "List or add todos.", |call: TodoCall, host: Host| async move {
        host.show_progress("Working...");
        match (call.action, call.text) {
            (TodoAction::List, _) => ToolResult::text("nothing to do").with_details(json!({"count": 0})),
            (TodoAction::Add, Some(text)) => ToolResult::text(text).with_details(json!({"count": 1})),
            (TodoAction::Add, None) => ToolResult::error("Invalid input: add needs a text"),
        }
    });
    let tool = tool
        .with_label("My Tool")
        .with_snippet("List or add items in the todo list")
        .with_guideline("Use my_tool for plans instead of edits of files.");
    Extension::new("register_tool", "1.0.0").add_tool(tool)
}
