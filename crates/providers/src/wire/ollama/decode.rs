//! Decodes the lines of an answer (<https://docs.ollama.com/api/chat>, <https://docs.ollama.com/api/streaming>).

use haft_protocol::RawJson;
use haft_protocol::message::{StopCause, TokenUsage};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::think_tags::ThinkTags;
use crate::wire::json::{JsonText, arguments_text};
use crate::wire::{AnswerBuilder, AnswerDecoder, AnswerError};

/// The decoder of one answer.
#[derive(Debug, Default)]
pub(super) struct OllamaDecoder {
    tags: ThinkTags,
    /// The number of calls so far.
    calls: u64,
    complete: bool,
}

#[derive(Deserialize)]
struct AnswerLine<'a> {
    #[serde(borrow)]
    message: Option<LineMessage<'a>>,
    done: Option<bool>,
    #[serde(borrow)]
    done_reason: Option<JsonText<'a>>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct LineMessage<'a> {
    #[serde(borrow)]
    thinking: Option<JsonText<'a>>,
    #[serde(borrow)]
    content: Option<JsonText<'a>>,
    #[serde(borrow)]
    tool_calls: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
struct LineCall<'a> {
    #[serde(borrow)]
    id: Option<JsonText<'a>>,
    #[serde(borrow)]
    function: LineFunction<'a>,
}

#[derive(Deserialize)]
struct LineFunction<'a> {
    #[serde(borrow)]
    name: JsonText<'a>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

/// The tokens in the last line. Absent counts are zero.
#[derive(Default, Deserialize)]
#[serde(default)]
struct OllamaUsage {
    /// Includes cached tokens.
    prompt_eval_count: u64,
    prompt_eval_cached_count: u64,
    eval_count: u64,
}

impl AnswerDecoder for OllamaDecoder {
    fn read_event(&mut self, text: &str, answer: &mut AnswerBuilder) -> Result<(), AnswerError> {
        let line: AnswerLine<'_> =
            serde_json::from_str(text).map_err(|error| AnswerError::invalid_event(&error))?;
        if line.error.is_some() {
            return Err(AnswerError::in_answer(text));
        }
        if self.complete {
            return Ok(());
        }
        if let Some(message) = line.message {
            self.read_message(&message, answer)?;
        }
        if line.done == Some(true) {
            self.complete = true;
            self.tags.finish(answer)?;
            count(&serde_json::from_str(text).unwrap_or_default(), answer);
            answer.stop = Some(match line.done_reason.as_ref().map(JsonText::as_str) {
                Some("length") => StopCause::Length,
                // `stop`, and reasons that are newer than this module.
                Some(_) | None if answer.has_calls() => StopCause::ToolUse,
                Some(_) | None => StopCause::End,
            });
        }
        Ok(())
    }

    fn finish(&mut self, answer: &mut AnswerBuilder) -> Result<(), AnswerError> {
        if !self.complete {
            return Err(AnswerError::Truncated);
        }
        if self.tags.has_thought() {
            // The model gets back its own thinking as such. Its text is in the portable message.
            answer.native = RawJson::from_value(&true).ok();
        }
        Ok(())
    }
}

impl OllamaDecoder {
    fn read_message(
        &mut self,
        message: &LineMessage<'_>,
        answer: &mut AnswerBuilder,
    ) -> Result<(), AnswerError> {
        if let Some(thinking) = &message.thinking {
            self.tags.add_thinking(thinking.as_str(), answer)?;
        }
        if let Some(content) = &message.content {
            self.tags.add_content(content.as_str(), answer)?;
        }
        for call in message.tool_calls.iter().flatten() {
            // A call without a name is ignored, because nothing can answer it.
            if let Ok(call) = serde_json::from_str::<LineCall<'_>>(call.get())
                && !call.function.name.as_str().is_empty()
            {
                self.add_call(&call, answer)?;
            }
        }
        Ok(())
    }

    fn add_call(&mut self, call: &LineCall<'_>, answer: &mut AnswerBuilder) -> Result<(), AnswerError> {
        self.tags.finish(answer)?;
        let key = self.calls;
        self.calls += 1;
        answer.begin_call(key, call.id.as_ref().map(JsonText::as_str), call.function.name.as_str())?;
        if let Some(args) = call.function.arguments {
            answer.add_arguments(key, &arguments_text(args))?;
        }
        answer.end_call(key);
        Ok(())
    }
}

fn count(usage: &OllamaUsage, answer: &mut AnswerBuilder) {
    answer.usage = TokenUsage::default()
        .with_input(usage.prompt_eval_count.saturating_sub(usage.prompt_eval_cached_count))
        .with_output(usage.eval_count)
        .with_cache_read(usage.prompt_eval_cached_count);
}
