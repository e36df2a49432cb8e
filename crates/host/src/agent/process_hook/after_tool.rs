//! The hook after a tool has run.

use async_trait::async_trait;
use haft_core::hooks::{AfterToolExecute, FinishedCall, Refusal, ResultDecision};
use haft_core::tool::ToolOutput;
use haft_protocol::hook::{AfterTool, InterceptPoint, ResultDecision as Decision};
use tokio_util::sync::CancellationToken;

use super::before_tool::aborted;
use super::output;
use super::part::HookPart;
use super::{CHANNEL, CHAT};

const POINT: InterceptPoint = InterceptPoint::AfterTool;

#[async_trait]
impl AfterToolExecute for HookPart {
    async fn after_tool_execute(
        &self,
        cancel: &CancellationToken,
        FinishedCall { call, took }: &FinishedCall,
        output: ToolOutput,
    ) -> ResultDecision {
        let question = AfterTool {
            meta: self.turns.meta(AfterTool::TRACE_PATH),
            context: self.turns.context(),
            tool: call.name.clone(),
            arguments: call.args.clone(),
            result: output::told(&output),
            duration: u64::try_from(took.as_nanos()).unwrap_or(u64::MAX),
            channel: CHANNEL.to_owned(),
            chat_id: CHAT.to_owned(),
        };
        let by = self.by();
        match self.query(cancel, POINT, question).await {
            Ok(Decision::Continue) | Err(_) => ResultDecision::Show(output),
            Ok(Decision::Modify(result)) => {
                ResultDecision::Show(output::read(self, POINT, &call.name, &result, Some(&output)).await)
            }
            Ok(Decision::AbortTurn { reason }) => {
                ResultDecision::Refuse(Refusal::of_turn(by, aborted(&reason)))
            }
            Ok(Decision::HardAbort { reason }) => {
                ResultDecision::Refuse(Refusal::discarding(by, aborted(&reason)))
            }
        }
    }

    fn name(&self) -> &str {
        self.entry.name().as_str()
    }
}
