//! `command_completions` and `command_completions_response`: what may follow a command that is being typed.

use serde::{Deserialize, Serialize};

use crate::ids::RequestId;
use crate::read::null_is_default;

/// The user types what follows one of the extension's commands. Asked only about commands that were registered with
/// `completes`, and answered by `command_completions_response` within 1 s; late means that there is nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CommandCompletions {
    /// Ties the response to this frame.
    pub id: RequestId,
    /// The command, without the slash.
    #[serde(deserialize_with = "crate::ids::printable")]
    pub name: String,
    /// The text behind the name and the blanks that follow it, up to the cursor. Absent when empty.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub prefix: String,
}

/// The answer to `command_completions`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CommandCompletionsResponse {
    /// The `id` of the `command_completions` this answers.
    pub id: RequestId,
    /// The candidates, the likeliest first; at most 100. Absent or empty: nothing comes to mind.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<CompletionItem>,
}

/// One thing that may follow a command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CompletionItem {
    /// The text that takes the place of all of `prefix`: one line.
    pub value: String,
    /// The text beside it in the list; absent when the value says it all.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub label: String,
    /// A description of one line.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub description: String,
}
