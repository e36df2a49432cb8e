//! Entries of a session file: a header, then entries, one line of JSON each.
//!
//! Every line begins with `{"type":"…","id":"…","parent":"…"` or `"parent":null`, in this order and without white
//! space, so that who looks for the shape of the tree need not read further. Fields that an entry's type does not have
//! are passed over when it is read, and stay in the file: no line is ever rewritten.

use haft_protocol::RawJson;
use haft_protocol::content::ContentBlock;
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::{Message, Rfc3339Time, StopCause, TokenUsage};
use serde::{Deserialize, Serialize};

use super::id::{EntryId, SessionId};

/// The version of the format that this build writes. Files of a newer one are only read.
pub const FORMAT_VERSION: u32 = 1;

/// The first line of a file. On disk its `type` is `session` and its `parent` is null.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionHeader {
    /// The session, and the name of its file.
    pub id: SessionId,
    /// [`FORMAT_VERSION`] of who wrote it.
    pub format_version: u32,
    /// The directory that the session is about.
    pub cwd: String,
    /// When it began.
    pub created: Rfc3339Time,
    /// Where it was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkOrigin>,
}

impl SessionHeader {
    /// The version of the format, if it is one that this build can only read.
    pub(super) fn newer_version(&self) -> Option<u32> {
        Some(self.format_version).filter(|version| *version > FORMAT_VERSION)
    }
}

/// Where a fork comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkOrigin {
    /// The session.
    pub session: SessionId,
    /// The last entry that both have; none if the fork was made of an empty session.
    pub entry: Option<EntryId>,
}

/// One line after the header.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionEntry {
    /// Its name.
    pub id: EntryId,
    /// The entry that it follows; none for a root.
    pub parent: Option<EntryId>,
    /// When it was written, for people: order is that of parents, and of lines.
    pub time: Rfc3339Time,
    /// The body.
    pub body: EntryBody,
}

/// The fields of a body's line.
pub(super) enum Fields<'a> {
    Own(Vec<u8>),
    Line(&'a str),
}

macro_rules! bodies {
    ($($(#[$doc:meta])* $name:ident = $kind:literal,)*) => {
        /// What an entry says.
        #[derive(Debug, Clone, PartialEq)]
        pub enum EntryBody {
            $($(#[$doc])* $name($name),)*
            /// Of a type that this build does not know, or cannot read: kept as it stands.
            Unknown(Unknown),
        }

        impl EntryBody {
            /// The types that this build writes.
            pub const KINDS: &'static [&'static str] = &[$($kind),*];

            /// Its `type` on disk.
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

            /// Reads the fields of a type; `None` for one that is not known.
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
    /// Of the transcript.
    Said = "message",
    /// From here on another model is asked.
    ModelChange = "model_change",
    /// From here on the model thinks more or less.
    ThinkingChange = "thinking_change",
    /// From here on other tools are offered.
    ToolsChange = "tools_change",
    /// A tool is about to run. Written, and on the disk, before it may do anything.
    ToolStart = "tool_start",
    /// What was before is summed up for the model.
    Compaction = "compaction",
    /// What happened on a branch that was left, summed up for the model.
    BranchSummary = "branch_summary",
    /// State of an extension. The model never sees it.
    Custom = "custom",
    /// What an extension tells the model, and perhaps the user.
    CustomMessage = "custom_message",
    /// A mark on an entry, for people.
    Label = "label",
    /// Words to find the session by; the newest entry counts.
    Tags = "tags",
    /// The session's name for people; the newest entry counts.
    Name = "name",
}

/// A message of the transcript, and for an answer of the model what it cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Said {
    /// The message.
    pub message: Message,
    /// The model that answered, and its usage; only with an assistant's message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<ResponseMetadata>,
}

/// Where an answer came from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResponseMetadata {
    /// The provider.
    pub provider: String,
    /// The model's id there.
    pub model: String,
    /// Why it ended.
    pub stop: StopCause,
    /// The usage of the request.
    pub usage: TokenUsage,
}

/// Another model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelChange {
    /// The provider.
    pub provider: String,
    /// The model's id there.
    pub model: String,
}

/// Another level of thinking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThinkingChange {
    /// The level's name: `off`, `low`, …
    pub level: String,
}

/// Other tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolsChange {
    /// The names of those that are offered; all there are if there is no list.
    pub active: Option<Vec<String>>,
}

/// A tool is about to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolStart {
    /// The call that it answers.
    pub call_id: ToolCallId,
    /// The tool.
    pub name: String,
    /// The arguments that it runs with: what every gate approved last.
    pub args: RawJson,
}

/// A summary in place of what was before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Compaction {
    /// The summary for the model.
    pub summary: String,
    /// The first entry that is still sent; none if the summary stands for everything.
    pub first_kept: Option<EntryId>,
    /// Tokens of the context before.
    pub tokens_before: u64,
    /// Files that were read by what was summed up, and by what that had summed up.
    #[serde(default)]
    pub files_read: Vec<String>,
    /// Files that were changed, likewise.
    #[serde(default)]
    pub files_modified: Vec<String>,
    /// The extension that wrote the summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Everything the session has used, this summary included: who reads from here on only does not see the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<TokenUsage>,
    /// The model that wrote it, and what that cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<ResponseMetadata>,
    /// Settings in effect at this entry, for readers that start here. Filled in when it is appended.
    #[serde(default)]
    pub settings: SessionSettings,
}

/// Settings in effect at an entry; none where they were never recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionSettings {
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelChange>,
    /// The level of thinking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<String>,
    /// The tools that are offered; all there are if none are named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
}

/// A summary of a branch that was left.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BranchSummary {
    /// The text for the model.
    pub summary: String,
    /// The last entry of that branch.
    pub from: EntryId,
    /// The model that wrote it, and what that cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<ResponseMetadata>,
}

/// State of an extension.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Custom {
    /// The extension.
    pub owner: String,
    /// The kind, in the extension's words. On disk `kind`.
    pub kind: String,
    /// The extension's own.
    pub data: RawJson,
}

/// A message of an extension for the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CustomMessage {
    /// The extension.
    pub owner: String,
    /// The kind, in the extension's words.
    pub kind: String,
    /// The text for the model, as a message of the user.
    pub content: Vec<ContentBlock>,
    /// True if the user is shown it, too.
    pub display: bool,
}

/// A mark.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    /// The entry that is marked.
    pub target: EntryId,
    /// The mark; none takes it away.
    pub label: Option<String>,
}

/// Words to find the session by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tags {
    /// All of them.
    pub tags: Vec<String>,
}

/// The session's name for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Name {
    /// The name; an empty one takes it away.
    pub name: String,
}

/// A line that is kept as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// Its `type`.
    pub kind: String,
    /// All of it, without the newline.
    pub line: Box<str>,
}

impl From<Message> for EntryBody {
    fn from(message: Message) -> Self {
        Self::Said(Said { message, answer: None })
    }
}

impl EntryBody {
    /// The model that wrote it, and what that cost; none where no model did, or nobody counted.
    pub fn answer(&self) -> Option<&ResponseMetadata> {
        match self {
            Self::Said(said) => said.answer.as_ref(),
            Self::Compaction(compaction) => compaction.answer.as_ref(),
            Self::BranchSummary(branch) => branch.answer.as_ref(),
            Self::ModelChange(_)
            | Self::ThinkingChange(_)
            | Self::ToolsChange(_)
            | Self::ToolStart(_)
            | Self::Custom(_)
            | Self::CustomMessage(_)
            | Self::Label(_)
            | Self::Tags(_)
            | Self::Name(_)
            | Self::Unknown(_) => None,
        }
    }

    /// True if it is worth a file: a session in which nothing but settings was said leaves none.
    pub(super) fn is_content(&self) -> bool {
        match self {
            Self::ModelChange(_) | Self::ThinkingChange(_) | Self::ToolsChange(_) | Self::Custom(_) => false,
            Self::Said(_)
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
