//! The calls about a tool call: before it, for its approval, and after it.

use std::time::Duration;

use haft_protocol::content::ContentBlock;
use haft_protocol::ext::{
    ApproveDecision, InterceptApprove, InterceptToolCall, InterceptToolResult, ResultBlock, StopScope,
    ToolCallAnswer, ToolCallDecision, ToolResultChange, ToolResultDecision,
};

use super::translator::NativeHook;
use super::{HookPeer, stop_turn};
use crate::translate::{self, CHANNEL, CHAT, find_oversized, shorten_reason};
use crate::wire::{
    AfterTool, ApprovalDecision, ApproveTool, BeforeTool, HookToolResult, ResultDecision, ToolDecision, texts,
};

impl NativeHook for InterceptToolCall {
    type Question = BeforeTool;

    fn to_question(&self, peer: &HookPeer) -> BeforeTool {
        BeforeTool {
            meta: peer.turns.turn_meta(BeforeTool::TRACE_PATH),
            context: peer.turns.context(),
            tool: self.tool_name.clone(),
            arguments: self.tool_args.clone(),
            hook_result: None,
            channel: CHANNEL.to_owned(),
            chat_id: CHAT.to_owned(),
            resolved_paths: self.resolved_paths.clone(),
        }
    }

    /// An answer beyond the limit is no decision.
    fn to_decision(
        &self,
        decision: ToolDecision,
        _: &HookPeer,
        _: &mut Vec<String>,
    ) -> Result<ToolCallDecision, String> {
        if let Some(detail) = find_oversized(&decision, self.tool_args.as_str().len()) {
            return Err(detail);
        }
        Ok(match decision {
            ToolDecision::Continue | ToolDecision::Modify { tool: None, arguments: None } => {
                ToolCallDecision::Allow
            }
            ToolDecision::Modify { tool: Some(tool), arguments } => {
                ToolCallDecision::Redirect { tool, args: arguments }
            }
            ToolDecision::Modify { tool: None, arguments: Some(args) } => ToolCallDecision::Rewrite { args },
            ToolDecision::Respond(result) => ToolCallDecision::Answer(Box::new(ToolCallAnswer {
                content: translate::result_blocks(&result, &[]),
                details: None,
                is_error: result.is_error,
                handled: is_handled(&result),
                display: Some(display_text(result)),
            })),
            ToolDecision::Deny { reason } => {
                ToolCallDecision::block(texts::denied_by_hook(&shorten_reason(&reason)))
            }
            ToolDecision::AbortTurn { reason } => ToolCallDecision::Stop(stop_turn(StopScope::Turn, &reason)),
            ToolDecision::HardAbort { reason } => {
                ToolCallDecision::Stop(stop_turn(StopScope::Discard, &reason))
            }
        })
    }
}

impl NativeHook for InterceptApprove {
    type Question = ApproveTool;

    fn to_question(&self, peer: &HookPeer) -> ApproveTool {
        ApproveTool {
            meta: peer.turns.turn_meta(ApproveTool::TRACE_PATH),
            context: peer.turns.context(),
            tool: self.tool_name.clone(),
            arguments: self.tool_args.clone(),
            channel: CHANNEL.to_owned(),
            chat_id: CHAT.to_owned(),
            resolved_paths: self.resolved_paths.clone(),
        }
    }

    fn to_decision(
        &self,
        decision: ApprovalDecision,
        _: &HookPeer,
        _: &mut Vec<String>,
    ) -> Result<ApproveDecision, String> {
        Ok(match decision {
            ApprovalDecision::Approve => ApproveDecision::Approve,
            ApprovalDecision::Deny { reason } => {
                ApproveDecision::block(texts::denied_by_approval(&shorten_reason(&reason)))
            }
        })
    }
}

impl NativeHook for InterceptToolResult {
    type Question = AfterTool;

    fn to_question(&self, peer: &HookPeer) -> AfterTool {
        // The events of a call are more precise than the question.
        let took = peer.turns.call_duration(&self.tool_id);
        let took = took.unwrap_or(Duration::from_millis(self.duration_ms));
        AfterTool {
            meta: peer.turns.turn_meta(AfterTool::TRACE_PATH),
            context: peer.turns.context(),
            tool: self.tool_name.clone(),
            arguments: self.tool_args.clone(),
            result: HookToolResult {
                for_user: self.display.clone().unwrap_or_default(),
                is_error: self.is_error,
                response_handled: self.handled,
                ..translate::to_hook_result(&own_content(self))
            },
            duration: u64::try_from(took.as_nanos()).unwrap_or(u64::MAX),
            channel: CHANNEL.to_owned(),
            chat_id: CHAT.to_owned(),
        }
    }

    fn to_decision(
        &self,
        decision: ResultDecision,
        _: &HookPeer,
        _: &mut Vec<String>,
    ) -> Result<ToolResultDecision, String> {
        Ok(match decision {
            ResultDecision::Continue => ToolResultDecision::Unchanged,
            ResultDecision::Modify(result) => ToolResultDecision::Change(ToolResultChange {
                content: Some(translate::result_blocks(&result, &own_content(self))),
                details: None,
                is_error: Some(result.is_error),
                handled: Some(is_handled(&result)),
                display: Some(display_text(result)),
            }),
            ResultDecision::AbortTurn { reason } => {
                ToolResultDecision::Stop(stop_turn(StopScope::Turn, &reason))
            }
            ResultDecision::HardAbort { reason } => {
                ToolResultDecision::Stop(stop_turn(StopScope::Discard, &reason))
            }
        })
    }
}

fn own_content(native: &InterceptToolResult) -> Vec<ContentBlock> {
    let blocks = native.content.iter().filter_map(|block| match block {
        ResultBlock::Text { text } => Some(ContentBlock::Text { text: text.clone() }),
        ResultBlock::Image(image) => Some(ContentBlock::Image(image.clone())),
        ResultBlock::Unknown { .. } => None,
    });
    blocks.collect()
}

/// True if the user has the result already. If only text can be delivered, the model has to mention it.
fn is_handled(result: &HookToolResult) -> bool {
    result.response_handled && result.media.is_empty()
}

/// Returns the text for the user; an empty one shows nothing.
fn display_text(result: HookToolResult) -> String {
    if result.silent { String::new() } else { result.for_user }
}
