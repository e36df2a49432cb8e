//! Replies to commands about sessions.

use serde::{Deserialize, Serialize};

use crate::message::{Rfc3339Time, TokenUsage};

/// A session that is open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SessionData {
    /// Its id, by which commands name it.
    pub session: String,
    /// True if it leaves no file.
    pub ephemeral: bool,
    /// Its file, which is there as soon as something was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// The sessions there are.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SessionsData {
    /// Those that are open in the order in which they were opened, then those of this directory on the disk, the one that
    /// was written last first.
    pub sessions: Vec<SessionInfo>,
}

/// A session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SessionInfo {
    /// Its id.
    pub session: String,
    /// True if it is open in this process.
    pub open: bool,
    /// True if commands mean it that name none.
    pub current: bool,
    /// True if it is at work.
    pub busy: bool,
    /// Its file, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The directory that it is about.
    pub cwd: String,
    /// When it began.
    pub created: Rfc3339Time,
    /// When something was last said in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Rfc3339Time>,
    /// The name that it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The first prompt of the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_text: Option<String>,
    /// The number of messages it has, on all branches.
    pub messages: u64,
    /// The usage of all answers.
    pub usage: TokenUsage,
    /// The session that it was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<String>,
}

/// The entries of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TreeData {
    /// Every entry behind the one that it follows.
    pub entries: Vec<EntryInfo>,
    /// The entry that the next one will follow; absent at the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leaf: Option<String>,
}

/// Where a session goes on from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MovedData {
    /// The entry that the next one follows; absent at the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// With `before`, all of the text that the user said in the entry that was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// An entry of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct EntryInfo {
    /// Its id.
    pub id: String,
    /// The entry that it follows; absent for a first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The kind by its name in the session's file: `message`, `compaction`, `model_change`, …
    #[serde(rename = "type")]
    pub kind: String,
    /// Of a message: `user`, `assistant` or `tool`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The first line of what it says, if it says something; of a long one the first 200 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The mark that a person put on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// When it was written.
    pub time: Rfc3339Time,
}
