//! Reads messages from files that this crate's types were written to.
//!
//! serde reads a tagged enum through a buffer that cannot hold raw JSON, so it would reject the
//! arguments of a tool call. This module reads a message into a struct with the fields of all
//! kinds, and then converts it.
//!
//! Unknown fields are ignored. An unknown role or block is an error: haft must not send an
//! incomplete message to a model. Names and ids are not checked.

use std::fmt;

use serde::{Deserialize, Deserializer, de::Error};

use super::{AssistantBlock, AssistantMessage, Message, NativeMessage, Rfc3339Time, ToolMessage};
use crate::content::{ContentBlock, Image, ImageData, ToolCall};
use crate::ids::{ExtensionName, ToolCallId};
use crate::json::RawJson;

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        MessageFields::deserialize(deserializer)?.into_message().map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for AssistantBlock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        BlockFields::deserialize(deserializer)?.into_assistant_block().map_err(D::Error::custom)
    }
}

/// The fields of all kinds of messages.
#[derive(Deserialize)]
struct MessageFields {
    role: MessageRole,
    content: Vec<BlockFields>,
    time: Rfc3339Time,
    native: Option<NativeMessage>,
    call_id: Option<String>,
    name: Option<String>,
    #[serde(default)]
    is_error: bool,
    extension: Option<String>,
    details: Option<RawJson>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum MessageRole {
    User,
    Assistant,
    Tool,
}

impl MessageFields {
    fn into_message(self) -> Result<Message, InvalidMessage> {
        let Self { role, content, time, native, call_id, name, is_error, extension, details } = self;
        Ok(match role {
            MessageRole::User => {
                Message::User { content: read_blocks(content, BlockFields::into_content_block)?, time }
            }
            MessageRole::Assistant => Message::Assistant(AssistantMessage {
                content: read_blocks(content, BlockFields::into_assistant_block)?,
                time,
                native,
            }),
            MessageRole::Tool => Message::Tool(ToolMessage {
                call_id: ToolCallId::new(call_id.ok_or(InvalidMessage::Missing("call_id"))?),
                name: name.ok_or(InvalidMessage::Missing("name"))?,
                content: read_blocks(content, BlockFields::into_content_block)?,
                is_error,
                extension: extension.map(ExtensionName::new),
                details,
                time,
            }),
        })
    }
}

fn read_blocks<T>(
    blocks: Vec<BlockFields>,
    read: impl Fn(BlockFields) -> Result<T, InvalidMessage>,
) -> Result<Vec<T>, InvalidMessage> {
    blocks.into_iter().map(read).collect()
}

/// The fields of all kinds of blocks.
#[derive(Deserialize)]
struct BlockFields {
    #[serde(rename = "type")]
    kind: BlockKind,
    text: Option<String>,
    mime_type: Option<String>,
    data: Option<ImageData>,
    id: Option<String>,
    name: Option<String>,
    args: Option<RawJson>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum BlockKind {
    Text,
    Thinking,
    Image,
    ToolCall,
}

impl BlockFields {
    fn into_content_block(self) -> Result<ContentBlock, InvalidMessage> {
        match self.kind {
            BlockKind::Text => {
                Ok(ContentBlock::Text { text: self.text.ok_or(InvalidMessage::Missing("text"))? })
            }
            BlockKind::Image => Ok(ContentBlock::Image(Image {
                mime_type: self.mime_type.ok_or(InvalidMessage::Missing("mime_type"))?,
                data: self.data.ok_or(InvalidMessage::Missing("data"))?,
            })),
            kind @ (BlockKind::Thinking | BlockKind::ToolCall) => Err(InvalidMessage::Misplaced(kind)),
        }
    }

    fn into_assistant_block(self) -> Result<AssistantBlock, InvalidMessage> {
        match self.kind {
            BlockKind::Text => {
                Ok(AssistantBlock::Text { text: self.text.ok_or(InvalidMessage::Missing("text"))? })
            }
            BlockKind::Thinking => {
                Ok(AssistantBlock::Thinking { text: self.text.ok_or(InvalidMessage::Missing("text"))? })
            }
            BlockKind::ToolCall => Ok(AssistantBlock::ToolCall(ToolCall {
                id: ToolCallId::new(self.id.ok_or(InvalidMessage::Missing("id"))?),
                name: self.name.ok_or(InvalidMessage::Missing("name"))?,
                args: self.args.ok_or(InvalidMessage::Missing("args"))?,
            })),
            BlockKind::Image => Err(InvalidMessage::Misplaced(self.kind)),
        }
    }
}

/// The reasons why the fields are not a message.
enum InvalidMessage {
    Missing(&'static str),
    Misplaced(BlockKind),
}

impl fmt::Display for InvalidMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(field) => write!(f, "missing field `{field}`"),
            Self::Misplaced(kind) => write!(f, "a block of kind {kind:?} has no place in this message"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str) {
        let message: Message = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&message).unwrap(), text);
    }

    #[track_caller]
    fn refuses(text: &str, expect: &str) {
        let error = serde_json::from_str::<Message>(text).unwrap_err().to_string();
        assert!(error.starts_with(expect), "{error}");
    }

    #[test]
    fn written_messages_are_read_back() {
        check(
            r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"image","mime_type":"image/png","data":"AA=="}],"time":"t"}"#,
        );
        check(
            r#"{"role":"assistant","content":[{"type":"thinking","text":""},{"type":"tool_call","id":"c\u0001","name":"n","args":{"n":9007199254740993}}],"time":"t","native":{"origin":"a/b","data":[1e2]}}"#,
        );
        check(
            r#"{"role":"tool","call_id":"c","name":"n","content":[],"is_error":true,"extension":"e","time":"t"}"#,
        );
    }

    #[test]
    fn unknown_fields_are_ignored() {
        let text =
            r#"{"new":{"a":[1]},"role":"user","content":[{"type":"text","text":"a","new":1}],"time":"t"}"#;
        let message: Message = serde_json::from_str(text).unwrap();
        assert_eq!(
            message,
            Message::User { content: vec![ContentBlock::text("a")], time: Rfc3339Time("t".into()) }
        );
    }

    #[test]
    fn unknown_roles_and_blocks_are_rejected() {
        refuses(r#"{"role":"system","content":[],"time":"t"}"#, "unknown variant `system`");
        refuses(r#"{"role":"user","content":[{"type":"video"}],"time":"t"}"#, "unknown variant `video`");
        refuses(
            r#"{"role":"user","content":[{"type":"thinking","text":""}],"time":"t"}"#,
            "a block of kind Thinking has no place in this message",
        );
        refuses(r#"{"role":"tool","content":[],"name":"n","time":"t"}"#, "missing field `call_id`");
    }
}
