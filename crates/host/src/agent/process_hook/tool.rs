//! The hooks before and after a tool runs.

use std::time::Duration;

use async_trait::async_trait;
use haft_adapter_picoclaw::translate::{CHANNEL, CHAT, find_oversized, shorten_reason};
use haft_adapter_picoclaw::wire::{
    AfterTool, BeforeTool, InterceptPoint, ResultDecision as After, ToolDecision as Decision, texts,
};
use haft_core::hooks::{
    AfterBlock, AfterToolExecute, BeforeToolExecute, FinishedCall, HookRole, PendingCall, ResultDecision,
    ToolDecision,
};
use haft_core::tool::ToolOutput;
use haft_protocol::content::ToolCall;
use haft_protocol::ids::ExtensionName;
use tokio_util::sync::CancellationToken;

use super::adapter::{ProcessHookAdapter, UnansweredQuery};
use super::output;
use crate::agent::policy::{self, FailureEffect};

const BEFORE: InterceptPoint = InterceptPoint::BeforeTool;
const AFTER: InterceptPoint = InterceptPoint::AfterTool;

#[async_trait]
impl BeforeToolExecute for ProcessHookAdapter {
    async fn before_tool_execute(&self, cancel: &CancellationToken, call: &ToolCall) -> ToolDecision {
        self.decide_call(cancel, &PendingCall::new(call)).await
    }

    async fn decide_call(&self, cancel: &CancellationToken, pending: &PendingCall<'_>) -> ToolDecision {
        let call = pending.call;
        let question = BeforeTool {
            meta: self.turns.turn_meta(BeforeTool::TRACE_PATH),
            context: self.turns.context(),
            tool: call.name.clone(),
            arguments: call.args.clone(),
            hook_result: None,
            channel: CHANNEL.to_owned(),
            chat_id: CHAT.to_owned(),
            resolved_paths: pending.resolved_paths.to_vec(),
        };
        // An answer beyond the limit counts as no answer.
        let answer = self.query(cancel, BEFORE, question).await.and_then(|decision| {
            match find_oversized(&decision, call.args.as_str().len()) {
                None => Ok(decision),
                Some(detail) => Err(self.reject_answer(BEFORE, detail)),
            }
        });
        match answer {
            Ok(decision) => convert_decision(self, decision, call).await,
            Err(UnansweredQuery { verdict: FailureEffect::Pass, .. }) => ToolDecision::Allow,
            Err(UnansweredQuery { verdict: FailureEffect::Block, error }) => {
                let reason = shorten_reason(&policy::reason(self.entry.name(), &error));
                policy::failure_detail(&error).inspect(|detail| self.record_failure(BEFORE, detail));
                ToolDecision::block(self.hook_name(), texts::denied_by_hook(&reason))
            }
        }
    }

    fn belongs_to(&self, extension: &ExtensionName) -> bool {
        self.entry.name() == extension
    }

    fn name(&self) -> &str {
        self.entry.name().as_str()
    }

    fn role(&self, _: &str) -> Option<HookRole> {
        Some(HookRole::Ordered)
    }

    fn decision_time(&self) -> Option<Duration> {
        Some(self.hook.timeout_for(BEFORE))
    }

    fn handles_unknown_tools(&self) -> bool {
        true
    }

    fn bypasses_approval(&self, tool: &str) -> bool {
        self.hook.vouches_for(tool)
    }

    fn rewrite_refused(&self, call: &ToolCall, detail: &str) {
        let detail = format!("the \"call\" cannot replace the call of {}: {detail}", call.name);
        self.report_fault(BEFORE, &detail);
        self.record_failure(BEFORE, &detail);
    }

    async fn after_block(&self, cancel: &CancellationToken, _: &ToolCall) -> AfterBlock {
        self.context.after_block(cancel, &self.entry).await
    }
}

#[async_trait]
impl AfterToolExecute for ProcessHookAdapter {
    async fn after_tool_execute(
        &self,
        cancel: &CancellationToken,
        FinishedCall { call, took }: &FinishedCall,
        output: ToolOutput,
    ) -> ResultDecision {
        let question = AfterTool {
            meta: self.turns.turn_meta(AfterTool::TRACE_PATH),
            context: self.turns.context(),
            tool: call.name.clone(),
            arguments: call.args.clone(),
            result: output::to_hook_result(&output),
            duration: u64::try_from(took.as_nanos()).unwrap_or(u64::MAX),
            channel: CHANNEL.to_owned(),
            chat_id: CHAT.to_owned(),
        };
        match self.query(cancel, AFTER, question).await {
            Ok(After::Continue) | Err(_) => ResultDecision::Show(output),
            Ok(After::Modify(result)) => ResultDecision::Show(
                output::read_result(self, AFTER, &call.name, &result, Some(&output)).await,
            ),
            Ok(After::AbortTurn { reason }) => ResultDecision::Refuse(self.refuse_turn(&reason)),
            Ok(After::HardAbort { reason }) => ResultDecision::Refuse(self.discard_turn(&reason)),
        }
    }

    fn name(&self) -> &str {
        self.entry.name().as_str()
    }
}

async fn convert_decision(hook: &ProcessHookAdapter, decision: Decision, call: &ToolCall) -> ToolDecision {
    let by = hook.hook_name();
    match decision {
        Decision::Continue => ToolDecision::Allow,
        Decision::Modify { tool, arguments } => {
            ToolDecision::Rewrite { by, tool, args: arguments.unwrap_or_else(|| call.args.clone()) }
        }
        Decision::Respond(result) => {
            let output = output::read_result(hook, BEFORE, &call.name, &result, None).await;
            ToolDecision::Respond { by, output }
        }
        Decision::Deny { reason } => ToolDecision::block(by, denial_text(&reason)),
        Decision::AbortTurn { reason } => ToolDecision::Refuse(hook.refuse_turn(&reason)),
        Decision::HardAbort { reason } => ToolDecision::Refuse(hook.discard_turn(&reason)),
    }
}

/// Returns the text for the model about a call that a hook denied.
fn denial_text(reason: &str) -> String {
    texts::denied_by_hook(&shorten_reason(reason))
}
