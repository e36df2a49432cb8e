//! Maps the events of one turn to PicoClaw's events. Pure: the time is a parameter.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::wire::{
    ContextCompress, ErrorEvent, HookEventPayload, InterruptReceived, LlmRequest, LlmResponded, LlmRetry,
    SessionSummarize, SteeringInjected, ToolExecEnd, ToolExecSkipped, ToolExecStart, ToolExecution, TurnEnd,
    TurnStart,
};
use haft_protocol::RawJson;
use haft_protocol::content::{ContentBlock, joined_text};
use haft_protocol::event::{AgentEvent, CompactReason, ErrorStage, RetryReason};
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::{StopCause, text_of};

use super::{CHANNEL, CHAT};

/// The current turn.
#[derive(Debug)]
pub(super) struct TurnEventMapper {
    began: Instant,
    end: TurnEnd,
    calls: HashMap<ToolCallId, TrackedCall>,
    compaction: Option<CompactReason>,
    /// The number of waiting messages of the user.
    waiting: usize,
}

#[derive(Debug)]
struct TrackedCall {
    tool: String,
    args: RawJson,
    stage: CallStage,
}

#[derive(Debug, Clone, Copy)]
enum CallStage {
    Called,
    /// The call will not run, and the event was sent.
    Skipped,
    Running(Instant),
    /// The tool ran for this time.
    Finished(Duration),
}

impl TrackedCall {
    fn start_payload(&self) -> HookEventPayload {
        ToolExecStart { tool: self.tool.clone(), arguments: Some(self.args.clone()) }.into()
    }
}

impl TurnEventMapper {
    pub(super) fn starts_turn(event: &AgentEvent) -> bool {
        matches!(event, AgentEvent::UserMessage { .. } | AgentEvent::TurnStart { .. })
    }

    /// True if this event belongs to the next turn, which begins with its first step.
    pub(super) fn belongs_to_next_turn(&self, event: &AgentEvent) -> bool {
        matches!(event, AgentEvent::TurnStart { step: 1 }) && self.end.iterations > 0
    }

    /// Returns the payloads for an event between turns. A summary between turns is always requested by the
    /// user.
    pub(super) fn map_between_turns(event: &AgentEvent) -> Vec<HookEventPayload> {
        compaction_payloads(CompactReason::Manual, event)
    }

    /// Returns a turn that begins with this event, and the payload to send.
    pub(super) fn new(event: &AgentEvent, workspace: &str, at: Instant) -> (Self, HookEventPayload) {
        #[expect(clippy::wildcard_enum_match_arm, reason = "other events have no message")]
        let content: &[ContentBlock] = match event {
            AgentEvent::UserMessage { content, .. } => content,
            _ => &[],
        };
        let user_message = joined_text(content);
        let start = TurnStart {
            user_message: user_message.clone(),
            media_count: content.iter().filter(|block| matches!(block, ContentBlock::Image(_))).count(),
            channel: CHANNEL.to_owned(),
            chat_id: CHAT.to_owned(),
        };
        let status = TurnEnd::COMPLETED.to_owned();
        let end = TurnEnd { status, workspace: workspace.to_owned(), user_message, ..TurnEnd::default() };
        let story = Self { began: at, end, calls: HashMap::new(), compaction: None, waiting: 0 };
        (story, start.into())
    }

    pub(super) fn current_iteration(&self) -> u32 {
        self.end.iterations
    }

    pub(super) fn call_duration(&self, id: &ToolCallId) -> Option<Duration> {
        match self.calls.get(id)?.stage {
            CallStage::Finished(took) => Some(took),
            CallStage::Called | CallStage::Skipped | CallStage::Running(_) => None,
        }
    }

    pub(super) fn map_event(&mut self, event: &AgentEvent, at: Instant) -> Vec<HookEventPayload> {
        #[expect(clippy::wildcard_enum_match_arm, reason = "events without state are handled below")]
        match event {
            AgentEvent::TurnStart { step } => self.end.iterations = *step,
            AgentEvent::AssistantMessage { content, .. } => self.end.final_content = text_of(content),
            AgentEvent::TurnEnd { stop: StopCause::Aborted, .. } | AgentEvent::TurnDiscarded { .. } => {
                TurnEnd::ABORTED.clone_into(&mut self.end.status);
            }
            AgentEvent::TurnEnd { stop: StopCause::Error, .. } if self.end.status == TurnEnd::COMPLETED => {
                TurnEnd::ERROR.clone_into(&mut self.end.status);
            }
            AgentEvent::CompactionStart { reason } => self.compaction = Some(*reason),
            AgentEvent::ToolCall { id, name, args } => {
                let call = TrackedCall { tool: name.clone(), args: args.clone(), stage: CallStage::Called };
                self.calls.insert(id.clone(), call);
            }
            AgentEvent::ToolStart { id, name, args, .. } => return self.start_call(id, name, args, at),
            AgentEvent::ToolEnd { id, .. } => self.end_call(id, at),
            AgentEvent::ToolRewritten { id, tool, args, .. } => self.apply_rewrite(id, tool.as_ref(), args),
            AgentEvent::ToolBlocked { id, reason, .. } | AgentEvent::ToolSkipped { id, reason, .. } => {
                return self.skip_call(id, reason);
            }
            AgentEvent::ToolResult { id, is_error, content, synthetic_by, .. } => {
                return self.finish_call(id, *is_error, content, synthetic_by.is_some(), at);
            }
            AgentEvent::Done => return vec![self.finish_turn(at)],
            other => return self.map_other_event(other),
        }
        Vec::new()
    }

    fn map_other_event(&mut self, event: &AgentEvent) -> Vec<HookEventPayload> {
        #[expect(clippy::wildcard_enum_match_arm, reason = "hooks receive only these kinds of events")]
        match event {
            AgentEvent::ModelRequest { .. } | AgentEvent::ModelResponse { .. } | AgentEvent::Retry { .. } => {
                model_payload(event).into_iter().collect()
            }
            AgentEvent::CompactionEnd { summary: Some(_), .. } => {
                compaction_payloads(self.compaction.take().unwrap_or(CompactReason::Manual), event)
            }
            AgentEvent::SteeringInjected { count, bytes } => {
                vec![SteeringInjected { count: to_usize(*count), total_content_len: to_usize(*bytes) }.into()]
            }
            AgentEvent::QueueUpdate { steering, .. } => self.on_queue_update(steering),
            AgentEvent::Interrupted { hint_bytes } => {
                let (kind, role) = ("graceful".to_owned(), "user".to_owned());
                let hint_len = to_usize(*hint_bytes);
                vec![InterruptReceived { kind, role, hint_len, ..InterruptReceived::default() }.into()]
            }
            AgentEvent::Error { message, stage, .. } => {
                TurnEnd::ERROR.clone_into(&mut self.end.status);
                let stage = match stage {
                    Some(ErrorStage::Model) => "llm",
                    Some(ErrorStage::Session) => "session_save",
                    Some(_) | None => "turn",
                };
                vec![ErrorEvent { stage: stage.to_owned(), message: message.clone() }.into()]
            }
            _ => Vec::new(),
        }
    }

    fn apply_rewrite(&mut self, id: &ToolCallId, tool: Option<&String>, args: &RawJson) {
        if let Some(call) = self.calls.get_mut(id) {
            call.args = args.clone();
            if let Some(tool) = tool {
                call.tool.clone_from(tool);
            }
        }
    }

    fn skip_call(&mut self, id: &ToolCallId, reason: &str) -> Vec<HookEventPayload> {
        let Some(call) = self.calls.get_mut(id) else { return Vec::new() };
        call.stage = CallStage::Skipped;
        vec![ToolExecSkipped { tool: call.tool.clone(), reason: reason.to_owned() }.into()]
    }

    /// Records the start of a call with the tool and the arguments that run, whatever was reported before.
    /// Calls by an extension are not sent.
    fn start_call(
        &mut self,
        id: &ToolCallId,
        tool: &str,
        args: &RawJson,
        at: Instant,
    ) -> Vec<HookEventPayload> {
        let Some(call) = self.calls.get_mut(id) else { return Vec::new() };
        *call = TrackedCall { tool: tool.to_owned(), args: args.clone(), stage: CallStage::Running(at) };
        vec![call.start_payload()]
    }

    fn end_call(&mut self, id: &ToolCallId, at: Instant) {
        if let Some(call) = self.calls.get_mut(id)
            && let CallStage::Running(since) = call.stage
        {
            call.stage = CallStage::Finished(at.saturating_duration_since(since));
        }
    }

    /// Records the result of a call. A call that a hook answered took no time; a call that was not run was
    /// skipped.
    fn finish_call(
        &mut self,
        id: &ToolCallId,
        is_error: bool,
        content: &[ContentBlock],
        is_answered: bool,
        at: Instant,
    ) -> Vec<HookEventPayload> {
        let Some(call) = self.calls.remove(id) else { return Vec::new() };
        let text = joined_text(content);
        let (start, took) = match call.stage {
            CallStage::Skipped => return Vec::new(),
            CallStage::Called if is_answered => (Some(call.start_payload()), Duration::ZERO),
            CallStage::Called => return vec![ToolExecSkipped { tool: call.tool, reason: text }.into()],
            CallStage::Running(since) => (None, at.saturating_duration_since(since)),
            CallStage::Finished(took) => (None, took),
        };
        self.note_execution(&call.tool, is_error, &text);
        let (tool, duration, for_llm_len) = (call.tool, to_nanoseconds(took), text.len());
        let end = ToolExecEnd { tool, duration, for_llm_len, for_user_len: 0, is_error, is_async: false };
        start.into_iter().chain([end.into()]).collect()
    }

    /// Records the outcome of a tool for the end of the turn.
    fn note_execution(&mut self, tool: &str, is_error: bool, text: &str) {
        if !self.end.tool_kinds.iter().any(|known| known == tool) {
            self.end.tool_kinds.push(tool.to_owned());
        }
        self.end.tool_executions.push(ToolExecution {
            name: tool.to_owned(),
            success: !is_error,
            error_summary: if is_error { first_line(text) } else { String::new() },
            skill_names: Vec::new(),
        });
    }

    fn on_queue_update(&mut self, steering: &[String]) -> Vec<HookEventPayload> {
        let before = std::mem::replace(&mut self.waiting, steering.len());
        let Some(last) = steering.last().filter(|_| steering.len() > before) else { return Vec::new() };
        let received = InterruptReceived {
            kind: "steering".to_owned(),
            role: "user".to_owned(),
            content_len: last.len(),
            queue_depth: steering.len(),
            hint_len: 0,
        };
        vec![received.into()]
    }

    fn finish_turn(&mut self, at: Instant) -> HookEventPayload {
        // The last step is only known now.
        let mut end = self.end.clone();
        end.duration = to_nanoseconds(at.saturating_duration_since(self.began));
        end.final_content_len = end.final_content.len();
        end.into()
    }
}

fn compaction_payloads(reason: CompactReason, event: &AgentEvent) -> Vec<HookEventPayload> {
    let AgentEvent::CompactionEnd { summary: Some(summary), messages_summed_up, messages_kept, .. } = event
    else {
        return Vec::new();
    };
    let [summed_up, kept] =
        [messages_summed_up, messages_kept].map(|messages| to_usize(messages.unwrap_or_default()));
    let reason = match reason {
        CompactReason::Overflow => "llm_retry",
        CompactReason::Threshold => "proactive_budget",
        CompactReason::Manual => "summarize",
    };
    let compress =
        ContextCompress { reason: reason.to_owned(), dropped_messages: summed_up, remaining_messages: kept };
    let summarize = SessionSummarize {
        summarized_messages: summed_up,
        kept_messages: kept,
        summary_len: summary.len(),
        omitted_oversized: false,
    };
    vec![compress.into(), summarize.into()]
}

fn model_payload(event: &AgentEvent) -> Option<HookEventPayload> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the caller passes only these kinds")]
    match event {
        AgentEvent::ModelRequest { model, messages, tools, max_tokens, temperature, .. } => {
            let request = LlmRequest {
                model: model.clone(),
                // PicoClaw counts the system prompt as a message.
                messages_count: to_usize(*messages) + 1,
                tools_count: to_usize(*tools),
                max_tokens: max_tokens.unwrap_or_default(),
                temperature: temperature.unwrap_or_default(),
            };
            Some(request.into())
        }
        AgentEvent::ModelResponse { text_bytes, tool_calls, thinking } => {
            let (content_len, tool_calls) = (to_usize(*text_bytes), to_usize(*tool_calls));
            Some(LlmResponded { content_len, tool_calls, has_reasoning: *thinking }.into())
        }
        AgentEvent::Retry { attempt, delay_ms, message, max_attempts, reason } => {
            let backoff = to_nanoseconds(Duration::from_millis(*delay_ms));
            // The first attempt is not a retry.
            let retries = |attempts: u32| attempts.saturating_sub(1);
            let (attempt, max_retries) = (retries(*attempt), retries(max_attempts.unwrap_or_default()));
            let (reason, error) = (reason.map_or("retry", RetryReason::name).to_owned(), message.clone());
            Some(LlmRetry { attempt, max_retries, reason, error, backoff }.into())
        }
        _ => None,
    }
}

fn to_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn to_nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
