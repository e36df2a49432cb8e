//! The same program as a process hook, whose handlers wait, block and panic on purpose.

use std::process::ExitCode;
use std::thread::sleep;

use haft_sdk::hook::{ApprovalDecision, Hook, HookToolResult, ToolDecision};
use haft_sdk::{NoArgs, log};
use tokio::sync::Notify;

use crate::{FOR_EVER, TICK};

/// Tells a waiting handler to answer.
static RELEASED: Notify = Notify::const_new();

pub(crate) fn run() -> ExitCode {
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
