//! Example hook `policy`: refuses dangerous shell commands, offers the model a tool that explains what is refused, and takes
//! secrets out of what tools come to. For haft and PicoClaw.
//!
//! It stops accidents, not attackers: a rule can always be written around. What must not happen needs a sandbox.

use haft_sdk::RawJson;
use haft_sdk::hook::{ApprovalDecision, Hook, HookToolResult, ResultDecision};
use serde::Deserialize;

mod rules;
mod secrets;

pub use rules::{Rule, broken_by};
pub use secrets::redacted;

/// The arguments of the shell and of the tool that explains.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
struct Shell {
    /// A shell command.
    command: String,
}

/// The hook: an approver, a tool, and a filter of results.
pub fn hook() -> Hook {
    Hook::new()
        .tool(
            "explain_policy",
            "Says whether a shell command is refused here, and what to do instead.",
            explain,
        )
        .approve_tool(|call| async move { approve(&call.tool, &call.arguments) })
        .after_tool(|mut call| async move {
            call.result.for_llm = redacted(&call.result.for_llm);
            call.result.for_user = redacted(&call.result.for_user);
            // A result in which nothing was found is as it was, and the SDK says just that.
            ResultDecision::modify(call.result)
        })
}

async fn explain(Shell { command }: Shell) -> HookToolResult {
    HookToolResult::text(match broken_by(&command) {
        Some(rule) => rule.refusal(),
        None => "not refused".to_owned(),
    })
}

/// Asked last, about the call as it will run, and a failure is a no on either host: the place for what must hold.
fn approve(tool: &str, arguments: &RawJson) -> ApprovalDecision {
    // haft's name of the shell, and PicoClaw's.
    if !matches!(tool, "bash" | "exec") {
        return ApprovalDecision::Approve;
    }
    // A policy that cannot read the question does not say yes.
    let Ok(Shell { command }) = arguments.read() else {
        return ApprovalDecision::deny("a shell command is a string");
    };
    match broken_by(&command) {
        Some(rule) => ApprovalDecision::deny(rule.refusal()),
        None => ApprovalDecision::Approve,
    }
}
