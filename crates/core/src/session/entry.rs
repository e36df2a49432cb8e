//! Entries of a session file: a header, then entries, each a line of JSON.
//!
//! Every line begins with `{"type":"…","id":"…","parent":"…"` or `"parent":null`, in this order and without white
//! space. A reader of the tree's structure does not have to parse the rest. Unknown fields of an entry are ignored by
//! readers and stay in the file, because no line is ever rewritten.

use haft_protocol::RawJson;
use haft_protocol::content::ContentBlock;
use haft_protocol::event::AgentEvent;
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::{Message, Rfc3339Time, StopCause, TokenUsage};
use serde::{Deserialize, Serialize};

use super::id::{EntryId, SessionId};
pub use super::tags::Tags;

/// The format version that this build writes. Files of a newer version are opened read-only.
pub const FORMAT_VERSION: u32 = 1;

/// The first line of a file. On disk its `type` is `session` and its `parent` is null.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SessionHeader {
    /// The id of the session, and the name of its file.
    pub id: SessionId,
    /// The [`FORMAT_VERSION`] of the writer.
    pub format_version: u32,
    /// The working directory of the session.
    pub cwd: String,
    /// The time when the session began.
    pub created: Rfc3339Time,
    /// The origin of a forked session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkOrigin>,
}

impl SessionHeader {
    /// Creates the header of a session in the current format.
    pub fn new(id: SessionId, cwd: impl Into<String>, created: Rfc3339Time) -> Self {
        Self { id, format_version: FORMAT_VERSION, cwd: cwd.into(), created, forked_from: None }
    }

    /// Returns the format version if it is newer than this build's.
    pub(super) fn newer_version(&self) -> Option<u32> {
        Some(self.format_version).filter(|version| *version > FORMAT_VERSION)
    }

    /// Sets [`forked_from`](Self::forked_from).
    #[must_use]
    pub fn with_forked_from(self, forked_from: impl Into<Option<ForkOrigin>>) -> Self {
        Self { forked_from: forked_from.into(), ..self }
    }
}

/// The origin of a fork.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
// Closed: these two name a place in a session.
pub struct ForkOrigin {
    /// The original session.
    pub session: SessionId,
    /// The last common entry; `None` if the original session was empty.
    pub entry: Option<EntryId>,
}

/// One line after the header.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SessionEntry {
    /// The id of the entry.
    pub id: EntryId,
    /// The entry that this entry follows; `None` for a root.
    pub parent: Option<EntryId>,
    /// The time of writing, for people. The order of entries is determined by parents and lines.
    pub time: Rfc3339Time,
    /// The body.
    pub body: EntryBody,
}

impl SessionEntry {
    /// Creates an entry.
    pub fn new(id: EntryId, parent: Option<EntryId>, time: Rfc3339Time, body: EntryBody) -> Self {
        Self { id, parent, time, body }
    }

    /// Returns the message in the entry; `None` for all other entries. A custom message is a message of the user.
    pub fn to_message(&self) -> Option<Message> {
        if let EntryBody::MessageEntry(said) = &self.body {
            return Some(said.message.clone());
        }
        let EntryBody::CustomMessage(custom) = &self.body else { return None };
        Some(Message::User { content: custom.content.clone(), time: self.time.clone() })
    }
}

/// The fields of a body's line.
pub(super) enum Fields<'a> {
    Own(Vec<u8>),
    Line(&'a str),
}

macro_rules! bodies {
    ($($(#[$doc:meta])* $name:ident = $kind:literal,)*) => {
        /// The content of an entry.
        #[derive(Debug, Clone, PartialEq)]
        pub enum EntryBody {
            $($(#[$doc])* $name($name),)*
            /// An entry of a type that this build does not know or cannot read; its line is kept unchanged.
            Unknown(Unknown),
        }

        impl EntryBody {
            /// The types that this build writes.
            pub const KINDS: &'static [&'static str] = &[$($kind),*];

            /// Returns the `type` on disk.
            pub fn kind(&self) -> &str {
                match self {
                    $(Self::$name(_) => $kind,)*
                    Self::Unknown(unknown) => &unknown.kind,
                }
            }

            pub(super) fn fields(&self) -> serde_json::Result<Fields<'_>> {
                match self {
                    $(Self::$name(body) => serde_json::to_vec(body).map(Fields::Own),)*
                    Self::Unknown(unknown) => Ok(Fields::Line(&unknown.line)),
                }
            }

            /// Reads the fields of a type; `None` for an unknown type.
            pub(super) fn read(kind: &str, line: &str) -> Option<serde_json::Result<Self>> {
                match kind {
                    $($kind => Some(serde_json::from_str(line).map(Self::$name)),)*
                    _ => None,
                }
            }
        }

        $(
            impl From<$name> for EntryBody {
                fn from(body: $name) -> Self {
                    Self::$name(body)
                }
            }
        )*
    };
}

bodies! {
    /// A message of the transcript.
    MessageEntry = "message",
    /// A change of the model.
    ModelChange = "model_change",
    /// A change of the thinking level.
    ThinkingChange = "thinking_change",
    /// A change of the offered tools.
    ToolsChange = "tools_change",
    /// The start of a tool. The entry is on disk before the tool can have any effect.
    ToolStart = "tool_start",
    /// A summary that replaces the older part of the conversation.
    Compaction = "compaction",
    /// A summary of an abandoned branch, for the model.
    BranchSummary = "branch_summary",
    /// State of an extension. The model never sees it.
    Custom = "custom",
    /// A message of an extension for the model, optionally shown to the user.
    CustomMessage = "custom_message",
    /// A label on an entry, for people.
    Label = "label",
    /// A change of the session's tags.
    Tags = "tags",
    /// The session's display name; the newest entry counts.
    Name = "name",
}

/// A message of the transcript, with metadata for an answer of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MessageEntry {
    /// The message.
    pub message: Message,
    /// The model that answered and its usage; only for an assistant's message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<ResponseMetadata>,
}

impl MessageEntry {
    /// Creates a message that no model answered.
    pub fn new(message: Message) -> Self {
        Self { message, answer: None }
    }

    /// Sets [`answer`](Self::answer).
    #[must_use]
    pub fn with_answer(self, answer: impl Into<Option<ResponseMetadata>>) -> Self {
        Self { answer: answer.into(), ..self }
    }
}

/// The origin of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ResponseMetadata {
    /// The provider.
    pub provider: String,
    /// The model's id at the provider.
    pub model: String,
    /// The reason why the answer ended.
    pub stop: StopCause,
    /// The usage of the request.
    pub usage: TokenUsage,
}

impl ResponseMetadata {
    /// Creates the metadata of a response.
    pub fn new(
        provider: impl Into<String>,
        model: impl Into<String>,
        stop: StopCause,
        usage: TokenUsage,
    ) -> Self {
        Self { provider: provider.into(), model: model.into(), stop, usage }
    }
}

/// A change of the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
// Closed: these two name a model.
pub struct ModelChange {
    /// The provider.
    pub provider: String,
    /// The model's id at the provider.
    pub model: String,
}

/// A change of the thinking level.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
// Closed: one value.
pub struct ThinkingChange {
    /// The name of the level: `off`, `low`, …
    pub level: String,
}

/// A change of the offered tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
// Closed: one value.
pub struct ToolsChange {
    /// The names of the offered tools; `None` offers all tools.
    pub active: Option<Vec<String>>,
}

/// The start of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolStart {
    /// The id of the call.
    pub call_id: ToolCallId,
    /// The tool.
    pub name: String,
    /// The arguments that every gate allowed.
    pub args: RawJson,
}

impl ToolStart {
    /// Creates the start of a call.
    pub fn new(call_id: ToolCallId, name: impl Into<String>, args: RawJson) -> Self {
        Self { call_id, name: name.into(), args }
    }
}

/// A summary that replaces the older part of the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Compaction {
    /// The summary for the model.
    pub summary: String,
    /// The first kept entry; `None` if the summary replaces all entries.
    pub first_kept: Option<EntryId>,
    /// Tokens of the context before the compaction.
    pub tokens_before: u64,
    /// Files that the summarized part read, and those of the previous summary.
    #[serde(default)]
    pub files_read: Vec<String>,
    /// Files that the summarized part changed, and those of the previous summary.
    #[serde(default)]
    pub files_modified: Vec<String>,
    /// The extension that wrote the summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The total usage of the session, including this summary, for readers that start at this entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<TokenUsage>,
    /// The model that wrote the summary, and its usage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<ResponseMetadata>,
    /// Settings in effect at this entry, for readers that start here. Set when the entry is appended.
    #[serde(default)]
    pub settings: SessionSettings,
}

impl Compaction {
    /// Creates a compaction by the model that keeps no entry.
    pub fn new(summary: impl Into<String>, tokens_before: u64) -> Self {
        Self {
            summary: summary.into(),
            first_kept: None,
            tokens_before,
            files_read: Vec::new(),
            files_modified: Vec::new(),
            by: None,
            used: None,
            answer: None,
            settings: SessionSettings::default(),
        }
    }

    /// Sets [`first_kept`](Self::first_kept).
    #[must_use]
    pub fn with_first_kept(self, first_kept: impl Into<Option<EntryId>>) -> Self {
        Self { first_kept: first_kept.into(), ..self }
    }

    /// Sets [`files_read`](Self::files_read).
    #[must_use]
    pub fn with_files_read(self, files_read: Vec<String>) -> Self {
        Self { files_read, ..self }
    }

    /// Sets [`files_modified`](Self::files_modified).
    #[must_use]
    pub fn with_files_modified(self, files_modified: Vec<String>) -> Self {
        Self { files_modified, ..self }
    }

    /// Sets [`by`](Self::by).
    #[must_use]
    pub fn with_by(self, by: impl Into<String>) -> Self {
        Self { by: Some(by.into()), ..self }
    }

    /// Sets [`used`](Self::used).
    #[must_use]
    pub fn with_used(self, used: impl Into<Option<TokenUsage>>) -> Self {
        Self { used: used.into(), ..self }
    }

    /// Sets [`answer`](Self::answer).
    #[must_use]
    pub fn with_answer(self, answer: impl Into<Option<ResponseMetadata>>) -> Self {
        Self { answer: answer.into(), ..self }
    }

    /// Sets [`settings`](Self::settings).
    #[must_use]
    pub fn with_settings(self, settings: SessionSettings) -> Self {
        Self { settings, ..self }
    }
}

/// Settings in effect at an entry; none where they were never recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SessionSettings {
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelChange>,
    /// The thinking level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<String>,
    /// The names of the offered tools; `None` offers all tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
}

/// A summary of an abandoned branch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BranchSummary {
    /// The text for the model.
    pub summary: String,
    /// The last entry of that branch.
    pub from: EntryId,
    /// The extension that wrote the summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The model that wrote the summary, and its usage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<ResponseMetadata>,
}

impl BranchSummary {
    /// Creates a summary.
    pub fn new(summary: impl Into<String>, from: EntryId) -> Self {
        Self { summary: summary.into(), from, by: None, answer: None }
    }

    /// Sets [`by`](Self::by).
    #[must_use]
    pub fn with_by(self, by: impl Into<String>) -> Self {
        Self { by: Some(by.into()), ..self }
    }

    /// Sets [`answer`](Self::answer).
    #[must_use]
    pub fn with_answer(self, answer: impl Into<Option<ResponseMetadata>>) -> Self {
        Self { answer: answer.into(), ..self }
    }
}

/// State of an extension.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Custom {
    /// The extension.
    pub owner: String,
    /// The kind, defined by the extension. On disk `kind`.
    pub kind: String,
    /// Data of the extension.
    pub data: RawJson,
    /// The model that answered the extension outside of the conversation, and its usage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<ResponseMetadata>,
}

impl Custom {
    /// Creates an entry of its owner.
    pub fn new(owner: impl Into<String>, kind: impl Into<String>, data: RawJson) -> Self {
        Self { owner: owner.into(), kind: kind.into(), data, answer: None }
    }

    /// Sets [`answer`](Self::answer).
    #[must_use]
    pub fn with_answer(self, answer: impl Into<Option<ResponseMetadata>>) -> Self {
        Self { answer: answer.into(), ..self }
    }
}

/// A message of an extension for the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CustomMessage {
    /// The extension.
    pub owner: String,
    /// The kind, defined by the extension.
    pub kind: String,
    /// The text for the model, sent as a user message.
    pub content: Vec<ContentBlock>,
    /// True if the user also sees the message.
    pub display: bool,
    /// Data of the extension that the model does not see: any JSON value. `null` is read as `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<RawJson>,
}

/// A label on an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
// Closed: a value and its place.
pub struct Label {
    /// The labeled entry.
    pub target: EntryId,
    /// The label; `None` removes it.
    pub label: Option<String>,
}

/// The session's display name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
// Closed: one value.
pub struct Name {
    /// The name; an empty one removes it.
    pub name: String,
}

/// An entry whose line is kept unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unknown {
    /// The `type` of the entry.
    pub kind: String,
    /// The whole line, without the newline.
    pub line: Box<str>,
}

impl CustomMessage {
    /// Creates a message that the user sees.
    pub fn new(owner: impl Into<String>, kind: impl Into<String>, content: Vec<ContentBlock>) -> Self {
        Self { owner: owner.into(), kind: kind.into(), content, display: true, details: None }
    }

    /// Returns the event that the message entered the transcript.
    pub(crate) fn into_event(self, time: Rfc3339Time) -> AgentEvent {
        let Self { owner, kind, content, display, details } = self;
        AgentEvent::CustomMessage { owner, kind, content, display, details, time }
    }

    /// Sets [`display`](Self::display).
    #[must_use]
    pub fn with_display(self, display: bool) -> Self {
        Self { display, ..self }
    }

    /// Sets [`details`](Self::details).
    #[must_use]
    pub fn with_details(self, details: impl Into<Option<RawJson>>) -> Self {
        Self { details: details.into(), ..self }
    }
}

impl From<Message> for EntryBody {
    fn from(message: Message) -> Self {
        Self::MessageEntry(MessageEntry { message, answer: None })
    }
}

impl EntryBody {
    /// Returns the model that wrote the content, and its usage; `None` if no model wrote it or its usage is unknown.
    pub fn answer(&self) -> Option<&ResponseMetadata> {
        match self {
            Self::MessageEntry(said) => said.answer.as_ref(),
            Self::Compaction(compaction) => compaction.answer.as_ref(),
            Self::BranchSummary(branch) => branch.answer.as_ref(),
            Self::Custom(custom) => custom.answer.as_ref(),
            Self::ModelChange(_)
            | Self::ThinkingChange(_)
            | Self::ToolsChange(_)
            | Self::ToolStart(_)
            | Self::CustomMessage(_)
            | Self::Label(_)
            | Self::Tags(_)
            | Self::Name(_)
            | Self::Unknown(_) => None,
        }
    }

    /// True if the entry requires a file: a session that contains only settings is not saved.
    pub(super) fn is_content(&self) -> bool {
        match self {
            Self::ModelChange(_) | Self::ThinkingChange(_) | Self::ToolsChange(_) | Self::Custom(_) => false,
            Self::MessageEntry(_)
            | Self::ToolStart(_)
            | Self::Compaction(_)
            | Self::BranchSummary(_)
            | Self::CustomMessage(_)
            | Self::Label(_)
            | Self::Tags(_)
            | Self::Name(_)
            | Self::Unknown(_) => true,
        }
    }
}
