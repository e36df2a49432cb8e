//! Calls of tools: changed, blocked and observed.

use haft_sdk::{Extension, LifecycleEvent, ToolCallDecision};
use serde_json::Value;

pub(crate) fn build() -> Extension {
    Extension::new("tool_call", "1.0.0")
        .rewrite("bash", |call, _host| async move {
            let mut args: Value = call.tool_args.read()?;
            let command = args["command"].as_str().unwrap_or_default();
            if command.contains("rm -rf") {
                return Ok(ToolCallDecision::block("Dangerous command"));
            }
            args["command"] = format!(". ./profile\n{command}").into();
            Ok::<_, serde_json::Error>(ToolCallDecision::rewrite(args))
        })
        .on_tool_call("read", |call: LifecycleEvent, host| async move {
            let args: Value = call.tool_args.unwrap_or_default().read()?;
            host.log(format_args!("Reading: {}", args["path"]));
            Ok::<_, serde_json::Error>(())
        })
}
