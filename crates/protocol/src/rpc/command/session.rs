//! `new_session`, `switch_session`, `close_session`, `list_sessions`, `fork`, `tree`, `move_to`,
//! `set_name`: sessions and their branches.

use serde::{Deserialize, Serialize};

/// Opens a new session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NewSession {
    /// True if the session has no file; absent: as haft was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ephemeral: Option<bool>,
}

/// Makes a session the default of commands without a session. The field `session` is required.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SwitchSession {}

/// Closes a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CloseSession {}

/// Lists the sessions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListSessions {}

/// Copies the conversation up to an entry into a new session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ForkCommand {
    /// The last entry of the copy, as `tree` names it; absent: the current entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
}

/// Lists the entries of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TreeCommand {}

/// Moves the session to an entry.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MoveTo {
    /// The entry that the next one follows, as `tree` names it; absent: the beginning of the
    /// session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// True if the session continues before that entry, so that its prompt can be sent again; the
    /// reply has the text. Absent: after the entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<bool>,
    /// True if the model summarizes the branch that the session leaves, and the session continues with
    /// the summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summarize: Option<bool>,
    /// With `summarize`: what matters most in the summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// A label for the summary, or for the entry that the session moves to if there is no summary; at
    /// most 1000 bytes.
    #[serde(
        default,
        deserialize_with = "super::record::optional_label",
        skip_serializing_if = "Option::is_none"
    )]
    pub label: Option<String>,
}

impl From<&str> for MoveTo {
    fn from(entry: &str) -> Self {
        entry.to_owned().into()
    }
}

impl From<String> for MoveTo {
    fn from(entry: String) -> Self {
        Self { entry: Some(entry), ..Self::default() }
    }
}

/// Sets the session's name for people.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SetName {
    /// The name; an empty one removes it.
    #[serde(deserialize_with = "crate::ids::printable")]
    pub name: String,
}
