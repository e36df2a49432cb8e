//! Tools: their results, and the schema and decoding of their arguments.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use haft_protocol::RawJson;
use haft_protocol::content::Image;
use haft_protocol::ext::{self, RegisterTool, ResultBlock};
use haft_protocol::ids::RequestId;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The result of a tool call: blocks for the model, and facts about the call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolResult {
    content: Vec<ResultBlock>,
    is_error: bool,
    details: Option<RawJson>,
    ends_run: bool,
}

impl ToolResult {
    /// Creates a result with one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![ResultBlock::Text { text: text.into() }], ..Self::default() }
    }

    /// Creates the result of a failed call. The model reads the reason and can retry.
    pub fn error(reason: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(reason) }
    }

    /// Creates a result with one image. `mime_type` is `image/png`, `image/jpeg`, `image/gif` or
    /// `image/webp`; `bytes` is the file's content, not yet encoded.
    pub fn image(mime_type: impl Into<String>, bytes: impl AsRef<[u8]>) -> Self {
        let image = Image { mime_type: mime_type.into(), data: STANDARD.encode(bytes).into() };
        Self { content: vec![ResultBlock::Image(image)], ..Self::default() }
    }

    /// Appends a text.
    #[must_use]
    pub fn with_text(mut self, text: impl Into<String>) -> Self {
        self.content.push(ResultBlock::Text { text: text.into() });
        self
    }

    /// Adds details: an object for people and programs, at most 1 MiB, which the model does not
    /// receive.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = Some(details.into());
        self
    }

    /// Ends the run after the calls of the message, without another request to the model. A waiting
    /// message of the user continues the run.
    #[must_use]
    pub fn ending_run(mut self) -> Self {
        self.ends_run = true;
        self
    }

    /// Returns the details, if there are any.
    pub fn json_details(&self) -> Option<&RawJson> {
        self.details.as_ref()
    }

    /// True if the run ends after the calls of the message.
    pub fn ends_run(&self) -> bool {
        self.ends_run
    }

    /// Returns the blocks, in order.
    pub fn content(&self) -> &[ResultBlock] {
        &self.content
    }

    /// True if the call failed.
    pub fn is_error(&self) -> bool {
        self.is_error
    }

    /// Joins all texts with newlines.
    pub fn joined_text(&self) -> String {
        ext::joined_result_text(&self.content)
    }

    pub(crate) fn into_frame(self, id: RequestId) -> ext::ToolResultFrame {
        let Self { content, is_error, details, ends_run } = self;
        ext::ToolResultFrame { id, content, is_error, details, terminate: ends_run }
    }
}

impl From<Vec<ResultBlock>> for ToolResult {
    fn from(content: Vec<ResultBlock>) -> Self {
        Self { content, ..Self::default() }
    }
}

impl From<ext::ToolResultFrame> for ToolResult {
    fn from(result: ext::ToolResultFrame) -> Self {
        let ext::ToolResultFrame { content, is_error, details, terminate, .. } = result;
        Self { content, is_error, details, ends_run: terminate }
    }
}

/// The arguments of a tool without arguments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct NoArgs {}

/// Creates the registration of a tool.
pub fn tool_registration(
    name: impl Into<String>,
    description: impl Into<String>,
    schema: RawJson,
) -> RegisterTool {
    let (name, description) = (name.into(), description.into());
    RegisterTool { name, description, schema: Some(schema), ..RegisterTool::default() }
}

/// Reads a tool's arguments; the error names the field.
pub(crate) fn read_args<Args: DeserializeOwned>(args: &RawJson) -> Result<Args, String> {
    let mut reader = serde_json::Deserializer::from_str(args.as_str());
    serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        let detail = strip_position(&error.inner().to_string());
        if path == "." {
            format!("arguments do not fit: {detail}")
        } else {
            format!("argument {path:?} does not fit: {detail}")
        }
    })
}

/// Removes line and column, which are meaningless for arguments that were parsed before.
fn strip_position(detail: &str) -> String {
    detail.rsplit_once(" at line ").map_or(detail, |(text, _)| text).to_owned()
}
