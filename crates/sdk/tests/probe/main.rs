//! An extension for the process tests: every handler blocks its thread on purpose.

use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;

use haft_sdk::{
    Extension, Host, NoArgs, NoteLevel, Response, ToolCallDecision, ToolResult, TurnStartDecision,
};

/// Longer than the test: a test that waits for such a handler fails.
const FOR_EVER: Duration = Duration::from_secs(3600);

/// The shortest real sleep.
const TICK: Duration = Duration::from_millis(1);

fn main() -> ExitCode {
    Extension::new("probe", "1.0.0")
        .command("where", "data directory", |_, host| async move {
            Response::display(host.data_dir().await.display().to_string())
        })
        .command("panic", "panics", |_, _| async { panic_now() })
        .tool("block", "Blocks its thread.", |_: NoArgs, _| async {
            // sleep: what waits for it fails the test
            sleep(FOR_EVER);
            ToolResult::text("done")
        })
        .tool("large", "A large result.", |_: NoArgs, _| async {
            ToolResult::text("x".repeat(7 * 1024 * 1024))
        })
        .on_event("turn_start", |_, _| async { sleep(FOR_EVER) }) // sleep: what waits for it fails the test
        .intercept_tool_call(|call, host: Host| async move {
            match call.tool_name.as_str() {
                // Each needs the runtime at its first poll.
                "timer" => tokio::time::sleep(TICK).await, // sleep: the shortest that is one
                "task" => drop(tokio::spawn(async {}).await),
                "thread" => drop(tokio::task::spawn_blocking(|| sleep(TICK)).await), // sleep: the shortest that is one
                "left" => drop(tokio::spawn(async move { host.notify(NoteLevel::Info, "left") })),
                "behind" => drop(tokio::task::spawn_blocking(move || {
                    // sleep: the end of the input comes before it is over, or behind it; each is right
                    sleep(TICK * 100);
                    host.notify(NoteLevel::Info, "behind");
                })),
                "in place" => tokio::task::block_in_place(|| sleep(TICK)), // sleep: the shortest that is one
                "in place later" => {
                    tokio::time::sleep(TICK).await; // sleep: the shortest that is one
                    tokio::task::block_in_place(|| sleep(TICK)); // sleep: the shortest that is one
                }
                _ => {}
            }
            ToolCallDecision::block(call.tool_name)
        })
        .intercept_turn_start(|_, _| async {
            sleep_in_a_runtime();
            TurnStartDecision::allow()
        })
        .run()
}

/// Triggers the case that tokio rejects, because it would deadlock.
fn sleep_in_a_runtime() {
    tokio::runtime::Handle::current().block_on(tokio::time::sleep(TICK)); // sleep: the shortest that is one
}

fn panic_now() -> Response {
    panic!("on purpose")
}
