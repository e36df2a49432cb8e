//! The hook that approves a tool.

use async_trait::async_trait;
use haft_adapter_picoclaw::translate::{CHANNEL, CHAT, shorten_reason};
use haft_adapter_picoclaw::wire::{ApprovalDecision, ApproveTool as Question, InterceptPoint, texts};
use haft_core::hooks::{AfterBlock, ApproveTool, ApproverDecision, PendingCall};
use haft_protocol::content::ToolCall;
use haft_protocol::ids::ExtensionName;
use tokio_util::sync::CancellationToken;

use super::adapter::{ProcessHookAdapter, UnansweredQuery};
use crate::agent::policy::{self, FailureEffect};
use crate::wire::fault::CallError;

const POINT: InterceptPoint = InterceptPoint::ApproveTool;

#[async_trait]
impl ApproveTool for ProcessHookAdapter {
    async fn approve_tool(&self, cancel: &CancellationToken, call: &ToolCall) -> ApproverDecision {
        self.approve_call(cancel, &PendingCall::new(call)).await
    }

    async fn approve_call(&self, cancel: &CancellationToken, pending: &PendingCall<'_>) -> ApproverDecision {
        let question = Question {
            meta: self.turns.turn_meta(Question::TRACE_PATH),
            context: self.turns.context(),
            tool: pending.call.name.clone(),
            arguments: pending.call.args.clone(),
            channel: CHANNEL.to_owned(),
            chat_id: CHAT.to_owned(),
            resolved_paths: pending.resolved_paths.to_vec(),
        };
        let reason = match self.query(cancel, POINT, question).await {
            Ok(ApprovalDecision::Approve) | Err(UnansweredQuery { verdict: FailureEffect::Pass, .. }) => {
                return ApproverDecision::Approve;
            }
            Ok(ApprovalDecision::Deny { reason }) => shorten_reason(&reason),
            Err(UnansweredQuery { verdict: FailureEffect::Block, error }) => {
                policy::failure_detail(&error).inspect(|detail| self.record_failure(POINT, detail));
                denial_reason(self.entry.name(), &error)
            }
        };
        ApproverDecision::Deny { by: self.hook_name(), reason: texts::denied_by_approval(&reason) }
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

/// Returns the reason of a denial after a failure, in PicoClaw's words.
fn denial_reason(name: &ExtensionName, error: &CallError) -> String {
    match error {
        CallError::TimedOut { .. } => texts::approval_timed_out(name.as_str()),
        CallError::Cancelled => policy::reason(name, error),
        CallError::BadResponse { .. } | CallError::Gone { .. } | CallError::NotSent { .. } => {
            texts::approval_failed(name.as_str())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn denial_uses_picoclaws_words() {
        let name = ExtensionName::new("gate");
        let late = CallError::TimedOut { after: Duration::from_secs(60) };
        let gone = CallError::Gone { why: "exited with status 1".into() };
        assert_eq!(denial_reason(&name, &late), r#"tool approval hook "gate" timed out"#);
        assert_eq!(denial_reason(&name, &gone), r#"tool approval hook "gate" failed"#);
        assert_eq!(denial_reason(&name, &CallError::Cancelled), "the run was cancelled");
    }
}
