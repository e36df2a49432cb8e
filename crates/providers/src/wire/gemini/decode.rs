//! Decodes the chunks of an answer (<https://ai.google.dev/api/generate-content#v1beta.GenerateContentResponse>).
//!
//! The end of the stream ends the answer, not its first `finishReason`: a tool of the server can follow it.

use haft_protocol::RawJson;
use haft_protocol::message::{StopCause, TokenUsage};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::native::{NativePart, PartKind};
use crate::limits::BLOCK_COST;
use crate::wire::json::{JsonText, arguments_text};
use crate::wire::{AnswerBuilder, AnswerDecoder, AnswerError, ErrorResponse};

/// The decoder of one answer.
#[derive(Debug, Default)]
pub(super) struct ContentDecoder {
    /// The parts so far, for the native form.
    parts: Vec<NativePart>,
    /// The text or thought that the next part may continue.
    open: Option<OpenText>,
    /// A signature that arrived before its part.
    signature: Option<String>,
    /// The number of calls so far.
    calls: u64,
    finish: Option<FinishState>,
}

#[derive(Debug)]
struct OpenText {
    thought: bool,
    said: bool,
    signature: Option<String>,
}

#[derive(Debug)]
struct FinishState {
    reason: String,
    message: Option<String>,
}

/// The reasons with which the API withholds an answer.
const FILTERS: [&str; 7] = [
    "SAFETY",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT",
    "MODEL_ARMOR",
];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ContentChunk<'a> {
    #[serde(borrow)]
    candidates: Option<Vec<AnswerCandidate<'a>>>,
    #[serde(borrow)]
    usage_metadata: Option<&'a RawValue>,
    #[serde(borrow)]
    prompt_feedback: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AnswerCandidate<'a> {
    #[serde(borrow)]
    content: Option<ReceivedContent<'a>>,
    #[serde(borrow)]
    finish_reason: Option<&'a RawValue>,
    #[serde(borrow)]
    finish_message: Option<JsonText<'a>>,
}

#[derive(Deserialize)]
struct ReceivedContent<'a> {
    #[serde(borrow)]
    parts: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReceivedPart<'a> {
    #[serde(borrow)]
    text: Option<JsonText<'a>>,
    thought: Option<bool>,
    #[serde(borrow)]
    thought_signature: Option<JsonText<'a>>,
    #[serde(borrow)]
    function_call: Option<ReceivedCall<'a>>,
}

/// A part without data.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "only the names of the fields matter")]
struct EmptyPart<'a> {
    thought: Option<bool>,
    #[serde(borrow)]
    thought_signature: Option<&'a RawValue>,
    #[serde(borrow)]
    part_metadata: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ReceivedCall<'a> {
    #[serde(borrow)]
    id: Option<JsonText<'a>>,
    #[serde(borrow)]
    name: Option<JsonText<'a>>,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
}

/// The tokens so far. Absent counts are zero.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct UsageMetadata {
    /// Includes cached tokens.
    prompt_token_count: u64,
    tool_use_prompt_token_count: u64,
    cached_content_token_count: u64,
    candidates_token_count: u64,
    thoughts_token_count: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PromptFeedback<'a> {
    #[serde(borrow)]
    block_reason: Option<&'a RawValue>,
    #[serde(borrow)]
    safety_ratings: Option<Vec<SafetyRating<'a>>>,
}

#[derive(Deserialize)]
struct SafetyRating<'a> {
    #[serde(borrow)]
    category: Option<&'a RawValue>,
    #[serde(borrow)]
    probability: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ReportedError {
    /// The HTTP status.
    code: u16,
}

impl AnswerDecoder for ContentDecoder {
    fn read_event(&mut self, text: &str, answer: &mut AnswerBuilder) -> Result<(), AnswerError> {
        let chunk: ContentChunk<'_> =
            serde_json::from_str(text).map_err(|error| AnswerError::invalid_event(&error))?;
        if let Some(error) = chunk.error {
            return Err(reported_error(text, error));
        }
        if let Some(usage) = chunk.usage_metadata.and_then(|usage| serde_json::from_str(usage.get()).ok()) {
            count(&usage, answer);
        }
        if let Some(error) = chunk.prompt_feedback.and_then(blocked_prompt) {
            return Err(error);
        }
        let Some(candidate) = chunk.candidates.and_then(|candidates| candidates.into_iter().next()) else {
            return Ok(());
        };
        for part in candidate.content.and_then(|content| content.parts).unwrap_or_default() {
            self.read_part(part, answer)?;
        }
        if let Some(reason) = candidate.finish_reason
            && !self.finish.as_ref().is_some_and(FinishState::is_filter)
        {
            let message = candidate.finish_message.map(|message| message.as_str().to_owned());
            self.finish = Some(FinishState { reason: enum_name(reason).to_owned(), message });
        }
        Ok(())
    }

    fn finish(&mut self, answer: &mut AnswerBuilder) -> Result<(), AnswerError> {
        let Some(finish) = self.finish.take() else { return Err(AnswerError::Truncated) };
        self.end_text();
        if let Some(signature) = self.signature.take() {
            self.parts.push(NativePart::new(PartKind::EmptyText, Some(signature)));
        }
        answer.stop = Some(match finish.reason.as_str() {
            "MAX_TOKENS" => StopCause::Length,
            "STOP" => StopCause::End,
            // Other reasons, such as `MALFORMED_FUNCTION_CALL`, must not fail what the model has said.
            _ if finish.is_filter() || self.parts.is_empty() => return Err(finish.into_refusal()),
            _ => StopCause::End,
        });
        if answer.stop == Some(StopCause::End) && answer.has_calls() {
            answer.stop = Some(StopCause::ToolUse);
        }
        if !self.parts.iter().all(NativePart::is_portable) {
            answer.native = RawJson::from_value(&self.parts).ok();
        }
        Ok(())
    }
}

impl ContentDecoder {
    fn read_part(&mut self, raw: &RawValue, answer: &mut AnswerBuilder) -> Result<(), AnswerError> {
        if !raw.get().starts_with('{') {
            return Ok(());
        }
        let Ok(part) = serde_json::from_str::<ReceivedPart<'_>>(raw.get()) else {
            return self.add_other(raw, answer);
        };
        let signature = part.thought_signature.as_ref().map(JsonText::as_str);
        let signature = signature.filter(|signature| is_base64(signature)).map(str::to_owned);
        answer.count_bytes(signature.as_ref().map_or(0, |signature| signature.len() + BLOCK_COST))?;
        if let Some(text) = &part.text {
            return self.add_text(text.as_str(), part.thought == Some(true), signature, answer);
        }
        if let Some(call) = &part.function_call {
            return self.add_call(call, signature, answer);
        }
        if serde_json::from_str::<EmptyPart<'_>>(raw.get()).is_err() {
            return self.add_other(raw, answer);
        }
        let Some(signature) = signature else { return Ok(()) };
        if let Some(open) = &self.open {
            return self.add_text("", open.thought, Some(signature), answer);
        }
        match self.parts.last_mut() {
            Some(last) if last.lacks_signature() => last.add_signature(signature),
            Some(_) => self.parts.push(NativePart::new(PartKind::EmptyText, Some(signature))),
            None => self.signature = Some(signature),
        }
        Ok(())
    }

    /// Adds a piece of text. A second signature begins a new part, because the first one must stay with its part.
    fn add_text(
        &mut self,
        text: &str,
        thought: bool,
        signature: Option<String>,
        answer: &mut AnswerBuilder,
    ) -> Result<(), AnswerError> {
        if text.is_empty() && signature.is_none() {
            return Ok(());
        }
        let continues = self
            .open
            .as_ref()
            .is_some_and(|open| open.thought == thought && (open.signature.is_none() || signature.is_none()));
        if !continues {
            self.end_text();
            answer.end_block();
        }
        let early = self.signature.take();
        let open = self.open.get_or_insert(OpenText { thought, said: false, signature: early });
        open.said |= !text.is_empty();
        open.signature = signature.or(open.signature.take());
        if thought { answer.add_thinking(text) } else { answer.add_text(text) }
    }

    /// Adds a call; a call without a name is ignored, because nothing can answer it.
    fn add_call(
        &mut self,
        call: &ReceivedCall<'_>,
        signature: Option<String>,
        answer: &mut AnswerBuilder,
    ) -> Result<(), AnswerError> {
        let Some(name) = call.name.as_ref().map(JsonText::as_str).filter(|name| !name.is_empty()) else {
            return Ok(());
        };
        self.end_text();
        let key = self.calls;
        self.calls += 1;
        answer.begin_call(key, call.id.as_ref().map(JsonText::as_str), name)?;
        if let Some(args) = call.args {
            answer.add_arguments(key, &arguments_text(args))?;
        }
        answer.end_call(key);
        let signature = signature.or(self.signature.take());
        self.parts.push(NativePart::new(PartKind::Call, signature));
        Ok(())
    }

    fn add_other(&mut self, raw: &RawValue, answer: &mut AnswerBuilder) -> Result<(), AnswerError> {
        answer.count_bytes(raw.get().len() + BLOCK_COST)?;
        self.end_text();
        answer.end_block();
        self.parts.push(NativePart::new(PartKind::Other(raw.to_owned()), None));
        Ok(())
    }

    fn end_text(&mut self) {
        let Some(OpenText { thought, said, signature }) = self.open.take() else { return };
        let kind = match (thought, said) {
            (false, true) => PartKind::Text,
            (true, true) => PartKind::Thought,
            (false, false) => PartKind::EmptyText,
            (true, false) => PartKind::EmptyThought,
        };
        self.parts.push(NativePart::new(kind, signature));
    }
}

impl FinishState {
    fn is_filter(&self) -> bool {
        FILTERS.contains(&self.reason.as_str())
    }

    fn into_refusal(self) -> AnswerError {
        AnswerError::Refused(match self.message {
            Some(message) => format!("{}: {message}", self.reason),
            None => self.reason,
        })
    }
}

/// Returns the error that a chunk reports. Its code is an HTTP status.
fn reported_error(chunk: &str, error: &RawValue) -> AnswerError {
    let reported = serde_json::from_str::<ReportedError>(error.get()).ok();
    let status = reported.map(|error| error.code).filter(|code| (400..600).contains(code));
    let body = chunk.to_owned();
    AnswerError::Response(Box::new(ErrorResponse { status, body, ..ErrorResponse::default() }))
}

/// Returns the error of a prompt that the API does not answer.
fn blocked_prompt(feedback: &RawValue) -> Option<AnswerError> {
    let feedback: PromptFeedback<'_> = serde_json::from_str(feedback.get()).ok()?;
    let reason = enum_name(feedback.block_reason?);
    if matches!(reason, "BLOCK_REASON_UNSPECIFIED" | "0") {
        return None;
    }
    let name = |value: Option<&'_ RawValue>| value.map_or("", enum_name).to_owned();
    let ratings = feedback.safety_ratings.unwrap_or_default();
    let ratings: Vec<String> = ratings
        .iter()
        .map(|rating| format!("{} {}", name(rating.category), name(rating.probability)))
        .collect();
    let body = match ratings.is_empty() {
        true => "the prompt was blocked".to_owned(),
        false => format!("the prompt was blocked: {}", ratings.join(", ")),
    };
    let code = Some(reason.to_owned());
    Some(AnswerError::Response(Box::new(ErrorResponse { code, body, ..ErrorResponse::default() })))
}

/// Returns the name of an enum's value, which is a number if the server does not know its name.
fn enum_name(value: &RawValue) -> &str {
    value.get().trim_matches('"')
}

fn count(usage: &UsageMetadata, answer: &mut AnswerBuilder) {
    let input = usage.prompt_token_count.saturating_add(usage.tool_use_prompt_token_count);
    answer.usage = TokenUsage::default()
        .with_input(input.saturating_sub(usage.cached_content_token_count))
        .with_output(usage.candidates_token_count.saturating_add(usage.thoughts_token_count))
        .with_cache_read(usage.cached_content_token_count);
}

/// True for base64, because the API rejects a request with any other signature.
fn is_base64(text: &str) -> bool {
    let data = text.trim_end_matches('=');
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_');
    !data.is_empty() && text.len() - data.len() <= 2 && data.len() % 4 != 1 && data.bytes().all(is_digit)
}
