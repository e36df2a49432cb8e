//! The native form of an answer: its parts in order, with their signatures.
//!
//! Texts and calls are taken from the portable message, so that the session does not store them twice.

use std::borrow::Cow;

use haft_protocol::RawJson;
use haft_protocol::content::ToolCall;
use haft_protocol::message::{AssistantBlock, AssistantMessage};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{GeminiCall, GeminiContent, GeminiPart, PartData, TypedPart};
use crate::wire::turn::object_arguments;

/// A part of the answer.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct NativePart {
    part: PartKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signature: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum PartKind {
    /// The next text of the portable message.
    Text,
    /// The next thinking of the portable message.
    Thought,
    /// The next call of the portable message.
    Call,
    /// A signature without text.
    EmptyText,
    EmptyThought,
    /// Any other part, as the API sent it: images, code that the server ran.
    Other(Box<RawValue>),
}

impl NativePart {
    pub(super) fn new(part: PartKind, signature: Option<String>) -> Self {
        Self { part, signature }
    }

    /// True if the portable message has everything about the part.
    pub(super) fn is_portable(&self) -> bool {
        matches!(self.part, PartKind::Text | PartKind::Call) && self.signature.is_none()
    }

    /// True if a signature can be added.
    pub(super) fn lacks_signature(&self) -> bool {
        self.signature.is_none() && !matches!(self.part, PartKind::Other(_))
    }

    /// Adds a signature that arrived behind its part.
    pub(super) fn add_signature(&mut self, signature: String) {
        self.signature = Some(signature);
    }
}

/// The signature of a call of another model, which the API accepts in place of its own.
const FOREIGN_CALL: &str = "skip_thought_signature_validator";

/// Returns the parts of an answer: with signatures if the same model wrote it, otherwise only texts and calls.
pub(super) fn assistant_parts<'a>(
    format: &GeminiContent,
    message: &'a AssistantMessage,
    native: Option<&RawJson>,
) -> Vec<GeminiPart<'a>> {
    native
        .and_then(|native| signed_parts(format, message, native))
        .unwrap_or_else(|| portable_parts(format, message))
}

/// Returns `None` if the message was changed after the model wrote it.
fn signed_parts<'a>(
    format: &GeminiContent,
    message: &'a AssistantMessage,
    native: &RawJson,
) -> Option<Vec<GeminiPart<'a>>> {
    let stored: Vec<NativePart> = native.read().ok()?;
    let mut said = message.content.iter();
    let mut parts = Vec::with_capacity(stored.len());
    let mut first_call = true;
    for NativePart { part, signature } in stored {
        let signature = signature.map(Cow::Owned);
        parts.push(match part {
            PartKind::Other(part) => GeminiPart::Raw(part),
            PartKind::EmptyText => text_part("", false, signature),
            PartKind::EmptyThought => text_part("", true, signature),
            PartKind::Text => match said.next()? {
                AssistantBlock::Text { text } => text_part(text, false, signature),
                AssistantBlock::Thinking { .. } | AssistantBlock::ToolCall(_) => return None,
            },
            PartKind::Thought => match said.next()? {
                AssistantBlock::Thinking { text } => text_part(text, true, signature),
                AssistantBlock::Text { .. } | AssistantBlock::ToolCall(_) => return None,
            },
            PartKind::Call => match said.next()? {
                // The API signs only the first of parallel calls.
                AssistantBlock::ToolCall(call) => {
                    let foreign = std::mem::take(&mut first_call).then_some(FOREIGN_CALL);
                    call_part(format, call, signature.or(foreign.map(Cow::Borrowed)))
                }
                AssistantBlock::Text { .. } | AssistantBlock::Thinking { .. } => return None,
            },
        });
    }
    said.next().is_none().then_some(parts)
}

/// Thinking of another model is sent as text, because the model did not think it itself.
fn portable_parts<'a>(format: &GeminiContent, message: &'a AssistantMessage) -> Vec<GeminiPart<'a>> {
    let parts = message.content.iter().filter_map(|block| match block {
        AssistantBlock::Text { text } | AssistantBlock::Thinking { text } => {
            (!text.trim().is_empty()).then(|| text_part(text, false, None))
        }
        AssistantBlock::ToolCall(call) => {
            (!call.name.is_empty()).then(|| call_part(format, call, Some(FOREIGN_CALL.into())))
        }
    });
    parts.collect()
}

fn text_part<'a>(text: &'a str, thought: bool, thought_signature: Option<Cow<'a, str>>) -> GeminiPart<'a> {
    GeminiPart::Typed(TypedPart { data: PartData::Text(text.into()), thought, thought_signature })
}

fn call_part<'a>(
    format: &GeminiContent,
    call: &'a ToolCall,
    signature: Option<Cow<'a, str>>,
) -> GeminiPart<'a> {
    let data =
        GeminiCall { id: format.call_id(call.id.as_str()), name: &call.name, args: object_arguments(call) };
    // Older models have no placeholder for a missing signature, and need none.
    let thought_signature = signature.filter(|signature| format.is_gemini_3 || signature != FOREIGN_CALL);
    GeminiPart::Typed(TypedPart { data: PartData::FunctionCall(data), thought: false, thought_signature })
}
