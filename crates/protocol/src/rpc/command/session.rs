//! `new_session`, `switch_session`, `close_session`, `list_sessions`, `fork`, `tree`, `move_to`,
//! `set_name`: sessions and their branches.

use serde::{Deserialize, Serialize};

/// A session of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct NewSession {
    /// True if the session has no file; absent: as haft was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ephemeral: Option<bool>,
}

/// Another session for commands that name none: the field `session`, which this command needs, says which.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SwitchSession {}

/// A session is not needed any more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CloseSession {}

/// The sessions there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ListSessions {}

/// The same conversation up to some entry, in a session of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ForkCommand {
    /// The last entry of the copy, as `tree` names it; absent: the current entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
}

/// The entries of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TreeCommand {}

/// The session goes on from an entry.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MoveTo {
    /// The entry that the next one follows, as `tree` names it; absent: the beginning of the
    /// session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// True if the session continues before that entry, so that its prompt can be sent again; the
    /// reply has the text. Absent: after the entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<bool>,
}

/// A name for people.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SetName {
    /// The name; an empty one removes it.
    #[serde(deserialize_with = "crate::ids::printable")]
    pub name: String,
}
