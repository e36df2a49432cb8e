//! Slow work in a hook, which stops when the person stops the run.

use haft_sdk::{Extension, Host, InterceptToolResult, NoteLevel, ToolResultDecision};

pub(crate) fn build() -> Extension {
    Extension::new("abort_signal", "1.0.0").intercept_tool_result(
        |_: InterceptToolResult, host: Host| async move {
            host.notify(NoteLevel::Info, "summarizing");
            tokio::select! {
                summary = summarize() => ToolResultDecision::replace(summary),
                () = host.wait_until_cancelled() => {
                    host.notify(NoteLevel::Warn, "stopped");
                    ToolResultDecision::Unchanged
                }
            }
        },
    )
}

/// Stands for a request to a slow service.
async fn summarize() -> String {
    std::future::pending().await
}
