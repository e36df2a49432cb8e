//! `ConversationTurn`: the part of a conversation that a format writes at once.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::hash::Hasher;

use haft_protocol::RawJson;
use haft_protocol::content::{ContentBlock, Image, ToolCall};
use haft_protocol::message::{AssistantBlock, AssistantMessage, Message, ToolMessage};

/// The text of a result without content, because most APIs reject empty content.
pub(super) const NO_OUTPUT: &str = "(no output)";

/// Returns the text in place of an image of a type that the API does not accept.
pub(super) fn unsupported_image(image: &Image) -> String {
    format!("(an image of type {} that cannot be shown)", image.mime_type)
}

/// Returns the arguments of a call, or no arguments if they are not an object, because APIs reject those.
pub(super) fn object_arguments(call: &ToolCall) -> Cow<'_, RawJson> {
    match call.args.is_object() {
        true => Cow::Borrowed(&call.args),
        false => Cow::Owned(RawJson::empty_object()),
    }
}

/// Returns the names of all tools that the conversation calls. Some APIs require their definitions even if none can be
/// called.
pub(super) fn called_tools(messages: &[Message]) -> BTreeSet<&str> {
    let answers = messages.iter().filter_map(|message| match message {
        Message::Assistant(answer) => Some(answer),
        Message::User { .. } | Message::Tool(_) => None,
    });
    let names = answers.flat_map(AssistantMessage::tool_calls).map(|call| call.name.as_str());
    names.filter(|name| !name.is_empty()).collect()
}

/// One message, or the results of all calls of a message.
#[derive(Debug)]
pub(crate) enum ConversationTurn<'a> {
    /// A message of the user, or several in a row, because some APIs reject a second one.
    User(Cow<'a, [ContentBlock]>),
    Assistant {
        message: &'a AssistantMessage,
        /// Data that the format stored with the message, if the same model of the same provider wrote it.
        native: Option<&'a RawJson>,
    },
    Results(Vec<&'a ToolMessage>),
}

impl<'a> ConversationTurn<'a> {
    /// Returns the first turn of `messages` and the messages behind it; `None` without messages.
    pub(super) fn split_first(messages: &'a [Message], origin: &str) -> Option<(Self, &'a [Message])> {
        let (first, mut rest) = messages.split_first()?;
        let turn = match first {
            Message::User { content, .. } => {
                let mut content = Cow::Borrowed(&**content);
                while let [Message::User { content: more, .. }, others @ ..] = rest {
                    content.to_mut().extend_from_slice(more);
                    rest = others;
                }
                Self::User(content)
            }
            Message::Assistant(message) => {
                let native = message.native.as_ref().filter(|native| native.origin == origin);
                Self::Assistant { message, native: native.map(|native| &native.data) }
            }
            Message::Tool(result) => {
                let mut results = vec![result];
                while let [Message::Tool(result), others @ ..] = rest {
                    results.push(result);
                    rest = others;
                }
                Self::Results(results)
            }
        };
        Some((turn, rest))
    }

    /// Adds everything that a format may write about the turn.
    pub(super) fn add_to_hash(&self, state: &mut impl Hasher) {
        match self {
            Self::User(content) => hash_content(content, state),
            Self::Assistant { message, native } => {
                for block in &message.content {
                    match block {
                        AssistantBlock::Text { text } => hash_text(1, text, state),
                        AssistantBlock::Thinking { text } => hash_text(2, text, state),
                        AssistantBlock::ToolCall(call) => {
                            hash_text(3, call.id.as_str(), state);
                            hash_text(3, &call.name, state);
                            hash_text(3, call.args.as_str(), state);
                        }
                    }
                }
                native.iter().for_each(|native| hash_text(4, native.as_str(), state));
            }
            Self::Results(results) => {
                for result in results {
                    hash_text(5 + u8::from(result.is_error), result.call_id.as_str(), state);
                    hash_text(5, &result.name, state);
                    hash_content(&result.content, state);
                }
            }
        }
    }
}

fn hash_content(content: &[ContentBlock], state: &mut impl Hasher) {
    for block in content {
        match block {
            ContentBlock::Text { text } => hash_text(7, text, state),
            ContentBlock::Image(image) => {
                hash_text(8, &image.mime_type, state);
                hash_text(8, image.data.as_str(), state);
            }
        }
    }
}

/// Adds a text with its kind and length, so that no two lists of texts have the same bytes.
fn hash_text(kind: u8, text: &str, state: &mut impl Hasher) {
    state.write_u8(kind);
    state.write_usize(text.len());
    state.write(text.as_bytes());
}
