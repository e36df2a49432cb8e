//! `command_completions` and `command_completions_response`: completions while the user types a
//! command.

use serde::{Deserialize, Serialize};

use crate::ids::RequestId;
use crate::read::null_is_default;

/// The user types after one of the extension's commands that is registered with `completes`. The
/// extension answers with `command_completions_response` within 1 s; the host ignores later
/// responses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommandCompletions {
    /// The id for the response.
    pub id: RequestId,
    /// The name of the command, without the slash.
    #[serde(deserialize_with = "crate::ids::printable")]
    pub name: String,
    /// The text between the name and the cursor, without leading blanks. Absent if empty.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub prefix: String,
}

/// The response to `command_completions`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommandCompletionsResponse {
    /// The `id` of the `command_completions`.
    pub id: RequestId,
    /// The completions, the most likely first, at most 100. Absent or empty if there are none.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<CompletionItem>,
}

/// One thing that may follow a command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CompletionItem {
    /// The text that replaces all of `prefix`: one line.
    pub value: String,
    /// The text in the list; absent means `value`.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub label: String,
    /// A description of one line.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub description: String,
}
