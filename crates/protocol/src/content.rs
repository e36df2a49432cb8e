//! Blocks that messages and tool results are made of.

mod data;
mod shown;

use serde::{Deserialize, Serialize};

use crate::ids::ToolCallId;
use crate::json::RawJson;

pub use data::ImageData;
pub use shown::ShownContent;
pub(crate) use shown::serialize_shown;

/// An image inside a message: base64 and what it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Image {
    /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
    pub mime_type: String,
    /// Standard base64 with padding.
    #[schemars(with = "String")]
    pub data: ImageData,
}

/// One piece of a tool result (and of a user's message): what a model can be shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentBlock {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// An image.
    Image(Image),
}

impl ContentBlock {
    /// A text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// The text, if this is a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text } => Some(text),
            Self::Image(_) => None,
        }
    }
}

/// The texts of several blocks joined by a newline, images left out.
pub fn joined_text(content: &[ContentBlock]) -> String {
    content.iter().filter_map(ContentBlock::as_text).collect::<Vec<_>>().join("\n")
}

/// A call of a tool, as the model wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ToolCall {
    /// The model's name for this call.
    pub id: ToolCallId,
    /// The tool.
    pub name: String,
    /// The arguments: a JSON object, byte for byte.
    pub args: RawJson,
}
