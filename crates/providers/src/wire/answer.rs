//! `AnswerBuilder`: collects an answer from the pieces that a decoder finds.

use std::collections::VecDeque;
use std::fmt;
use std::hash::{BuildHasher, RandomState};

use haft_core::model::{ModelEvent, wrap_invalid_args};
use haft_protocol::RawJson;
use haft_protocol::content::ToolCall;
use haft_protocol::defense::{Defense, is_up};
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::{AssistantBlock, StopCause, TokenUsage};

use super::AnswerError;
use super::events::limit_error;
use crate::limits::{BLOCK_COST, MAX_BLOCKS, MAX_CONTENT};

/// The decoder of one answer.
pub(crate) trait AnswerDecoder: fmt::Debug + Send {
    /// Reads the next event.
    ///
    /// # Errors
    /// When the event reports an error, is not valid, or exceeds a limit of the answer.
    fn read_event(&mut self, event: &str, answer: &mut AnswerBuilder) -> Result<(), AnswerError>;

    /// Reads the end of the answer.
    ///
    /// # Errors
    /// [`AnswerError::Truncated`] if the last event is missing; [`AnswerError::Refused`] if the model gave up.
    fn finish(&mut self, answer: &mut AnswerBuilder) -> Result<(), AnswerError>;
}

/// An answer that is arriving.
#[derive(Debug, Default)]
pub(crate) struct AnswerBuilder {
    blocks: Vec<AnswerBlock>,
    /// True if the next text or thinking begins a new block.
    separate: bool,
    events: VecDeque<ModelEvent>,
    /// The bytes that the answer has needed so far.
    size: usize,
    /// The tokens, without their cost.
    pub(crate) usage: TokenUsage,
    /// The cost in US dollars, if the provider reports it.
    pub(crate) cost_usd: Option<f64>,
    pub(crate) stop: Option<StopCause>,
    /// Data that only the same model can use again: signatures, encrypted reasoning.
    pub(crate) native: Option<RawJson>,
}

#[derive(Debug)]
enum AnswerBlock {
    Text(String),
    Thinking(String),
    Call(StreamedCall),
}

#[derive(Debug)]
struct StreamedCall {
    /// The call's key in the stream; `None` after its end.
    key: Option<u64>,
    id: ToolCallId,
    name: String,
    args: String,
}

impl AnswerBuilder {
    /// Returns the next event for the agent.
    pub(crate) fn next_event(&mut self) -> Option<ModelEvent> {
        self.events.pop_front()
    }

    /// Adds text.
    ///
    /// # Errors
    /// When the answer is too large, as for all functions below.
    pub(crate) fn add_text(&mut self, delta: &str) -> Result<(), AnswerError> {
        if delta.is_empty() {
            return Ok(());
        }
        self.count_bytes(delta.len())?;
        match self.blocks.last_mut() {
            Some(AnswerBlock::Text(text)) if !self.separate => text.push_str(delta),
            _ => self.push(AnswerBlock::Text(delta.to_owned()))?,
        }
        self.events.push_back(ModelEvent::Text(delta.to_owned()));
        Ok(())
    }

    /// Adds thinking.
    pub(crate) fn add_thinking(&mut self, delta: &str) -> Result<(), AnswerError> {
        if delta.is_empty() {
            return Ok(());
        }
        self.count_bytes(delta.len())?;
        match self.blocks.last_mut() {
            Some(AnswerBlock::Thinking(text)) if !self.separate => text.push_str(delta),
            _ => self.push(AnswerBlock::Thinking(delta.to_owned()))?,
        }
        self.events.push_back(ModelEvent::Thinking(delta.to_owned()));
        Ok(())
    }

    /// Lets the next text or thinking begin a new block.
    pub(crate) fn end_block(&mut self) {
        self.separate = true;
    }

    /// Begins a tool call. `key` names the call in the stream. An id that is missing, or that another call has, is
    /// generated.
    pub(crate) fn begin_call(&mut self, key: u64, id: Option<&str>, name: &str) -> Result<(), AnswerError> {
        let is_new = |id: &&str| !id.is_empty() && !self.streamed_calls().any(|call| call.id.as_str() == *id);
        let id = match id.filter(is_new) {
            Some(id) => ToolCallId::new(id),
            None => ToolCallId::new(format!("call_{:016x}", RandomState::new().hash_one(()))),
        };
        self.count_bytes(id.as_str().len() + name.len())?;
        self.events.push_back(ModelEvent::ToolCallStart { id: id.clone(), name: name.to_owned() });
        self.push(AnswerBlock::Call(StreamedCall {
            key: Some(key),
            id,
            name: name.to_owned(),
            args: String::new(),
        }))
    }

    /// Adds a piece of a call's arguments; ignored for an unknown call.
    pub(crate) fn add_arguments(&mut self, key: u64, delta: &str) -> Result<(), AnswerError> {
        self.count_bytes(delta.len())?;
        let Some(call) = self.open_call(key).filter(|_| !delta.is_empty()) else { return Ok(()) };
        call.args.push_str(delta);
        let event = ModelEvent::ToolCallArgs { id: call.id.clone(), delta: delta.to_owned() };
        self.events.push_back(event);
        Ok(())
    }

    /// Adds the complete arguments of a call, unless they have arrived in pieces.
    pub(crate) fn complete_arguments(&mut self, key: u64, args: &str) -> Result<(), AnswerError> {
        match self.open_call(key).is_some_and(|call| call.args.trim().is_empty()) {
            true => self.add_arguments(key, args),
            false => Ok(()),
        }
    }

    /// Ends a call; ignored for an unknown call.
    pub(crate) fn end_call(&mut self, key: u64) {
        let Some(call) = self.open_call(key) else { return };
        call.key = None;
        let event = ModelEvent::ToolCallEnd { id: call.id.clone() };
        self.events.push_back(event);
        self.separate = true;
    }

    /// Ends all calls.
    pub(crate) fn end_calls(&mut self) {
        let open: Vec<u64> = self.streamed_calls().filter_map(|call| call.key).collect();
        open.into_iter().for_each(|key| self.end_call(key));
    }

    /// True if the answer has a tool call.
    pub(crate) fn has_calls(&self) -> bool {
        self.streamed_calls().next().is_some()
    }

    /// Counts bytes that a decoder keeps.
    pub(crate) fn count_bytes(&mut self, bytes: usize) -> Result<(), AnswerError> {
        self.size += bytes;
        if self.size > MAX_CONTENT && is_up(Defense::AnswerBudget) {
            let most = MAX_CONTENT / (1024 * 1024);
            return Err(limit_error(format_args!("the answer has more than {most} MiB of content")));
        }
        Ok(())
    }

    /// Returns the blocks of the complete answer.
    pub(crate) fn take_blocks(&mut self) -> Vec<AssistantBlock> {
        let blocks = std::mem::take(&mut self.blocks).into_iter();
        blocks
            .map(|block| match block {
                AnswerBlock::Text(text) => AssistantBlock::Text { text },
                AnswerBlock::Thinking(text) => AssistantBlock::Thinking { text },
                AnswerBlock::Call(StreamedCall { id, name, args, .. }) => {
                    AssistantBlock::ToolCall(ToolCall { id, name, args: parse_arguments(&args) })
                }
            })
            .collect()
    }

    fn streamed_calls(&self) -> impl Iterator<Item = &StreamedCall> {
        self.blocks.iter().filter_map(|block| match block {
            AnswerBlock::Call(call) => Some(call),
            AnswerBlock::Text(_) | AnswerBlock::Thinking(_) => None,
        })
    }

    fn open_call(&mut self, key: u64) -> Option<&mut StreamedCall> {
        self.blocks.iter_mut().rev().find_map(|block| match block {
            AnswerBlock::Call(call) if call.key == Some(key) => Some(call),
            AnswerBlock::Call(_) | AnswerBlock::Text(_) | AnswerBlock::Thinking(_) => None,
        })
    }

    fn push(&mut self, block: AnswerBlock) -> Result<(), AnswerError> {
        self.separate = false;
        self.blocks.push(block);
        if self.blocks.len() > MAX_BLOCKS && is_up(Defense::AnswerBudget) {
            return Err(limit_error(format_args!(
                "the answer has more than {MAX_BLOCKS} texts and tool calls"
            )));
        }
        self.count_bytes(BLOCK_COST)
    }
}

/// Returns the model's arguments unchanged if they are valid.
fn parse_arguments(text: &str) -> RawJson {
    if text.trim().is_empty() {
        return RawJson::empty_object();
    }
    RawJson::parse(text).ok().filter(RawJson::is_object).unwrap_or_else(|| wrap_invalid_args(text))
}
