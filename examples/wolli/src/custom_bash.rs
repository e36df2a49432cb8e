//! A replacement of the built-in tool `bash`, which sets a variable for each command.

use haft_sdk::{Extension, Host, HostError, ToolBuilder, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct ShellLine {
    command: String,
}

pub(crate) fn build() -> Extension {
    let bash = ToolBuilder::new("bash", "Run a command for CI.", |args: ShellLine, host: Host| async move {
        let done = host.exec(format!("export CI=1\n{}", args.command)).await?;
        Ok::<_, HostError>(ToolResult::text(format!("{}(exit code {})", done.output, done.exit_code)))
    });
    Extension::new("custom_bash", "1.0.0").add_tool(bash.replace_built_in())
}
