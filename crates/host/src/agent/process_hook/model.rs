//! The hooks before the model is called and after it has answered.

use std::sync::Arc;

use async_trait::async_trait;
use haft_adapter_picoclaw::translate::{
    CHANNEL, CHAT, apply_edits, rebuild_answer, thinking_of, to_hook_calls, to_hook_messages, truncate_answer,
};
use haft_adapter_picoclaw::wire::{
    AfterLlm, BeforeLlm, FunctionDefinition, InterceptPoint, LlmDecision, LlmEdit, LlmOptions, LlmResponse,
    ResponseDecision as After, ToolDefinition, UsageInfo,
};
use haft_core::hooks::{
    AfterModelResponse, BeforeModelRequest, OutgoingRequest, ReceivedResponse, RequestDecision, RequestEdit,
    ResponseDecision,
};
use haft_core::model::{RequestOptions, ThinkingLevel};
use haft_core::sanitize::strip_hidden_chars;
use haft_core::tool::{ToolOwner, ToolSpec};
use haft_protocol::message::{AssistantBlock, Rfc3339Time, StopCause, text_of};
use tokio_util::sync::CancellationToken;

use super::adapter::ProcessHookAdapter;

const BEFORE: InterceptPoint = InterceptPoint::BeforeLlm;
const AFTER: InterceptPoint = InterceptPoint::AfterLlm;

#[async_trait]
impl BeforeModelRequest for ProcessHookAdapter {
    async fn before_model_request(
        &self,
        cancel: &CancellationToken,
        request: &OutgoingRequest,
    ) -> RequestDecision {
        let question = BeforeLlm {
            meta: self.turns.turn_meta(BeforeLlm::TRACE_PATH),
            context: self.turns.context(),
            model: request.model.model.clone(),
            messages: to_hook_messages(&request.system, &request.messages),
            tools: request.tools.iter().map(tool_definition).collect(),
            options: llm_options(request),
            graceful_terminal: request.last,
            channel: CHANNEL.to_owned(),
            chat_id: CHAT.to_owned(),
        };
        let by = self.hook_name();
        match self.query(cancel, BEFORE, question).await {
            Ok(LlmDecision::Continue) | Err(_) => RequestDecision::Send,
            Ok(LlmDecision::Modify(edit)) => {
                let edit = accept_edit(edit, request, &by, |detail| self.report_fault(BEFORE, detail));
                RequestDecision::Edit { by, edit }
            }
            Ok(LlmDecision::AbortTurn { reason }) => RequestDecision::Refuse(self.refuse_turn(&reason)),
            Ok(LlmDecision::HardAbort { reason }) => RequestDecision::Refuse(self.discard_turn(&reason)),
        }
    }

    fn edit_refused(&self, detail: &str) {
        self.report_fault(BEFORE, detail);
    }

    fn name(&self) -> &str {
        self.entry.name().as_str()
    }
}

#[async_trait]
impl AfterModelResponse for ProcessHookAdapter {
    async fn after_model_response(
        &self,
        cancel: &CancellationToken,
        response: &ReceivedResponse,
    ) -> ResponseDecision {
        let question = AfterLlm {
            meta: self.turns.turn_meta(AfterLlm::TRACE_PATH),
            context: self.turns.context(),
            model: response.model.model.clone(),
            response: to_llm_response(response),
            channel: CHANNEL.to_owned(),
            chat_id: CHAT.to_owned(),
        };
        let by = self.hook_name();
        match self.query(cancel, AFTER, question).await {
            Ok(After::Continue) | Err(_) => ResponseDecision::Keep,
            Ok(After::Modify(answer)) => {
                match apply_response_edit(response, *answer, |detail| self.report_fault(AFTER, detail)) {
                    Ok(content) => ResponseDecision::Edit { by, content },
                    Err(detail) => {
                        self.report_fault(AFTER, &detail);
                        ResponseDecision::Keep
                    }
                }
            }
            Ok(After::AbortTurn { reason }) => ResponseDecision::Refuse(self.refuse_turn(&reason)),
            Ok(After::HardAbort { reason }) => ResponseDecision::Refuse(self.discard_turn(&reason)),
        }
    }

    /// An approved hook for answers may be there to redact them. Any other hook is queried only because the
    /// hooks before and after the model belong together.
    fn suppresses_deltas(&self) -> bool {
        self.hook.watch.intercepts.contains(&AFTER)
    }

    fn name(&self) -> &str {
        self.entry.name().as_str()
    }
}

/// Returns the valid changes of a hook; reports the others.
fn accept_edit(edit: LlmEdit, request: &OutgoingRequest, by: &str, report: impl Fn(&str)) -> RequestEdit {
    let LlmEdit { model, messages, add_tools, options } = edit;
    let now = Rfc3339Time(format!("{:.3}", jiff::Timestamp::now()));
    let messages = messages.and_then(|edits| {
        let edited = apply_edits(edits, &request.messages, &now);
        edited.inspect_err(|detail| report(&format!("{detail}; the messages were not changed"))).ok()
    });
    let thinking = options.as_ref().and_then(|options| {
        let level = options.thinking_level.as_deref()?.parse::<ThinkingLevel>();
        level.inspect_err(|error| report(&format!("thinking_level: {error}"))).ok()
    });
    let options =
        options.map(|LlmOptions { max_tokens, temperature, .. }| RequestOptions { max_tokens, temperature });
    let owner = ToolOwner::Extension(by.to_owned());
    let add_tools = add_tools.into_iter().map(|tool| tool_spec(tool, owner.clone())).collect();
    RequestEdit { model, messages, add_tools, options, thinking }
}

fn tool_definition(tool: &Arc<ToolSpec>) -> ToolDefinition {
    let function = FunctionDefinition {
        name: tool.name.clone(),
        description: tool.description.clone(),
        parameters: tool.schema.clone(),
    };
    ToolDefinition { function, ..ToolDefinition::default() }
}

fn llm_options(request: &OutgoingRequest) -> LlmOptions {
    let RequestOptions { max_tokens, temperature } = request.options;
    let thinking_level =
        (request.thinking != ThinkingLevel::Default).then(|| request.thinking.name().to_owned());
    LlmOptions { max_tokens, temperature, thinking_level, ..LlmOptions::default() }
}

fn tool_spec(tool: ToolDefinition, owner: ToolOwner) -> ToolSpec {
    let FunctionDefinition { name, description, parameters } = tool.function;
    let description = strip_hidden_chars(&description).text.into_owned();
    ToolSpec { owner, ..ToolSpec::new(name, description).with_schema(parameters) }
}

/// Returns the answer of the model as the hook changed it, or the reason to reject it. Reports truncations.
fn apply_response_edit(
    response: &ReceivedResponse,
    mut answer: LlmResponse,
    report: impl Fn(&str),
) -> Result<Vec<AssistantBlock>, String> {
    if let Some(detail) = truncate_answer(&mut answer, &to_llm_response(response)) {
        report(&detail);
    }
    let LlmResponse { content, reasoning_content, tool_calls, .. } = &answer;
    rebuild_answer(&response.content, content, reasoning_content, tool_calls)
}

fn to_llm_response(response: &ReceivedResponse) -> LlmResponse {
    let usage = &response.usage;
    let prompt_tokens = usage.input + usage.cache_read + usage.cache_write;
    LlmResponse {
        content: text_of(&response.content),
        reasoning_content: thinking_of(&response.content),
        tool_calls: to_hook_calls(&response.content),
        finish_reason: finish_reason(response.stop).to_owned(),
        usage: Some(UsageInfo {
            prompt_tokens,
            completion_tokens: usage.output,
            total_tokens: prompt_tokens + usage.output,
        }),
        ..LlmResponse::default()
    }
}

const fn finish_reason(stop: StopCause) -> &'static str {
    match stop {
        StopCause::End => "stop",
        StopCause::ToolUse => "tool_calls",
        StopCause::Length => "length",
        StopCause::Error | StopCause::Aborted => "error",
    }
}
