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
    /// Returns the format version if it is newer than this build's.
    pub(super) fn newer_version(&self) -> Option<u32> {
        Some(self.format_version).filter(|version| *version > FORMAT_VERSION)
    }
}

/// The origin of a fork.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkOrigin {
    /// The original session.
    pub session: SessionId,
    /// The last common entry; `None` if the original session was empty.
    pub entry: Option<EntryId>,
}

/// One line after the header.
#[derive(Debug, Clone, PartialEq)]
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
pub struct MessageEntry {
    /// The message.
    pub message: Message,
    /// The model that answered and its usage; only for an assistant's message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<ResponseMetadata>,
}

/// The origin of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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

/// A change of the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelChange {
    /// The provider.
    pub provider: String,
    /// The model's id at the provider.
    pub model: String,
}

/// A change of the thinking level.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThinkingChange {
    /// The name of the level: `off`, `low`, …
    pub level: String,
}

/// A change of the offered tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolsChange {
    /// The names of the offered tools; `None` offers all tools.
    pub active: Option<Vec<String>>,
}

/// The start of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolStart {
    /// The id of the call.
    pub call_id: ToolCallId,
    /// The tool.
    pub name: String,
    /// The arguments that every gate allowed.
    pub args: RawJson,
}

/// A summary that replaces the older part of the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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

/// Settings in effect at an entry; none where they were never recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
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

/// State of an extension.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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

/// A message of an extension for the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
pub struct Label {
    /// The labeled entry.
    pub target: EntryId,
    /// The label; `None` removes it.
    pub label: Option<String>,
}

/// The session's display name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Name {
    /// The name; an empty one removes it.
    pub name: String,
}

/// An entry whose line is kept unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// The `type` of the entry.
    pub kind: String,
    /// The whole line, without the newline.
    pub line: Box<str>,
}

impl CustomMessage {
    /// Returns the event that the message entered the transcript.
    pub(crate) fn into_event(self, time: Rfc3339Time) -> AgentEvent {
        let Self { owner, kind, content, display, details } = self;
        AgentEvent::CustomMessage { owner, kind, content, display, details, time }
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
