//! Example hook `policy`, for haft and PicoClaw: denies dangerous shell commands, offers the model
//! a tool that explains the rules, and removes secrets from the results of tools.
//!
//! It prevents accidents, not attacks: every rule can be circumvented. Use a sandbox for strict
//! limits.

use haft_adapter_picoclaw::author::{ApprovalDecision, Hook, HookToolResult, RawJson, ResultDecision};
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
            // An unchanged result produces an empty reply.
            ResultDecision::modify(call.result)
        })
}

async fn explain(Shell { command }: Shell) -> HookToolResult {
    HookToolResult::text(match broken_by(&command) {
        Some(rule) => rule.refusal(),
        None => "not refused".to_owned(),
    })
}

/// Approves or denies the final form of a call. Both hosts treat a failure as a denial, so strict
/// rules belong here.
fn approve(tool: &str, arguments: &RawJson) -> ApprovalDecision {
    // The names of the shell in haft and in PicoClaw.
    if !matches!(tool, "bash" | "exec") {
        return ApprovalDecision::Approve;
    }
    // A policy that cannot read the call must not approve it.
    let Ok(Shell { command }) = arguments.read() else {
        return ApprovalDecision::deny("a shell command is a string");
    };
    match broken_by(&command) {
        Some(rule) => ApprovalDecision::deny(rule.refusal()),
        None => ApprovalDecision::Approve,
    }
}
