//! The hook before a tool runs.

use std::time::Duration;

use async_trait::async_trait;
use haft_core::hooks::{AfterBlock, BeforeToolExecute, HookRole, Refusal, ToolDecision};
use haft_protocol::content::ToolCall;
use haft_protocol::hook::{BeforeTool, InterceptPoint, ToolDecision as Decision, texts};
use haft_protocol::ids::ExtensionName;
use tokio_util::sync::CancellationToken;

use super::part::{HookPart, Unanswered};
use super::{CHANNEL, CHAT};
use super::{bounds, output};
use crate::agent::policy::{self, Verdict};

const POINT: InterceptPoint = InterceptPoint::BeforeTool;

#[async_trait]
impl BeforeToolExecute for HookPart {
    async fn before_tool_execute(&self, cancel: &CancellationToken, call: &ToolCall) -> ToolDecision {
        let question = BeforeTool {
            meta: self.turns.meta(BeforeTool::TRACE_PATH),
            context: self.turns.context(),
            tool: call.name.clone(),
            arguments: call.args.clone(),
            hook_result: None,
            channel: CHANNEL.to_owned(),
            chat_id: CHAT.to_owned(),
        };
        // An answer that is too long to be taken is no answer.
        let answer = self.query(cancel, POINT, question).await.and_then(|decision| {
            match bounds::too_long(&decision, call.args.as_str().len()) {
                None => Ok(decision),
                Some(detail) => Err(self.rejected(POINT, detail)),
            }
        });
        match answer {
            Ok(decision) => decided(self, decision, call).await,
            Err(Unanswered { verdict: Verdict::Pass, .. }) => ToolDecision::Allow,
            Err(Unanswered { verdict: Verdict::Block, error }) => {
                let reason = bounds::reason(&policy::reason(self.entry.name(), &error));
                policy::blamed(&error).inspect(|detail| self.failed(POINT, detail));
                ToolDecision::block(self.by(), texts::denied_by_hook(&reason))
            }
        }
    }

    fn is_of(&self, extension: &ExtensionName) -> bool {
        self.entry.name() == extension
    }

    fn name(&self) -> &str {
        self.entry.name().as_str()
    }

    fn role(&self, _: &str) -> Option<HookRole> {
        Some(HookRole::Ordered)
    }

    fn patience(&self) -> Option<Duration> {
        Some(self.hook.time_for(POINT))
    }

    fn takes_unknown(&self) -> bool {
        true
    }

    fn vouches(&self, tool: &str) -> bool {
        self.hook.vouches_for(tool)
    }

    fn rewrite_refused(&self, call: &ToolCall, detail: &str) {
        let detail = format!("its \"call\" cannot be made instead of {}: {detail}", call.name);
        self.fault(POINT, &detail);
        self.failed(POINT, &detail);
    }

    async fn blocked(&self, cancel: &CancellationToken, _: &ToolCall) -> AfterBlock {
        self.context.after_block(cancel, &self.entry).await
    }
}

/// The decision in core's terms.
async fn decided(hook: &HookPart, decision: Decision, call: &ToolCall) -> ToolDecision {
    let by = hook.by();
    match decision {
        Decision::Continue => ToolDecision::Allow,
        Decision::Modify { tool, arguments } => {
            ToolDecision::Rewrite { by, tool, args: arguments.unwrap_or_else(|| call.args.clone()) }
        }
        Decision::Respond(result) => {
            let output = output::read(hook, POINT, &call.name, &result, None).await;
            ToolDecision::Respond { by, output }
        }
        Decision::Deny { reason } => ToolDecision::block(by, denied(&reason)),
        Decision::AbortTurn { reason } => ToolDecision::Refuse(Refusal::of_turn(by, aborted(&reason))),
        Decision::HardAbort { reason } => ToolDecision::Refuse(Refusal::discarding(by, aborted(&reason))),
    }
}

/// What the model is told of a call that a hook denied.
fn denied(reason: &str) -> String {
    texts::denied_by_hook(&bounds::reason(reason))
}

/// What the user is told of a turn that a hook ended.
pub(super) fn aborted(reason: &str) -> String {
    match reason.trim() {
        "" => texts::TURN_ABORTED.to_owned(),
        reason => bounds::reason(reason),
    }
}
