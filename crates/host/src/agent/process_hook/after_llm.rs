//! The hook after the model has answered.

use async_trait::async_trait;
use haft_core::hooks::{AfterModelResponse, ReceivedResponse, Refusal, ResponseDecision};
use haft_protocol::hook::{AfterLlm, InterceptPoint, LlmResponse, ResponseDecision as Decision, UsageInfo};
use haft_protocol::message::{AssistantBlock, Stop, text_of};
use tokio_util::sync::CancellationToken;

use super::before_tool::aborted;
use super::bounds;
use super::messages;
use super::part::HookPart;
use super::{CHANNEL, CHAT};

const POINT: InterceptPoint = InterceptPoint::AfterLlm;

#[async_trait]
impl AfterModelResponse for HookPart {
    async fn after_model_response(
        &self,
        cancel: &CancellationToken,
        response: &ReceivedResponse,
    ) -> ResponseDecision {
        let question = AfterLlm {
            meta: self.turns.meta(AfterLlm::TRACE_PATH),
            context: self.turns.context(),
            model: response.model.model.clone(),
            response: told(response),
            channel: CHANNEL.to_owned(),
            chat_id: CHAT.to_owned(),
        };
        let by = self.by();
        match self.query(cancel, POINT, question).await {
            Ok(Decision::Continue) | Err(_) => ResponseDecision::Keep,
            Ok(Decision::Modify(answer)) => {
                match edited(response, *answer, |detail| self.fault(POINT, detail)) {
                    Ok(content) => ResponseDecision::Edit { by, content },
                    Err(detail) => {
                        self.fault(POINT, &detail);
                        ResponseDecision::Keep
                    }
                }
            }
            Ok(Decision::AbortTurn { reason }) => {
                ResponseDecision::Refuse(Refusal::of_turn(by, aborted(&reason)))
            }
            Ok(Decision::HardAbort { reason }) => {
                ResponseDecision::Refuse(Refusal::discarding(by, aborted(&reason)))
            }
        }
    }

    /// One that the user set up to look at answers may be there to redact them. Any other is asked only because hooks
    /// before the model and after it go together.
    fn holds_back(&self) -> bool {
        self.hook.watch.intercepts.contains(&POINT)
    }

    fn name(&self) -> &str {
        self.entry.name().as_str()
    }
}

/// The answer of the model as the hook changed it. Cuts are reported.
///
/// # Errors
/// The reason why it does not count.
fn edited(
    response: &ReceivedResponse,
    mut answer: LlmResponse,
    report: impl Fn(&str),
) -> Result<Vec<AssistantBlock>, String> {
    if let Some(detail) = bounds::cut_answer(&mut answer, &told(response)) {
        report(&detail);
    }
    let LlmResponse { content, reasoning_content, tool_calls, .. } = &answer;
    messages::answer(&response.content, content, reasoning_content, tool_calls)
}

fn told(response: &ReceivedResponse) -> LlmResponse {
    let usage = &response.usage;
    let prompt_tokens = usage.input + usage.cache_read + usage.cache_write;
    LlmResponse {
        content: text_of(&response.content),
        reasoning_content: messages::thinking_of(&response.content),
        tool_calls: messages::calls(&response.content),
        finish_reason: finish_reason(response.stop).to_owned(),
        usage: Some(UsageInfo {
            prompt_tokens,
            completion_tokens: usage.output,
            total_tokens: prompt_tokens + usage.output,
        }),
        ..LlmResponse::default()
    }
}

const fn finish_reason(stop: Stop) -> &'static str {
    match stop {
        Stop::End => "stop",
        Stop::ToolUse => "tool_calls",
        Stop::Length => "length",
        Stop::Error | Stop::Aborted => "error",
    }
}
