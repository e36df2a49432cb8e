//! Decodes the events of an answer (<https://platform.openai.com/docs/api-reference/chat-streaming>).
//!
//! - Errors within an answer: <https://openrouter.ai/docs/api-reference/errors>.
//! - `reasoning_details`: <https://openrouter.ai/docs/use-cases/reasoning-tokens>.
//! - `reasoning_content`: <https://api-docs.deepseek.com/guides/thinking_mode>.
//! - Thinking in parts of `content`: <https://docs.mistral.ai/capabilities/reasoning/>.

use haft_protocol::RawJson;
use haft_protocol::message::StopCause;
use serde::Deserialize;
use serde_json::error::Category;
use serde_json::value::RawValue;

use super::calls::CallAssembler;
use super::details::DetailAssembler;
use super::json::{read_lenient, text_of};
use super::native::{NativeAnswer, ThinkingField};
use super::usage;
use crate::wire::json::JsonText;
use crate::wire::{AnswerBuilder, AnswerDecoder, AnswerError, ErrorResponse};

/// The decoder of one answer.
#[derive(Debug, Default)]
pub(super) struct ChatDecoder {
    calls: CallAssembler,
    details: DetailAssembler,
    field: Option<ThinkingField>,
    /// The reason why the provider stopped the answer.
    refusal: Option<String>,
    complete: bool,
}

/// A chunk of an answer.
#[derive(Deserialize)]
struct ChatChunk<'a> {
    #[serde(borrow)]
    object: Option<&'a RawValue>,
    #[serde(borrow)]
    choices: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    cost: Option<&'a RawValue>,
    /// Groq.
    #[serde(borrow)]
    x_groq: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct GroqData<'a> {
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct AnswerChoice<'a> {
    #[serde(borrow)]
    index: Option<&'a RawValue>,
    #[serde(borrow)]
    delta: Option<&'a RawValue>,
    /// The complete message, of a server that does not stream.
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    finish_reason: Option<&'a RawValue>,
    /// The reason of OpenRouter's provider.
    #[serde(borrow)]
    native_finish_reason: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    /// Moonshot.
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
}

/// A piece of the message.
#[derive(Deserialize)]
struct MessageDelta<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    refusal: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning_content: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning_text: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning_details: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_calls: Option<&'a RawValue>,
}

/// A part of `content`.
#[derive(Deserialize)]
struct ContentPart<'a> {
    #[serde(rename = "type", borrow)]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    refusal: Option<&'a RawValue>,
    #[serde(borrow)]
    thinking: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ErrorCode<'a> {
    #[serde(borrow)]
    code: Option<&'a RawValue>,
}

impl AnswerDecoder for ChatDecoder {
    fn read_event(&mut self, text: &str, answer: &mut AnswerBuilder) -> Result<(), AnswerError> {
        let event: ChatChunk<'_> = match serde_json::from_str(text) {
            Ok(event) => event,
            Err(_) if text.trim() == "[DONE]" => return Ok(()),
            // JSON of an unknown form.
            Err(error) if error.classify() == Category::Data => return Ok(()),
            Err(error) => return Err(AnswerError::invalid_event(&error)),
        };
        let choices: Vec<AnswerChoice<'_>> = read_lenient(event.choices).unwrap_or_default();
        // Other choices are alternative answers.
        let choice = choices.into_iter().find(|choice| read_lenient::<u64>(choice.index).unwrap_or(0) == 0);
        self.check_error(text, &event, choice.as_ref())?;
        let groq: Option<GroqData<'_>> = read_lenient(event.x_groq);
        let usages =
            [event.usage, choice.as_ref().and_then(|choice| choice.usage), groq.and_then(|data| data.usage)];
        usage::read(usages.into_iter().flatten().next(), event.cost, answer);
        match choice {
            Some(choice) => self.read_choice(&choice, answer),
            None => Ok(()),
        }
    }

    fn finish(&mut self, answer: &mut AnswerBuilder) -> Result<(), AnswerError> {
        if !self.complete {
            return Err(AnswerError::Truncated);
        }
        if let Some(refusal) = self.refusal.take() {
            return Err(AnswerError::Refused(refusal));
        }
        if answer.stop == Some(StopCause::End) && answer.has_calls() {
            answer.stop = Some(StopCause::ToolUse);
        }
        let native = NativeAnswer {
            field: self.field,
            details: self.details.take(),
            calls: std::mem::take(&mut self.calls.extras),
        };
        if !native.is_empty() {
            answer.native = RawJson::from_value(&native).ok();
        }
        Ok(())
    }
}

impl ChatDecoder {
    /// Checks that the event reports no error.
    ///
    /// # Errors
    /// The reported error. An error beside content is not one, unless it ends the answer.
    fn check_error(
        &self,
        text: &str,
        event: &ChatChunk<'_>,
        choice: Option<&AnswerChoice<'_>>,
    ) -> Result<(), AnswerError> {
        let reported = |error: Option<&'_ RawValue>| {
            error.is_some_and(|error| match error.get() {
                text if text.starts_with('{') => true,
                text => text.starts_with('"') && text != "\"\"",
            })
        };
        let reason: Option<JsonText<'_>> = choice.and_then(|choice| read_lenient(choice.finish_reason));
        let ends = choice.is_none() || reason.is_some_and(|reason| reason.as_str() == "error");
        if reported(event.error) && ends {
            return Err(error_in_answer(event.error, text.to_owned()));
        }
        if let Some(error) =
            choice.and_then(|choice| choice.error).filter(|error| reported(Some(error)) && ends)
        {
            return Err(error_in_answer(Some(error), format!("{{\"error\":{error}}}")));
        }
        // Old versions of vLLM.
        if choice.is_none()
            && read_lenient::<JsonText<'_>>(event.object).is_some_and(|kind| kind.as_str() == "error")
        {
            return Err(AnswerError::in_answer(text));
        }
        Ok(())
    }

    fn read_choice(
        &mut self,
        choice: &AnswerChoice<'_>,
        answer: &mut AnswerBuilder,
    ) -> Result<(), AnswerError> {
        let is_delta = choice.delta.is_some();
        let piece = if is_delta { choice.delta } else { choice.message };
        if let Some(delta) = read_lenient::<MessageDelta<'_>>(piece) {
            self.read_delta(&delta, is_delta, answer)?;
        }
        let reasons = [choice.finish_reason, choice.native_finish_reason];
        let reason = reasons.into_iter().find_map(|reason| {
            read_lenient::<JsonText<'_>>(reason).filter(|reason| !reason.as_str().is_empty())
        });
        if let Some(reason) = reason {
            self.complete = true;
            self.read_stop(reason.as_str(), answer);
        }
        Ok(())
    }

    fn read_delta(
        &mut self,
        delta: &MessageDelta<'_>,
        is_delta: bool,
        answer: &mut AnswerBuilder,
    ) -> Result<(), AnswerError> {
        let fields = [
            (ThinkingField::ReasoningContent, delta.reasoning_content),
            (ThinkingField::Reasoning, delta.reasoning),
            (ThinkingField::ReasoningText, delta.reasoning_text),
        ];
        // Servers that send several fields send the same text in each.
        let thinking = fields.into_iter().find_map(|(field, text)| {
            let text: JsonText<'_> = read_lenient(text)?;
            (!text.as_str().is_empty()).then_some((field, text))
        });
        let said = thinking.as_ref().map_or("", |(_, text)| text.as_str());
        let detailed = self.details.read(delta.reasoning_details, said, answer)?;
        match &thinking {
            Some((field, text)) => self.add_thinking(*field, text.as_str(), answer)?,
            None => self.add_thinking(ThinkingField::Reasoning, &detailed, answer)?,
        }
        self.read_content(delta, answer)?;
        let calls: Vec<&RawValue> = read_lenient(delta.tool_calls).unwrap_or_default();
        for (position, call) in calls.into_iter().enumerate() {
            self.calls.read_piece(call, (!is_delta).then_some(position as u64), answer)?;
        }
        Ok(())
    }

    fn add_thinking(
        &mut self,
        field: ThinkingField,
        text: &str,
        answer: &mut AnswerBuilder,
    ) -> Result<(), AnswerError> {
        if !text.is_empty() {
            self.field.get_or_insert(field);
        }
        answer.add_thinking(text)
    }

    fn read_content(
        &mut self,
        delta: &MessageDelta<'_>,
        answer: &mut AnswerBuilder,
    ) -> Result<(), AnswerError> {
        let content = delta.content.map_or("", RawValue::get);
        if content.starts_with('[') {
            let parts: Vec<ContentPart<'_>> = read_lenient(delta.content).unwrap_or_default();
            return parts.iter().try_for_each(|part| self.read_part(part, answer));
        }
        if content.starts_with('{') {
            return read_lenient(delta.content).map_or(Ok(()), |part| self.read_part(&part, answer));
        }
        add_text(delta.content, answer)?;
        add_text(delta.refusal, answer)
    }

    fn read_part(&mut self, part: &ContentPart<'_>, answer: &mut AnswerBuilder) -> Result<(), AnswerError> {
        let kind: Option<JsonText<'_>> = read_lenient(part.kind);
        match kind.as_ref().map(JsonText::as_str) {
            Some("text") | None => add_text(part.text, answer),
            Some("refusal") => add_text(part.refusal, answer),
            Some("thinking") => {
                let parts: Option<Vec<ContentPart<'_>>> = read_lenient(part.thinking);
                let texts =
                    parts.map_or(vec![part.thinking], |parts| parts.iter().map(|part| part.text).collect());
                for text in texts.into_iter().filter_map(read_lenient::<JsonText<'_>>) {
                    self.add_thinking(ThinkingField::Content, text.as_str(), answer)?;
                }
                Ok(())
            }
            // Images, references, and parts that are newer than this module.
            Some(_) => Ok(()),
        }
    }

    fn read_stop(&mut self, reason: &str, answer: &mut AnswerBuilder) {
        answer.stop = Some(match reason.to_ascii_lowercase().as_str() {
            "tool_calls" | "function_call" | "tool_use" => StopCause::ToolUse,
            "length"
            | "max_tokens"
            | "max_output_tokens"
            | "model_length"
            | "model_context_window_exceeded" => StopCause::Length,
            // The filters of OpenAI, of Z.AI, and of the providers behind OpenRouter; then failures of the server.
            "content_filter"
            | "sensitive"
            | "safety"
            | "blocklist"
            | "prohibited_content"
            | "spii"
            | "insufficient_system_resource"
            | "network_error"
            | "error" => {
                self.refusal = Some(reason.to_owned());
                StopCause::End
            }
            // `stop`, its many other names, and reasons that are newer than this module.
            _ => StopCause::End,
        });
    }
}

fn add_text(text: Option<&RawValue>, answer: &mut AnswerBuilder) -> Result<(), AnswerError> {
    read_lenient::<JsonText<'_>>(text).map_or(Ok(()), |text| answer.add_text(text.as_str()))
}

/// Returns the error that an event reports. Its code is often an HTTP status.
fn error_in_answer(error: Option<&RawValue>, body: String) -> AnswerError {
    let code = read_lenient::<ErrorCode<'_>>(error).and_then(|error| error.code).and_then(text_of);
    let status = code.and_then(|code| code.parse().ok()).filter(|code| (400..600).contains(code));
    AnswerError::Response(Box::new(ErrorResponse { status, body, ..ErrorResponse::default() }))
}
