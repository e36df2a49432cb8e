//! The conversation in PicoClaw's form: messages, tool calls, tools and answers of the model.

use serde::{Deserialize, Serialize};

use haft_protocol::RawJson;

/// A message of the conversation. The first one is the system prompt, with the role `system`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "Message")]
pub struct HookMessage {
    /// `system`, `user`, `assistant` or `tool`.
    pub role: String,
    /// The text.
    pub content: String,
    /// The model that wrote the message.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub model_name: String,
    /// The time, RFC 3339.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub created_at: String,
    /// References to images and files: `data:` URLs or paths.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<String>,
    /// Files with details.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// The model's reasoning, if the provider shows it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reasoning_content: String,
    /// The system prompt in separately cached parts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub system_parts: Vec<SystemPart>,
    /// The tool calls of the model.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<HookToolCall>,
    /// For `tool`: the id of the tool call.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub tool_call_id: String,
}

impl HookMessage {
    /// The role of the system prompt.
    pub const SYSTEM: &'static str = "system";

    /// Creates a message of the user.
    pub fn user(text: impl Into<String>) -> Self {
        Self { role: "user".to_owned(), content: text.into(), ..Self::default() }
    }

    /// True if the message is part of the system prompt.
    pub fn is_system(&self) -> bool {
        self.role == Self::SYSTEM
    }

    /// True if the message has the same content as `original` for a model and a person. Fields that
    /// a hook may omit are ignored.
    pub(super) fn has_same_content(&self, original: &Self) -> bool {
        let kept = |own: &str, original: &str| own.is_empty() || own == original;
        self.role == original.role
            && self.content == original.content
            && self.tool_call_id == original.tool_call_id
            && self.tool_calls == original.tool_calls
            && self.media == original.media
            && self.attachments == original.attachments
            && kept(&self.reasoning_content, &original.reasoning_content)
            && kept(&self.model_name, &original.model_name)
            && kept(&self.created_at, &original.created_at)
            && (self.system_parts.is_empty() || self.system_parts == original.system_parts)
    }
}

/// A file in a message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Attachment {
    /// The kind of the part: `image`, `audio`, `video`, `file`.
    #[serde(rename = "type", skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// A reference to the file.
    #[serde(rename = "ref", skip_serializing_if = "String::is_empty")]
    pub reference: String,
    /// The URL of the file.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub url: String,
    /// The name of the file.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub filename: String,
    /// The MIME type.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub content_type: String,
}

/// A part of the system prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SystemPart {
    /// The type: `text`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The text.
    pub text: String,
    /// The cache settings of the part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_control: Option<RawJson>,
}

/// A tool call of the model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "ToolCall")]
pub struct HookToolCall {
    /// The model's id of the call.
    pub id: String,
    /// The type: `function`.
    #[serde(rename = "type", skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The function to call. haft always fills it.
    pub function: FunctionCall,
    /// Provider-specific data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_content: Option<RawJson>,
}

impl HookToolCall {
    /// Creates a tool call; `arguments` must be an object.
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: &RawJson) -> Self {
        let (name, arguments) = (name.into(), arguments.as_str().to_owned());
        let function = FunctionCall { name, arguments, thought_signature: String::new() };
        Self { id: id.into(), kind: FUNCTION.to_owned(), function, extra_content: None }
    }
}

/// The only `type` of tools and of tool calls.
const FUNCTION: &str = "function";

/// The tool and the arguments of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct FunctionCall {
    /// The tool.
    pub name: String,
    /// The arguments: the text of a JSON object.
    pub arguments: String,
    /// Provider-specific data.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub thought_signature: String,
}

impl FunctionCall {
    /// Reads the arguments as JSON; `{}` if the text is empty.
    ///
    /// # Errors
    /// The mistake in the text, for people.
    pub fn read_arguments(&self) -> Result<RawJson, String> {
        if self.arguments.trim().is_empty() {
            return Ok(RawJson::empty_object());
        }
        let json = RawJson::parse(&self.arguments).map_err(|error| error.to_string())?;
        if json.is_object() { Ok(json) } else { Err("not the text of a JSON object".to_owned()) }
    }
}

/// A tool in a request to the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ToolDefinition {
    /// The type: `function`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The tool.
    pub function: FunctionDefinition,
}

impl ToolDefinition {
    /// Creates a tool; `parameters` is the JSON Schema of its arguments.
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        parameters: impl Into<RawJson>,
    ) -> Self {
        let (name, description, parameters) = (name.into(), description.into(), parameters.into());
        Self { function: FunctionDefinition { name, description, parameters }, ..Self::default() }
    }
}

impl Default for ToolDefinition {
    fn default() -> Self {
        Self { kind: FUNCTION.to_owned(), function: FunctionDefinition::default() }
    }
}

/// The definition of a tool for the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct FunctionDefinition {
    /// The name.
    pub name: String,
    /// The purpose of the tool.
    pub description: String,
    /// The JSON Schema of its arguments.
    #[serde(deserialize_with = "schema_or_none")]
    pub parameters: RawJson,
}

impl Default for FunctionDefinition {
    fn default() -> Self {
        let parameters = RawJson::empty_object_schema();
        Self { name: String::new(), description: String::new(), parameters }
    }
}

/// Reads a schema; `null` is the schema without arguments.
fn schema_or_none<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<RawJson, D::Error> {
    Ok(haft_protocol::foreign::optional_object(deserializer)?.unwrap_or_else(RawJson::empty_object_schema))
}

/// The answer of the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LlmResponse {
    /// The role: `assistant`.
    pub role: String,
    /// The text.
    pub content: String,
    /// The model's reasoning, if the provider shows it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reasoning_content: String,
    /// The tool calls of the model.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<HookToolCall>,
    /// The reason why the answer ended: `stop`, `tool_calls` or `length`.
    pub finish_reason: String,
    /// The usage of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsageInfo>,
    /// Same as `reasoning_content`, for other providers.
    pub reasoning: String,
    /// The reasoning in parts; `null` if there is none.
    pub reasoning_details: Option<RawJson>,
}

impl Default for LlmResponse {
    fn default() -> Self {
        Self {
            role: "assistant".to_owned(),
            content: String::new(),
            reasoning_content: String::new(),
            tool_calls: Vec::new(),
            finish_reason: String::new(),
            usage: None,
            reasoning: String::new(),
            reasoning_details: None,
        }
    }
}

/// Tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct UsageInfo {
    /// The number of input tokens.
    pub prompt_tokens: u64,
    /// The number of output tokens.
    pub completion_tokens: u64,
    /// The sum of both.
    pub total_tokens: u64,
}

/// The result of one call of a tool. haft writes every field; a hook may leave out any.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct HookToolResult {
    /// The text for the model.
    pub for_llm: String,
    /// The text for the user, if it differs.
    pub for_user: String,
    /// True if the user sees nothing.
    pub silent: bool,
    /// True if the call failed.
    pub is_error: bool,
    /// True if the tool is still running and its result comes later.
    #[serde(rename = "async")]
    pub is_async: bool,
    /// Images and files: `data:` URLs, paths.
    pub media: Vec<String>,
    /// The locations of the files: `[image:/path]`, `[file:/path]`.
    pub artifact_tags: Vec<String>,
    /// True if the user has already seen the result, so that the model need not repeat it.
    pub response_handled: bool,
}

impl HookToolResult {
    /// Creates a result with one text for the model.
    pub fn text(text: impl Into<String>) -> Self {
        Self { for_llm: text.into(), ..Self::default() }
    }

    /// Creates the result of a failed call. The model reads the reason and can retry.
    pub fn error(reason: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(reason) }
    }
}
