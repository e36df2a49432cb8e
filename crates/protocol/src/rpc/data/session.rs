//! Replies to commands about sessions.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::message::{Rfc3339Time, TokenUsage};

/// A session that is open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionData {
    /// The id of the session.
    pub session: String,
    /// True if the session has no file.
    pub ephemeral: bool,
    /// The session file, which exists after the first message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// The open and stored sessions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionsData {
    /// The open sessions in the order in which they were opened, then the sessions of this
    /// directory on the disk, newest first.
    pub sessions: Vec<SessionInfo>,
}

/// A session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionInfo {
    /// The session's id.
    pub session: String,
    /// True if the session is open in this process.
    pub open: bool,
    /// True if this is the current session.
    pub current: bool,
    /// True if a prompt or compaction runs.
    pub busy: bool,
    /// The session's file, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The directory of the session.
    pub cwd: String,
    /// The time at which the session was created.
    pub created: Rfc3339Time,
    /// The time of the session's last message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Rfc3339Time>,
    /// The name of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The session's tags: a map of keys to values. The value is empty for a tag without one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    /// The first prompt of the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_text: Option<String>,
    /// The number of messages on all branches.
    pub messages: u64,
    /// The total usage.
    pub usage: TokenUsage,
    /// The session that it was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<String>,
}

/// The entries of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TreeData {
    /// The entries; each one comes after its parent.
    pub entries: Vec<EntryInfo>,
    /// The entry that the next one follows; absent at the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leaf: Option<String>,
}

/// The entry from which a session continues.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MovedData {
    /// The entry that the next one follows; absent at the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// With `before`: the user's complete text in that entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The entry with the summary of the branch that the session left; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

/// An entry of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EntryInfo {
    /// The entry's id.
    pub id: String,
    /// The parent entry; absent for a first entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The type in the session file: `message`, `compaction`, `model_change`, …
    #[serde(rename = "type")]
    pub kind: String,
    /// The role of a message: `user`, `assistant` or `tool`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The first line of the text, if there is text; at most 200 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The user's label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The time of the entry.
    pub time: Rfc3339Time,
}
