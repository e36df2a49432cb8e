//! Decodes the events of an answer (<https://docs.anthropic.com/en/docs/build-with-claude/streaming>).

use haft_protocol::RawJson;
use haft_protocol::message::StopCause;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::native::NativeBlock;
use crate::wire::json::JsonText;
use crate::wire::{AnswerBuilder, AnswerDecoder, AnswerError};

/// The decoder of one answer.
#[derive(Debug, Default)]
pub(super) struct MessagesDecoder {
    /// The blocks so far, for the native form.
    blocks: Vec<NativeBlock>,
    /// The block that has begun and not ended.
    open: Option<OpenBlock>,
    refusal: Option<String>,
    complete: bool,
}

#[derive(Debug)]
enum OpenBlock {
    Text { said: bool },
    Thinking { said: bool, signature: String },
    Call { index: u64, input: Box<RawValue> },
    Other(Box<RawValue>),
}

#[derive(Deserialize)]
struct MessagesEvent<'a> {
    #[serde(rename = "type", borrow)]
    kind: JsonText<'a>,
    index: Option<u64>,
    message: Option<StartedMessage>,
    #[serde(borrow)]
    content_block: Option<&'a RawValue>,
    #[serde(borrow)]
    delta: Option<MessagesDelta<'a>>,
    usage: Option<MessagesUsage>,
}

#[derive(Deserialize)]
struct StartedMessage {
    usage: Option<MessagesUsage>,
}

#[derive(Deserialize)]
struct StartedBlock<'a> {
    #[serde(rename = "type", borrow)]
    kind: JsonText<'a>,
    #[serde(borrow)]
    text: Option<JsonText<'a>>,
    #[serde(borrow)]
    thinking: Option<JsonText<'a>>,
    #[serde(borrow)]
    signature: Option<JsonText<'a>>,
    #[serde(borrow)]
    id: Option<JsonText<'a>>,
    #[serde(borrow)]
    name: Option<JsonText<'a>>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
}

/// A piece of a block, or of the message.
#[derive(Deserialize)]
struct MessagesDelta<'a> {
    #[serde(borrow)]
    text: Option<JsonText<'a>>,
    #[serde(borrow)]
    thinking: Option<JsonText<'a>>,
    #[serde(borrow)]
    signature: Option<JsonText<'a>>,
    #[serde(borrow)]
    partial_json: Option<JsonText<'a>>,
    #[serde(borrow)]
    stop_reason: Option<JsonText<'a>>,
    #[serde(borrow)]
    stop_details: Option<StopDetails<'a>>,
}

#[derive(Deserialize)]
struct StopDetails<'a> {
    #[serde(borrow)]
    explanation: Option<JsonText<'a>>,
}

/// The tokens so far. The first event has those of the input; later ones may repeat them.
#[derive(Deserialize)]
struct MessagesUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
}

impl AnswerDecoder for MessagesDecoder {
    fn read_event(&mut self, text: &str, answer: &mut AnswerBuilder) -> Result<(), AnswerError> {
        let event: MessagesEvent<'_> =
            serde_json::from_str(text).map_err(|error| AnswerError::invalid_event(&error))?;
        match (event.kind.as_str(), event.delta, event.content_block) {
            ("error", ..) => return Err(AnswerError::in_answer(text)),
            ("message_start", ..) => count(event.message.and_then(|message| message.usage), answer),
            ("content_block_start", _, Some(block)) => {
                self.end_block(answer)?;
                self.begin_block(event.index.unwrap_or_default(), block, answer)?;
            }
            ("content_block_delta", Some(delta), _) => {
                self.add(event.index.unwrap_or_default(), &delta, answer)?
            }
            ("content_block_stop", ..) => self.end_block(answer)?,
            ("message_delta", delta, _) => {
                count(event.usage, answer);
                if let Some(delta) = delta {
                    self.read_stop(&delta, answer);
                }
            }
            ("message_stop", ..) => self.complete = true,
            // `ping`, and events that are newer than this module.
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self, answer: &mut AnswerBuilder) -> Result<(), AnswerError> {
        if !self.complete {
            return Err(AnswerError::Truncated);
        }
        self.end_block(answer)?;
        if let Some(refusal) = self.refusal.take() {
            return Err(AnswerError::Refused(refusal));
        }
        let portable = |block: &NativeBlock| matches!(block, NativeBlock::Text | NativeBlock::Call);
        if !self.blocks.iter().all(portable) {
            answer.native = RawJson::from_value(&self.blocks).ok();
        }
        Ok(())
    }
}

impl MessagesDecoder {
    fn begin_block(
        &mut self,
        index: u64,
        block: &RawValue,
        answer: &mut AnswerBuilder,
    ) -> Result<(), AnswerError> {
        let started: StartedBlock<'_> =
            serde_json::from_str(block.get()).map_err(|error| AnswerError::invalid_event(&error))?;
        let given = |text: &Option<JsonText<'_>>| text.as_ref().map_or("", JsonText::as_str).to_owned();
        answer.end_block();
        self.open = Some(match started.kind.as_str() {
            "text" => OpenBlock::Text { said: false },
            "thinking" => OpenBlock::Thinking { said: false, signature: String::new() },
            "tool_use" => {
                answer.begin_call(index, Some(&given(&started.id)), &given(&started.name))?;
                let input = started.input.unwrap_or(RawValue::NULL).to_owned();
                OpenBlock::Call { index, input }
            }
            _ => {
                answer.count_bytes(block.get().len())?;
                OpenBlock::Other(block.to_owned())
            }
        });
        let StartedBlock { text, thinking, signature, .. } = started;
        let delta = MessagesDelta {
            text,
            thinking,
            signature,
            partial_json: None,
            stop_reason: None,
            stop_details: None,
        };
        self.add(index, &delta, answer)
    }

    fn add(
        &mut self,
        index: u64,
        delta: &MessagesDelta<'_>,
        answer: &mut AnswerBuilder,
    ) -> Result<(), AnswerError> {
        match &mut self.open {
            Some(OpenBlock::Text { said }) => {
                if let Some(text) = &delta.text {
                    *said |= !text.as_str().is_empty();
                    answer.add_text(text.as_str())?;
                }
            }
            Some(OpenBlock::Thinking { said, signature }) => {
                if let Some(thinking) = &delta.thinking {
                    *said |= !thinking.as_str().is_empty();
                    answer.add_thinking(thinking.as_str())?;
                }
                if let Some(signed) = &delta.signature {
                    answer.count_bytes(signed.as_str().len())?;
                    signature.push_str(signed.as_str());
                }
            }
            Some(OpenBlock::Call { index: open, .. }) if *open == index => {
                if let Some(piece) = &delta.partial_json {
                    answer.add_arguments(index, piece.as_str())?;
                }
            }
            Some(OpenBlock::Call { .. } | OpenBlock::Other(_)) | None => {}
        }
        Ok(())
    }

    fn end_block(&mut self, answer: &mut AnswerBuilder) -> Result<(), AnswerError> {
        match self.open.take() {
            Some(OpenBlock::Text { said: true }) => self.blocks.push(NativeBlock::Text),
            Some(OpenBlock::Thinking { said: true, signature }) => {
                self.blocks.push(NativeBlock::Thinking(signature))
            }
            Some(OpenBlock::Thinking { said: false, signature }) if !signature.is_empty() => {
                self.blocks.push(NativeBlock::Signature(signature));
            }
            Some(OpenBlock::Call { index, input }) => {
                // The input that a block begins with is empty, unless the server does not send it in pieces.
                if !matches!(input.get(), "{}" | "null") {
                    answer.complete_arguments(index, input.get())?;
                }
                answer.end_call(index);
                self.blocks.push(NativeBlock::Call);
            }
            Some(OpenBlock::Other(block)) => self.blocks.push(NativeBlock::Other(block)),
            Some(OpenBlock::Text { said: false } | OpenBlock::Thinking { said: false, .. }) | None => {}
        }
        Ok(())
    }

    fn read_stop(&mut self, delta: &MessagesDelta<'_>, answer: &mut AnswerBuilder) {
        let Some(reason) = &delta.stop_reason else { return };
        answer.stop = Some(match reason.as_str() {
            "tool_use" => StopCause::ToolUse,
            "max_tokens" | "model_context_window_exceeded" => StopCause::Length,
            "refusal" => {
                let details = delta.stop_details.as_ref().and_then(|details| details.explanation.as_ref());
                self.refusal = Some(details.map_or("refusal", JsonText::as_str).to_owned());
                StopCause::End
            }
            // `end_turn`, `stop_sequence`, `pause_turn`, and reasons that are newer than this module.
            _ => StopCause::End,
        });
    }
}

fn count(usage: Option<MessagesUsage>, answer: &mut AnswerBuilder) {
    let Some(usage) = usage else { return };
    let counted = &mut answer.usage;
    counted.input = usage.input_tokens.unwrap_or(counted.input);
    counted.output = usage.output_tokens.unwrap_or(counted.output);
    counted.cache_read = usage.cache_read_input_tokens.unwrap_or(counted.cache_read);
    counted.cache_write = usage.cache_creation_input_tokens.unwrap_or(counted.cache_write);
}
