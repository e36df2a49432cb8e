//! The hook that approves a tool call for one extension.

use std::sync::Arc;

use async_trait::async_trait;
use haft_core::hooks::{AfterBlock, ApproveTool, ApproverDecision, PendingCall};
use haft_protocol::content::ToolCall;
use haft_protocol::ext::{ApproveDecision, InterceptApprove};
use haft_protocol::ids::ExtensionName;
use tokio_util::sync::CancellationToken;

use super::reason_or_default;
use crate::agent::gates::DecisionSubject;
use crate::agent::hook_context::HookContext;
use crate::agent::managed_extension::{InterceptFailure, ManagedExtension};
use crate::agent::policy::FailureEffect;

/// One extension's part in the approval of each tool call.
pub(crate) struct ApproveHook {
    entry: Arc<ManagedExtension>,
    context: Arc<HookContext>,
}

impl ApproveHook {
    pub(crate) fn new(entry: Arc<ManagedExtension>, context: Arc<HookContext>) -> Self {
        Self { entry, context }
    }

    /// Counts the decision for the question whether to continue without an extension that keeps failing.
    fn count_decision(&self, outcome: &Result<ApproveDecision, InterceptFailure>) {
        let (name, gates) = (self.entry.name(), &self.context.gates);
        match outcome {
            Ok(_) => gates.record_answer(name, DecisionSubject::Approval),
            Err(InterceptFailure { verdict: FailureEffect::Block, detail: Some(detail), .. }) => {
                gates.record_failure(name, DecisionSubject::Approval, detail);
            }
            // The call passed because the user allows it, or the run was cancelled.
            Err(_) => {}
        }
    }
}

#[async_trait]
impl ApproveTool for ApproveHook {
    async fn approve_tool(&self, cancel: &CancellationToken, call: &ToolCall) -> ApproverDecision {
        self.approve_call(cancel, &PendingCall::new(call)).await
    }

    async fn approve_call(&self, cancel: &CancellationToken, pending: &PendingCall<'_>) -> ApproverDecision {
        let PendingCall { call, resolved_paths, caller, clock, .. } = pending;
        let question = InterceptApprove {
            tool_id: call.id.clone(),
            tool_name: call.name.clone(),
            tool_args: call.args.clone(),
            caller: caller.cloned(),
            resolved_paths: resolved_paths.to_vec(),
        };
        let outcome = self.entry.query_with_clock(cancel, question, *clock).await;
        self.count_decision(&outcome);
        let reason = match outcome {
            Ok(ApproveDecision::Approve) | Err(InterceptFailure { verdict: FailureEffect::Pass, .. }) => {
                return ApproverDecision::Approve;
            }
            Ok(ApproveDecision::Block { reason }) => {
                reason_or_default(reason, || format!("tool call denied by extension {}", self.entry.name()))
            }
            Err(InterceptFailure { verdict: FailureEffect::Block, reason, .. }) => reason,
        };
        ApproverDecision::Deny { reason }
    }

    fn belongs_to(&self, extension: &ExtensionName) -> bool {
        self.entry.name() == extension
    }

    fn name(&self) -> &str {
        self.entry.name().as_str()
    }

    async fn after_denial(&self, cancel: &CancellationToken, _: &ToolCall) -> AfterBlock {
        self.context.after_block(cancel, &self.entry).await
    }
}
