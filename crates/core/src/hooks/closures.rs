//! Hooks from closures: an observer and an approver.

use async_trait::async_trait;
use haft_protocol::content::ToolCall;
use haft_protocol::event::AgentEvent;
use tokio_util::sync::CancellationToken;

use super::{ApproveTool, ApproverDecision, Observer};

/// An observer from a closure; see [`AgentBuilder::observe`](crate::AgentBuilder::observe).
pub(crate) struct ObserverFn<F>(pub(crate) F);

impl<F: Fn(&AgentEvent) + Send + Sync> Observer for ObserverFn<F> {
    fn observe(&self, event: &AgentEvent) {
        (self.0)(event);
    }
}

/// An approver from a closure; see [`AgentBuilder::approve`](crate::AgentBuilder::approve).
pub(crate) struct ApproverFn<F>(pub(crate) F);

#[async_trait]
impl<F, Answer> ApproveTool for ApproverFn<F>
where
    F: Fn(CancellationToken, ToolCall) -> Answer + Send + Sync,
    Answer: Future<Output: Into<ApproverDecision>> + Send,
{
    async fn approve_tool(&self, cancel: &CancellationToken, call: &ToolCall) -> ApproverDecision {
        (self.0)(cancel.clone(), call.clone()).await.into()
    }

    fn name(&self) -> &str {
        "the user"
    }
}

impl From<bool> for ApproverDecision {
    /// Approves the call for `true`.
    fn from(approved: bool) -> Self {
        match approved {
            true => Self::Approve,
            false => deny("not allowed"),
        }
    }
}

impl From<Option<bool>> for ApproverDecision {
    /// Denies the call if there is no answer.
    fn from(answer: Option<bool>) -> Self {
        answer.unwrap_or_default().into()
    }
}

/// Approves a call, in a closure for [`AgentBuilder::approve`](crate::AgentBuilder::approve).
pub fn allow() -> ApproverDecision {
    ApproverDecision::Approve
}

/// Denies a call, in a closure for [`AgentBuilder::approve`](crate::AgentBuilder::approve). The model reads the reason.
pub fn deny(reason: impl Into<String>) -> ApproverDecision {
    ApproverDecision::Deny { reason: reason.into() }
}
