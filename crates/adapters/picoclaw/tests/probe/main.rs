//! A hook for the process tests: handlers wait, block and panic on purpose.

use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;

use haft_adapter_picoclaw::author::{ApprovalDecision, Hook, HookToolResult, ToolDecision, log};
use tokio::sync::Notify;

/// The arguments of a tool without arguments.
#[derive(serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct NoArgs {}

/// Longer than the test: a test that waits for such a handler fails.
const FOR_EVER: Duration = Duration::from_secs(3600);

/// The shortest real sleep.
const TICK: Duration = Duration::from_millis(1);

/// Tells a waiting handler to answer.
static RELEASED: Notify = Notify::const_new();

fn main() -> ExitCode {
    Hook::new()
        .tool("block", "Blocks its thread.", |_: NoArgs| async {
            // sleep: what waits for it fails the test
            sleep(FOR_EVER);
            HookToolResult::text("done")
        })
        .before_tool(|call| async move {
            match call.tool.as_str() {
                "panic" => panic!("on purpose"),
                "slow" => RELEASED.notified().await,
                "release" => RELEASED.notify_one(),
                // sleep: as short as one can be that is one
                "patient" => tokio::time::sleep(TICK).await,
                // sleep: what waits for it fails the test
                "for ever" => tokio::time::sleep(FOR_EVER).await,
                _ => {}
            }
            ToolDecision::deny(call.tool)
        })
        .approve_tool(|call| async move {
            if call.tool == "block" {
                // sleep: what waits for it fails the test
                sleep(FOR_EVER);
            }
            ApprovalDecision::Approve
        })
        .on_event(|event| async move {
            let turn = event.meta.turn_id;
            log!("told {} of {turn}: {:?}", event.name, event.payload);
        })
        .run()
}
