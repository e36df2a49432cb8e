//! The calls before and after a request to the model.

use haft_protocol::ext::{
    ContextChange, ContextDecision, InterceptContext, InterceptMessageEnd, MessageEndDecision,
    RequestOptions, RequestTool, StopScope,
};
use haft_protocol::message::{AssistantBlock, Rfc3339Time, StopCause, text_of};
use haft_protocol::thinking::ThinkingLevel;

use super::translator::NativeHook;
use super::{HookPeer, stop_turn};
use crate::translate::{
    CHANNEL, CHAT, apply_edits, rebuild_answer, thinking_of, to_hook_calls, to_hook_messages, truncate_answer,
};
use crate::wire::{
    AfterLlm, BeforeLlm, FunctionDefinition, LlmDecision, LlmEdit, LlmOptions, LlmResponse, ResponseDecision,
    ToolDefinition, UsageInfo,
};

impl NativeHook for InterceptContext {
    type Question = BeforeLlm;

    fn to_question(&self, peer: &HookPeer) -> BeforeLlm {
        BeforeLlm {
            meta: peer.turns.turn_meta(BeforeLlm::TRACE_PATH),
            context: peer.turns.context(),
            model: self.model.clone(),
            messages: to_hook_messages(&self.system, &self.messages),
            tools: self.tools.iter().map(tool_definition).collect(),
            options: llm_options(self),
            graceful_terminal: self.last,
            channel: CHANNEL.to_owned(),
            chat_id: CHAT.to_owned(),
        }
    }

    fn to_decision(
        &self,
        decision: LlmDecision,
        peer: &HookPeer,
        reports: &mut Vec<String>,
    ) -> Result<ContextDecision, String> {
        Ok(match decision {
            LlmDecision::Continue => ContextDecision::Unchanged,
            LlmDecision::Modify(edit) => accept_edit(edit, self, peer, reports).into(),
            LlmDecision::AbortTurn { reason } => ContextDecision::Stop(stop_turn(StopScope::Turn, &reason)),
            LlmDecision::HardAbort { reason } => {
                ContextDecision::Stop(stop_turn(StopScope::Discard, &reason))
            }
        })
    }
}

/// Returns the valid changes of a hook; reports the others.
fn accept_edit(
    edit: LlmEdit,
    own: &InterceptContext,
    peer: &HookPeer,
    reports: &mut Vec<String>,
) -> ContextChange {
    let LlmEdit { model, messages, add_tools, options } = edit;
    let now = Rfc3339Time((peer.setup.now)());
    let messages = messages.map(|edits| apply_edits(edits, &own.messages, &now)).transpose();
    let messages = messages.unwrap_or_else(|detail| {
        reports.push(format!("{detail}; the messages were not changed"));
        None
    });
    let level = options.as_ref().and_then(|options| options.thinking_level.as_deref());
    let thinking = level.map(str::parse::<ThinkingLevel>).transpose().unwrap_or_else(|error| {
        reports.push(format!("thinking_level: {error}"));
        None
    });
    let options = options.map(|LlmOptions { max_tokens, temperature, .. }| {
        own.options.clone().with_max_tokens(max_tokens).with_temperature(temperature)
    });
    ContextChange {
        messages,
        model,
        thinking,
        options,
        tools: add_tools.into_iter().map(request_tool).collect(),
    }
}

fn tool_definition(tool: &RequestTool) -> ToolDefinition {
    let RequestTool { name, description, schema } = tool.clone();
    let function = FunctionDefinition { name, description, parameters: schema };
    ToolDefinition { function, ..ToolDefinition::default() }
}

fn request_tool(tool: ToolDefinition) -> RequestTool {
    let FunctionDefinition { name, description, parameters } = tool.function;
    RequestTool { name, description, schema: parameters }
}

fn llm_options(native: &InterceptContext) -> LlmOptions {
    let RequestOptions { max_tokens, temperature, .. } = native.options;
    let thinking_level =
        (native.thinking != ThinkingLevel::Default).then(|| native.thinking.name().to_owned());
    LlmOptions { max_tokens, temperature, thinking_level, ..LlmOptions::default() }
}

impl NativeHook for InterceptMessageEnd {
    type Question = AfterLlm;

    fn to_question(&self, peer: &HookPeer) -> AfterLlm {
        AfterLlm {
            meta: peer.turns.turn_meta(AfterLlm::TRACE_PATH),
            context: peer.turns.context(),
            model: self.model.clone(),
            response: to_llm_response(self),
            channel: CHANNEL.to_owned(),
            chat_id: CHAT.to_owned(),
        }
    }

    fn to_decision(
        &self,
        decision: ResponseDecision,
        _: &HookPeer,
        reports: &mut Vec<String>,
    ) -> Result<MessageEndDecision, String> {
        Ok(match decision {
            ResponseDecision::Continue => MessageEndDecision::Unchanged,
            ResponseDecision::Modify(mut answer) => {
                reports.extend(truncate_answer(&mut answer, &to_llm_response(self)));
                let LlmResponse { content, reasoning_content, tool_calls, .. } = &*answer;
                match rebuild_answer(&self.content, content, reasoning_content, tool_calls) {
                    // An answer has a block.
                    Ok(content) if content.is_empty() => MessageEndDecision::Replace {
                        content: vec![AssistantBlock::Text { text: String::new() }],
                    },
                    Ok(content) => MessageEndDecision::Replace { content },
                    Err(detail) => {
                        reports.push(detail);
                        MessageEndDecision::Unchanged
                    }
                }
            }
            ResponseDecision::AbortTurn { reason } => {
                MessageEndDecision::Stop(stop_turn(StopScope::Turn, &reason))
            }
            ResponseDecision::HardAbort { reason } => {
                MessageEndDecision::Stop(stop_turn(StopScope::Discard, &reason))
            }
        })
    }
}

fn to_llm_response(native: &InterceptMessageEnd) -> LlmResponse {
    let usage = &native.usage;
    let prompt_tokens = usage.input + usage.cache_read + usage.cache_write;
    LlmResponse {
        content: text_of(&native.content),
        reasoning_content: thinking_of(&native.content),
        tool_calls: to_hook_calls(&native.content),
        finish_reason: finish_reason(native.stop).to_owned(),
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
