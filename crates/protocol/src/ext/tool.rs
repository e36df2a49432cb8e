//! `tool_call` and `tool_result`: tools of an extension.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::content::{ContentBlock, Image};
use crate::ids::{RequestId, ToolCallId};
use crate::json::{RawJson, optional_object};
use crate::read;
use crate::read::null_is_default;
use crate::reader::{JsonText, OBJECT};

/// A call of one of the extension's tools by the model. The extension answers with `tool_result`
/// within 60 s, or within the tool's own `timeout_ms`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolCallFrame {
    /// The id for the response. It is not the model's id of the call.
    pub id: RequestId,
    /// The name of the tool.
    #[serde(deserialize_with = "crate::ids::printable")]
    pub name: String,
    /// The arguments: always an object that fits the tool's schema.
    #[serde(deserialize_with = "crate::json::object")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::json::object_schema"))]
    pub args: RawJson,
    /// The model's id of the call, as in the events and hooks about it. Only for extensions with the
    /// capability `tools_2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_id: Option<ToolCallId>,
}

/// The result of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolResultFrame {
    /// The `id` of the `tool_call`.
    pub id: RequestId,
    /// The content for the model.
    #[serde(default, deserialize_with = "null_is_default")]
    pub content: Vec<ResultBlock>,
    /// True if the call failed.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// An object for people and programs, at most 1 MiB; the model does not receive it. It is in
    /// the session and in the event `tool_result`. Clients show `diff` and `exit_code` as those of
    /// the built-in tools. Needs the capability `tools_2`.
    #[serde(default, deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::json::object_schema"))]
    pub details: Option<RawJson>,
    /// True if the run ends after the calls of this message, without another request to the model.
    /// A waiting message of the user continues the run. Needs the capability `tools_2`.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "std::ops::Not::not")]
    pub terminate: bool,
}

impl ToolResultFrame {
    /// The fields that need the capability `tools_2`.
    pub const TOOLS_2_FIELDS: &[&str] = &["details", "terminate"];
}

/// The progress of a tool call that is not answered yet. The time limit of the call begins again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolCallProgress {
    /// The `id` of the `tool_call`.
    pub id: RequestId,
    /// The output so far, in place of the output that is shown. Clients show only its texts. Absent
    /// keeps the shown output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Vec<ResultBlock>>,
    /// An object for people and programs, at most 1 MiB, in place of earlier ones.
    #[serde(default, deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::json::object_schema"))]
    pub details: Option<RawJson>,
}

/// A block of a tool result. Unlike [`ContentBlock`] it also represents kinds that this version
/// does not know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ResultBlock {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// An image.
    Image(Image),
    /// A kind that only newer peers know; never written.
    #[serde(skip)]
    Unknown {
        /// The `type` of the block.
        kind: String,
    },
}

impl From<ContentBlock> for ResultBlock {
    fn from(content: ContentBlock) -> Self {
        match content {
            ContentBlock::Text { text } => Self::Text { text },
            ContentBlock::Image(image) => Self::Image(image),
        }
    }
}

// Written by hand, because a derived enum rejects unknown kinds.
impl<'de> Deserialize<'de> for ResultBlock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(OBJECT, ResultBlockVisitor)
    }
}

struct ResultBlockVisitor;

#[derive(Deserialize)]
struct TextBlock {
    text: String,
}

impl<'de> Visitor<'de> for ResultBlockVisitor {
    type Value = ResultBlock;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a block: a JSON object")
    }

    /// Reads a block in one pass if `type` is its first field, as in the output of all common
    /// writers.
    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<ResultBlock, A::Error> {
        let kind: &str = read::first_field(&mut fields, "type")?;
        let rest = MapAccessDeserializer::new(fields);
        match kind {
            "text" => TextBlock::deserialize(rest).map(|TextBlock { text }| ResultBlock::Text { text }),
            "image" => Image::deserialize(rest).map(ResultBlock::Image),
            _ => IgnoredAny::deserialize(rest).map(|_| ResultBlock::Unknown { kind: kind.to_owned() }),
        }
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<ResultBlock, D::Error> {
        #[derive(Deserialize)]
        struct BlockHead {
            #[serde(rename = "type")]
            kind: String,
        }
        let text = JsonText::deserialize(deserializer)?;
        let block = text.get();
        if !block.text.starts_with('{') {
            return Err(D::Error::custom("expected a block: a JSON object"));
        }
        let BlockHead { kind } = read::read_nested(block)?;
        match kind.as_str() {
            "text" => read::read_nested(block).map(|TextBlock { text }| ResultBlock::Text { text }),
            "image" => read::read_nested(block).map(ResultBlock::Image),
            _ => Ok(ResultBlock::Unknown { kind }),
        }
    }
}

/// Joins the texts of a result with newlines.
pub fn joined_result_text(content: &[ResultBlock]) -> String {
    let texts = content.iter().filter_map(|block| match block {
        ResultBlock::Text { text } => Some(text.as_str()),
        ResultBlock::Image(_) | ResultBlock::Unknown { .. } => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
