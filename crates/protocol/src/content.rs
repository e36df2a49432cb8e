//! Content blocks of messages and tool results.

mod data;
mod shown_content;

use serde::{Deserialize, Serialize};

use crate::ids::ToolCallId;
use crate::json::RawJson;

pub use data::ImageData;
pub use shown_content::ShownContent;
pub(crate) use shown_content::shown;

/// An image in a message: base64 data and a MIME type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Image {
    /// The MIME type: `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
    pub mime_type: String,
    /// Standard base64 with padding.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub data: ImageData,
}

/// A piece of a tool result or of a user's message, in a form that a model can read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// Creates a text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// Returns the text of a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text } => Some(text),
            Self::Image(_) => None,
        }
    }
}

/// Joins the texts of several blocks with newlines, without images.
pub fn joined_text(content: &[ContentBlock]) -> String {
    content.iter().filter_map(ContentBlock::as_text).collect::<Vec<_>>().join("\n")
}

/// The maximum length of [`first_line`], in characters.
const LONGEST_LINE: usize = 80;

/// Returns the first line with text, at most 80 characters of it.
pub fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    match line.char_indices().nth(LONGEST_LINE) {
        None => line.to_owned(),
        Some(_) => line.chars().take(LONGEST_LINE - 1).chain(['…']).collect(),
    }
}

/// The beginning of the text of an attached file, before its name.
const ATTACHED: &str = "<file path=\"";

/// Returns the block of a file that a prompt attaches. `name` is one line without `"`.
pub fn attached_file(name: &str, text: &str) -> ContentBlock {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    ContentBlock::text(format!("{ATTACHED}{name}\">\n{text}{end}</file>"))
}

/// Returns the name and the content of an attached file; `None` for any other block.
pub fn parse_attached_file(block: &ContentBlock) -> Option<(&str, &str)> {
    let (name, rest) = block.as_text()?.strip_prefix(ATTACHED)?.split_once("\">\n")?;
    Some((name, rest.strip_suffix("</file>")?))
}

/// Returns the text that a user wrote: the texts of a message without attached files. The first text is never an
/// attached file.
pub fn written_text(content: &[ContentBlock]) -> String {
    let texts = content.iter().filter(|block| block.as_text().is_some()).enumerate();
    let written = texts.filter(|(at, block)| *at == 0 || parse_attached_file(block).is_none());
    written.filter_map(|(_, block)| block.as_text()).collect::<Vec<_>>().join("\n")
}

/// The origin of an input of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum InputSource {
    /// A person typed it in the terminal interface.
    Interactive,
    /// A client of `haft rpc` sent it.
    Rpc,
    /// The prompt of `haft -p`.
    Print,
    /// An extension wrote it, for example as the answer to a command.
    Extension,
}

impl ToolCall {
    /// Creates a call, for example in a model of your own. `id` is unique in the conversation.
    ///
    /// ```
    /// use haft_protocol::content::ToolCall;
    ///
    /// let call = ToolCall::new("call-1", "stock", serde_json::json!({ "item": "teapots" }));
    /// assert_eq!(call.args.as_str(), r#"{"item":"teapots"}"#);
    /// ```
    pub fn new(id: impl Into<String>, name: impl Into<String>, args: impl Into<RawJson>) -> Self {
        Self { id: ToolCallId::new(id), name: name.into(), args: args.into() }
    }
}

/// A tool call, as the model wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolCall {
    /// The model's id of this call.
    pub id: ToolCallId,
    /// The name of the tool.
    pub name: String,
    /// The arguments: a JSON object, kept byte for byte.
    pub args: RawJson,
}

/// The place that a path argument of a tool call means, as the host found it before the call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ResolvedPath {
    /// The name of the argument, which may be absent from the arguments: its default is a path, too.
    pub argument: String,
    /// The absolute path of the place, without links and `..`. Bytes that are not UTF-8 are
    /// replaced.
    pub path: String,
    /// True if the place exists.
    #[serde(default)]
    pub exists: bool,
    /// True if the path leads through a link, or is one.
    #[serde(default)]
    pub link: bool,
}

impl ResolvedPath {
    /// Creates a place that does not exist.
    pub fn new(argument: impl Into<String>, path: impl Into<String>) -> Self {
        Self { argument: argument.into(), path: path.into(), exists: false, link: false }
    }

    /// Sets [`exists`](Self::exists).
    #[must_use]
    pub fn with_exists(self, exists: bool) -> Self {
        Self { exists, ..self }
    }

    /// Sets [`link`](Self::link).
    #[must_use]
    pub fn with_link(self, link: bool) -> Self {
        Self { link, ..self }
    }
}

/// The effect that a tool call would have, computed before a person approves the call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "PreviewFields", into = "PreviewFields")]
pub enum CallPreview {
    /// The change of a file.
    Diff(FileDiff),
    /// The reason why the effect is not known. The call may fail for the same reason.
    Error(String),
}

/// The change of a file as a unified diff, also in the `details` of results as `diff`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct FileDiff {
    /// The path of the file, relative to the working directory if the file is below it.
    pub path: String,
    /// The unified diff.
    pub unified: String,
    /// The number of added lines.
    pub added: u64,
    /// The number of removed lines.
    pub removed: u64,
    /// True if `unified` is only the beginning.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

impl FileDiff {
    /// Creates a whole diff.
    pub fn new(path: impl Into<String>, unified: impl Into<String>, added: u64, removed: u64) -> Self {
        Self { path: path.into(), unified: unified.into(), added, removed, cut: false }
    }

    /// Sets [`cut`](Self::cut).
    #[must_use]
    pub fn with_cut(self, cut: bool) -> Self {
        Self { cut, ..self }
    }
}

/// The fields of a preview: exactly one of these.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(expecting = "an object")]
struct PreviewFields {
    /// The change of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    diff: Option<FileDiff>,
    /// The reason why the change is not known. The call may fail for the same reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl From<CallPreview> for PreviewFields {
    fn from(preview: CallPreview) -> Self {
        match preview {
            CallPreview::Diff(diff) => Self { diff: Some(diff), error: None },
            CallPreview::Error(reason) => Self { diff: None, error: Some(reason) },
        }
    }
}

impl TryFrom<PreviewFields> for CallPreview {
    type Error = &'static str;

    fn try_from(fields: PreviewFields) -> Result<Self, &'static str> {
        match (fields.diff, fields.error) {
            (Some(diff), None) => Ok(Self::Diff(diff)),
            (None, Some(reason)) => Ok(Self::Error(reason)),
            _ => Err("exactly one of diff and error is needed"),
        }
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for CallPreview {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "CallPreview".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        PreviewFields::json_schema(generator)
    }
}
