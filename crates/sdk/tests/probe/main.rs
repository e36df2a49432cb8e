//! An extension for the process tests: every handler blocks its thread on purpose.

use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;

use haft_sdk::{Extension, NoArgs, Response, ToolCallDecision, ToolResult};

/// Longer than the test lasts: what waits for such a handler fails the test.
const FOR_EVER: Duration = Duration::from_secs(3600);

fn main() -> ExitCode {
    Extension::new("probe", "1.0.0")
        .command("where", "data directory", |_, host| async move {
            Response::display(host.data_dir().await.display().to_string())
        })
        .command("panic", "panics", |_, _| async { panic_now() })
        .tool("block", "Blocks its thread.", |_: NoArgs, _| async {
            sleep(FOR_EVER);
            ToolResult::text("done")
        })
        .tool("large", "A large result.", |_: NoArgs, _| async {
            ToolResult::text("x".repeat(7 * 1024 * 1024))
        })
        .on("turn_start", |_, _| async { sleep(FOR_EVER) })
        .intercept_tool_call(|call, _| async move { ToolCallDecision::block(call.tool_name) })
        .run()
}

fn panic_now() -> Response {
    panic!("on purpose")
}
