//! The native form of an answer: what the same model needs back and the portable message does not have.
//!
//! Texts are taken from the portable message, so that the session does not store them twice.

use std::collections::BTreeMap;

use haft_protocol::message::{AssistantBlock, AssistantMessage};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The fields of an object, in the order of their names.
pub(super) type RawFields = BTreeMap<String, Box<RawValue>>;

/// The native form of an answer.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct NativeAnswer {
    /// The field of the thinking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) field: Option<ThinkingField>,
    /// The entries of `reasoning_details`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) details: Vec<NativeDetail>,
    /// Additional fields of calls, by the position of the call: signatures of Gemini.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) calls: BTreeMap<usize, RawFields>,
}

/// The field of a message that has the thinking. It is sent back in the same field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ThinkingField {
    ReasoningContent,
    Reasoning,
    ReasoningText,
    /// Mistral: parts of `content`.
    Content,
}

/// An entry of `reasoning_details`.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct NativeDetail {
    /// The field with text, and its length in bytes. The text is the next part of the message's thinking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<(String, usize)>,
    pub(super) fields: RawFields,
}

/// An entry of `reasoning_details` with its text.
#[derive(Debug, Serialize)]
pub(super) struct FilledDetail<'a> {
    #[serde(flatten)]
    text: Option<BTreeMap<&'a str, &'a str>>,
    #[serde(flatten)]
    fields: &'a RawFields,
}

impl NativeAnswer {
    /// True if the portable message has everything.
    pub(super) fn is_empty(&self) -> bool {
        self.field.is_none() && self.details.is_empty() && self.calls.is_empty()
    }

    /// Returns the entries of `reasoning_details`; `None` if the thinking is not the one that they were made with.
    pub(super) fn fill_details<'a>(&'a self, thinking: &'a str) -> Option<Vec<FilledDetail<'a>>> {
        let mut rest = thinking;
        let mut details = Vec::with_capacity(self.details.len());
        for NativeDetail { text, fields } in &self.details {
            let text = match text {
                Some((name, length)) => {
                    let (own, others) = rest.split_at_checked(*length)?;
                    rest = others;
                    Some(BTreeMap::from([(name.as_str(), own)]))
                }
                None => None,
            };
            details.push(FilledDetail { text, fields });
        }
        let all_used = rest.is_empty() || self.details.iter().all(|detail| detail.text.is_none());
        all_used.then_some(details)
    }
}

/// Joins the thinking of an answer.
pub(super) fn joined_thinking(message: &AssistantMessage) -> String {
    let thinking = message.content.iter().filter_map(|block| match block {
        AssistantBlock::Thinking { text } => Some(text.as_str()),
        AssistantBlock::Text { .. } | AssistantBlock::ToolCall(_) => None,
    });
    thinking.collect()
}
