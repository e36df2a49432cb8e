//! The transcript: messages, the cause of the end of a step, and usage.

mod read;

use serde::{Deserialize, Serialize};

use crate::content::{ContentBlock, ToolCall, first_line, joined_text};
use crate::ids::{ExtensionName, ToolCallId};

/// A time: RFC 3339 in UTC, for people. The order of entries never depends on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Rfc3339Time(pub String);

/// A block of an answer of the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AssistantBlock {
    /// Text for the user.
    Text {
        /// The text.
        text: String,
    },
    /// The model's reasoning, if the provider shows it.
    Thinking {
        /// The readable part, possibly empty.
        text: String,
    },
    /// A tool call.
    ToolCall(ToolCall),
}

/// A message of the transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// A prompt of the user, or of an extension's `prompt`.
    User {
        /// Text and images.
        content: Vec<ContentBlock>,
        /// The time.
        time: Rfc3339Time,
    },
    /// An answer of the model, unaltered by any extension.
    Assistant(AssistantMessage),
    /// The result of one tool call.
    Tool(ToolMessage),
}

impl Message {
    /// Returns the text, without images, reasoning and tool calls.
    ///
    /// ```
    /// use haft_protocol::content::ContentBlock;
    /// use haft_protocol::message::{Message, Rfc3339Time};
    ///
    /// let content = vec![ContentBlock::text("Which tea is in stock?\n\nI like it green.")];
    /// let message = Message::User { content, time: Rfc3339Time("2026-01-02T03:04:05Z".into()) };
    /// assert_eq!(message.text(), "Which tea is in stock?\n\nI like it green.");
    /// assert_eq!(message.summary(), "Which tea is in stock?");
    /// ```
    pub fn text(&self) -> String {
        match self {
            Self::User { content, .. } => joined_text(content),
            Self::Assistant(answer) => answer.text(),
            Self::Tool(result) => joined_text(&result.content),
        }
    }

    /// Returns the beginning of the text in one line, for a list of chats. Without text, names the calls of the model or
    /// the first image.
    pub fn summary(&self) -> String {
        let line = first_line(&self.text());
        if !line.is_empty() {
            return line;
        }
        match self {
            Self::User { content, .. } | Self::Tool(ToolMessage { content, .. }) => {
                if content.is_empty() {
                    String::new()
                } else {
                    "[image]".to_owned()
                }
            }
            Self::Assistant(answer) => {
                let names: Vec<_> = answer.tool_calls().map(|call| format!("[{}]", call.name)).collect();
                first_line(&names.join(" "))
            }
        }
    }
}

/// The answer of the model in one step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AssistantMessage {
    /// The blocks in the model's order.
    pub content: Vec<AssistantBlock>,
    /// When the message was complete.
    pub time: Rfc3339Time,
    /// Data that only the same provider can read (signatures, encrypted reasoning); opaque to
    /// others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<NativeMessage>,
}

impl AssistantMessage {
    /// Creates a message without data of its provider.
    pub fn new(content: Vec<AssistantBlock>, time: Rfc3339Time) -> Self {
        Self { content, time, native: None }
    }

    /// Joins all text blocks with newlines.
    pub fn text(&self) -> String {
        text_of(&self.content)
    }

    /// Iterates over the tool calls, in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        tool_calls_of(&self.content)
    }

    /// Sets [`native`](Self::native).
    #[must_use]
    pub fn with_native(self, native: impl Into<Option<NativeMessage>>) -> Self {
        Self { native: native.into(), ..self }
    }
}

/// Joins the text blocks of an answer with newlines.
pub fn text_of(content: &[AssistantBlock]) -> String {
    let texts = content.iter().filter_map(|block| match block {
        AssistantBlock::Text { text } => Some(text.as_str()),
        AssistantBlock::Thinking { .. } | AssistantBlock::ToolCall(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Iterates over the tool calls of an answer, in order.
pub fn tool_calls_of(content: &[AssistantBlock]) -> impl Iterator<Item = &ToolCall> {
    content.iter().filter_map(|block| match block {
        AssistantBlock::ToolCall(call) => Some(call),
        AssistantBlock::Text { .. } | AssistantBlock::Thinking { .. } => None,
    })
}

/// A provider's own form of one assistant message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct NativeMessage {
    /// The provider and model that can read `data`, as `provider/model`.
    pub origin: String,
    /// The serialized form of the provider adapter.
    pub data: crate::json::RawJson,
}

impl NativeMessage {
    /// Creates the native form of a message.
    pub fn new(origin: impl Into<String>, data: crate::json::RawJson) -> Self {
        Self { origin: origin.into(), data }
    }
}

/// The result of one tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ToolMessage {
    /// The id of the tool call.
    pub call_id: ToolCallId,
    /// The name of the tool.
    pub name: String,
    /// The content for the model.
    pub content: Vec<ContentBlock>,
    /// True if the call failed.
    pub is_error: bool,
    /// The extension of the tool; absent for built-in tools, and if no tool ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extension: Option<ExtensionName>,
    /// Data for people and programs that the model does not get, such as the diff of a change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<crate::json::RawJson>,
    /// The time.
    pub time: Rfc3339Time,
}

impl ToolMessage {
    /// Creates a successful result of an embedder's tool.
    pub fn new(
        call_id: ToolCallId,
        name: impl Into<String>,
        content: Vec<ContentBlock>,
        time: Rfc3339Time,
    ) -> Self {
        Self { call_id, name: name.into(), content, is_error: false, extension: None, details: None, time }
    }

    /// Sets [`is_error`](Self::is_error).
    #[must_use]
    pub fn with_is_error(self, is_error: bool) -> Self {
        Self { is_error, ..self }
    }

    /// Sets [`extension`](Self::extension).
    #[must_use]
    pub fn with_extension(self, extension: impl Into<Option<ExtensionName>>) -> Self {
        Self { extension: extension.into(), ..self }
    }

    /// Sets [`details`](Self::details).
    #[must_use]
    pub fn with_details(self, details: impl Into<Option<crate::json::RawJson>>) -> Self {
        Self { details: details.into(), ..self }
    }
}

/// The cause of the end of a step. On the wire `end`, `tool_use`, `length`, `error`, `aborted`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StopCause {
    /// The model finished. Also read from `end_turn`, as in zot's documents; zot's code writes
    /// `end`.
    #[serde(alias = "end_turn")]
    End,
    /// The model waits for tool results.
    ToolUse,
    /// The model reached its output limit.
    Length,
    /// The step failed or was blocked.
    Error,
    /// The user stopped the step.
    Aborted,
}

/// Tokens, and the cost if prices are known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TokenUsage {
    /// Input tokens that were not cached.
    pub input: u64,
    /// Output tokens, reasoning included.
    pub output: u64,
    /// Input tokens read from the provider's cache.
    pub cache_read: u64,
    /// Input tokens written to the provider's cache.
    pub cache_write: u64,
    /// The cost in US dollars; 0 if the price is not known.
    pub cost_usd: f64,
}

impl TokenUsage {
    /// Sets [`input`](Self::input).
    #[must_use]
    pub fn with_input(self, input: u64) -> Self {
        Self { input, ..self }
    }

    /// Sets [`output`](Self::output).
    #[must_use]
    pub fn with_output(self, output: u64) -> Self {
        Self { output, ..self }
    }

    /// Sets [`cache_read`](Self::cache_read).
    #[must_use]
    pub fn with_cache_read(self, cache_read: u64) -> Self {
        Self { cache_read, ..self }
    }

    /// Sets [`cache_write`](Self::cache_write).
    #[must_use]
    pub fn with_cache_write(self, cache_write: u64) -> Self {
        Self { cache_write, ..self }
    }

    /// Sets [`cost_usd`](Self::cost_usd).
    #[must_use]
    pub fn with_cost_usd(self, cost_usd: f64) -> Self {
        Self { cost_usd, ..self }
    }
}

impl std::ops::Add for TokenUsage {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

impl std::iter::Sum for TokenUsage {
    fn sum<I: Iterator<Item = Self>>(usages: I) -> Self {
        usages.fold(Self::default(), std::ops::Add::add)
    }
}

impl std::ops::AddAssign for TokenUsage {
    fn add_assign(&mut self, other: Self) {
        self.input += other.input;
        self.output += other.output;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.cost_usd += other.cost_usd;
    }
}
