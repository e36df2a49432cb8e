//! State in the details of tool results, rebuilt from the branch at the start.

use std::sync::{Arc, Mutex, PoisonError};

use haft_sdk::{Extension, Host, MirrorPart, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
struct NewTodo {
    text: String,
}

/// Returns the todos of the last result on the branch.
fn restore_todos(host: &Host) -> Vec<String> {
    let branch = host.session_mirror().current_branch();
    let lines = branch.iter().rev().filter_map(|entry| entry.line.read::<Value>().ok());
    let mut results = lines.filter(|line| line["message"]["name"] == "todo_add");
    let todos = results.next().map(|line| line["message"]["details"]["todos"].clone());
    todos.and_then(|todos| serde_json::from_value(todos).ok()).unwrap_or_default()
}

pub(crate) fn build() -> Extension {
    let todos = Arc::new(Mutex::new(Vec::new()));
    let restored = todos.clone();
    Extension::new("tool_state", "1.0.0")
        .mirror_session([MirrorPart::Entries])
        .wait_session_start(move |_, host: Host| {
            *restored.lock().unwrap_or_else(PoisonError::into_inner) = restore_todos(&host);
            async {}
        })
        .tool("todo_add", "Append an item to the todo list.", move |args: NewTodo, _host| {
            let mut todos = todos.lock().unwrap_or_else(PoisonError::into_inner);
            todos.push(args.text.clone());
            let result = ToolResult::text(format!("Added: {}", args.text));
            let result = result.with_details(json!({"todos": &*todos}));
            async { result }
        })
}
