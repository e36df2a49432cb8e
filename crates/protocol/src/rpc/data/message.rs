//! The reply to `get_messages`: the conversation as clients see it.

use serde::Serialize;

use crate::content::{ContentBlock, ShownContent};
use crate::ids::{ExtensionName, ToolCallId};
use crate::json::RawJson;
use crate::message::{AssistantBlock, Message, Rfc3339Time};

/// The conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MessagesData {
    /// The messages, oldest first.
    pub messages: Vec<ShownMessage>,
}

/// A message as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum ShownMessage {
    /// A prompt of the user.
    User {
        /// Text and images.
        content: Vec<ShownContent<'static>>,
        /// The time, RFC 3339.
        time: Rfc3339Time,
    },
    /// An answer of the model.
    Assistant {
        /// The blocks in the model's order.
        content: Vec<AssistantBlock>,
        /// When the message was complete.
        time: Rfc3339Time,
    },
    /// The result of a tool call.
    Tool {
        /// One block, of the type `tool_result`.
        content: Vec<ShownBlock>,
        /// The time, RFC 3339.
        time: Rfc3339Time,
    },
}

/// A block of a tool's result, as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ShownBlock {
    /// A result.
    ToolResult {
        /// The id of the tool call.
        call_id: ToolCallId,
        /// The tool. Since haft.
        name: String,
        /// True if it failed.
        is_error: bool,
        /// The content for the model.
        content: Vec<ShownContent<'static>>,
        /// The extension that owns the tool. Since haft.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        extension: Option<ExtensionName>,
        /// Data for people and programs, such as the diff of a change. Since haft.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<RawJson>,
    },
}

impl From<&Message> for ShownMessage {
    fn from(message: &Message) -> Self {
        match message {
            Message::User { content, time } => {
                Self::User { content: to_shown_content(content), time: time.clone() }
            }
            Message::Assistant(said) => {
                Self::Assistant { content: said.content.clone(), time: said.time.clone() }
            }
            Message::Tool(result) => Self::Tool {
                content: vec![ShownBlock::ToolResult {
                    call_id: result.call_id.clone(),
                    name: result.name.clone(),
                    is_error: result.is_error,
                    content: to_shown_content(&result.content),
                    extension: result.extension.clone(),
                    details: result.details.clone(),
                }],
                time: result.time.clone(),
            },
        }
    }
}

impl MessagesData {
    /// Converts these messages to the form for clients.
    pub fn from_messages<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Self {
        Self { messages: messages.into_iter().map(ShownMessage::from).collect() }
    }
}

fn to_shown_content(content: &[ContentBlock]) -> Vec<ShownContent<'static>> {
    content.iter().map(|content| ShownContent::from(content).into_owned()).collect()
}
