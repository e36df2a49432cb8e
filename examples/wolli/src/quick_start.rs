//! A note at the start, a gate that asks the person, a tool and a command.

use std::error::Error;

use haft_sdk::{Extension, GateDecision, NoteLevel, Response, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize)]
struct ShellCommand {
    command: String,
}

#[derive(Deserialize, JsonSchema)]
struct Greeted {
    /// The name to greet.
    name: String,
}

pub(crate) fn build() -> Extension {
    Extension::new("quick_start", "1.0.0")
        .wait_session_start(|_, host| async move { host.notify(NoteLevel::Info, "Extension loaded!") })
        .gate("bash", |call, host| async move {
            let ShellCommand { command } = call.tool_args.read()?;
            if command.contains("rm -rf") && !host.ui().confirm("Dangerous!", "Allow rm -rf?").await? {
                return Ok(GateDecision::block("Blocked by user"));
            }
            Ok::<_, Box<dyn Error + Send + Sync>>(GateDecision::allow())
        })
        .tool("greet", "Greet someone by name.", |args: Greeted, _host| async move {
            ToolResult::text(format!("Hello, {}!", args.name))
        })
        .command("hello", "Say hello.", |args, _host| async move {
            let name = if args.is_empty() { "world" } else { &args };
            Response::display(format!("Hello {name}!"))
        })
}
