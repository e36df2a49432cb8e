//! The same program as a process hook, whose handlers wait, block and panic on purpose.

use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;

use haft_sdk::hook::{ApprovalDecision, Hook, ToolDecision, ToolResult};
use haft_sdk::{NoArgs, log};

use crate::{FOR_EVER, TICK};

pub(crate) fn run() -> ExitCode {
    Hook::new()
        .tool("block", "Blocks its thread.", |_: NoArgs| async {
            sleep(FOR_EVER);
            ToolResult::text("done")
        })
        .before_tool(|call| async move {
            match call.tool.as_str() {
                "panic" => panic!("on purpose"),
                "slow" => tokio::time::sleep(TICK * 200).await,
                "patient" => tokio::time::sleep(Duration::from_millis(300)).await,
                "for ever" => tokio::time::sleep(FOR_EVER).await,
                _ => {}
            }
            ToolDecision::deny(call.tool)
        })
        .approve_tool(|call| async move {
            if call.tool == "block" {
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
