//! The native form of an answer: what only the same model can use again.
//!
//! It is the list of the answer's blocks in order. Texts and calls are taken from the portable message, so that the
//! session does not store them twice.

use haft_protocol::RawJson;
use haft_protocol::content::ToolCall;
use haft_protocol::message::{AssistantBlock, AssistantMessage};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{AnthropicBlock, TypedBlock};
use crate::wire::turn::object_arguments;

/// A block of the answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum NativeBlock {
    /// The next text of the portable message.
    Text,
    /// The next call of the portable message.
    Call,
    /// The next thinking of the portable message, with this signature.
    Thinking(String),
    /// Thinking without text, with this signature.
    Signature(String),
    /// Any other block, as the API sent it: redacted thinking, calls of the server's tools.
    Other(Box<RawValue>),
}

/// The same, borrowed from a session.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredBlock<'a> {
    Text,
    Call,
    Thinking(String),
    Signature(String),
    #[serde(borrow)]
    Other(&'a RawValue),
}

/// Returns the blocks of an answer: with signatures if the same model wrote it, otherwise only texts and calls.
pub(super) fn assistant_blocks<'a>(
    message: &'a AssistantMessage,
    native: Option<&'a RawJson>,
) -> Vec<AnthropicBlock<'a>> {
    native.and_then(|native| signed_blocks(message, native)).unwrap_or_else(|| portable_blocks(message))
}

/// Returns `None` if the message was changed after the model wrote it.
fn signed_blocks<'a>(message: &'a AssistantMessage, native: &'a RawJson) -> Option<Vec<AnthropicBlock<'a>>> {
    let stored: Vec<StoredBlock<'a>> = serde_json::from_str(native.as_str()).ok()?;
    let mut said = message.content.iter();
    let mut blocks = Vec::with_capacity(stored.len());
    for block in stored {
        blocks.push(match block {
            StoredBlock::Other(block) => AnthropicBlock::Raw(block),
            StoredBlock::Signature(signature) => thinking_block("", signature),
            StoredBlock::Text => match said.next()? {
                AssistantBlock::Text { text } => {
                    AnthropicBlock::Typed(TypedBlock::Text { text: text.into() })
                }
                AssistantBlock::Thinking { .. } | AssistantBlock::ToolCall(_) => return None,
            },
            StoredBlock::Thinking(signature) => match said.next()? {
                AssistantBlock::Thinking { text } => thinking_block(text, signature),
                AssistantBlock::Text { .. } | AssistantBlock::ToolCall(_) => return None,
            },
            StoredBlock::Call => match said.next()? {
                AssistantBlock::ToolCall(called) => call(called),
                AssistantBlock::Text { .. } | AssistantBlock::Thinking { .. } => return None,
            },
        });
    }
    said.next().is_none().then_some(blocks)
}

/// Thinking without a signature is sent as text, because the API rejects it in its own form.
fn portable_blocks(message: &AssistantMessage) -> Vec<AnthropicBlock<'_>> {
    let blocks = message.content.iter().filter_map(|block| match block {
        AssistantBlock::Text { text } | AssistantBlock::Thinking { text } => {
            (!text.trim().is_empty()).then(|| AnthropicBlock::Typed(TypedBlock::Text { text: text.into() }))
        }
        AssistantBlock::ToolCall(called) => (!called.name.is_empty()).then(|| call(called)),
    });
    blocks.collect()
}

fn thinking_block(thinking: &str, signature: String) -> AnthropicBlock<'_> {
    AnthropicBlock::Typed(TypedBlock::Thinking { thinking, signature })
}

fn call(call: &ToolCall) -> AnthropicBlock<'_> {
    AnthropicBlock::Typed(TypedBlock::ToolUse {
        id: call.id.as_str(),
        name: &call.name,
        input: object_arguments(call),
    })
}
