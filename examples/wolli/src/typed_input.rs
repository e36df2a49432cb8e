//! A tool and a gate that share the type of the arguments.

use haft_sdk::{Extension, GateDecision, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, Deserialize, JsonSchema)]
struct TicketArgs {
    action: TicketAction,
    number: u32,
}

#[derive(Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(rename_all = "snake_case")]
enum TicketAction {
    Show,
    Delete,
}

pub(crate) fn build() -> Extension {
    Extension::new("typed_input", "1.0.0")
        .tool("ticket", "Show or delete a ticket.", |args: TicketArgs, _host| async move {
            ToolResult::text(format!("ticket {}: {:?}", args.number, args.action))
        })
        .gate("ticket", |call, _host| async move {
            let ticket: TicketArgs = call.tool_args.read()?;
            Ok::<_, serde_json::Error>(match ticket.action {
                TicketAction::Delete => GateDecision::block(format!("ticket {} stays", ticket.number)),
                TicketAction::Show => GateDecision::allow(),
            })
        })
}
