//! `command_invoked` and `command_response`.

use serde::{Deserialize, Serialize};

use super::answer_error::AnswerError;
use super::panel::Panel;
use crate::ids::RequestId;
use crate::read::null_is_default;

/// The user ran one of the extension's commands. The extension answers with `command_response`
/// within 30 s.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommandInvoked {
    /// The id for the response.
    pub id: RequestId,
    /// The name of the command, without the slash.
    #[serde(deserialize_with = "crate::ids::printable")]
    pub name: String,
    /// The text after the command's name, trimmed. Absent if empty.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub args: String,
}

/// The response to `command_invoked`. `action` selects the field that counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommandResponse {
    /// The `id` of the `command_invoked`.
    pub id: RequestId,
    /// The action: `prompt`, `insert`, `display`, `open_panel` or `noop`; absent means `noop`.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub action: String,
    /// For `prompt`: a new user message; the agent runs a turn.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub prompt: String,
    /// For `insert`: text for the composer.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub insert: String,
    /// For `display`: a note, outside the transcript.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub display: String,
    /// For `open_panel`: the panel to open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_panel: Option<Panel>,
    /// Not empty if the command failed. The user sees it, whatever `action` is.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub error: String,
}

/// The action of the host after a command: the meaning of a [`CommandResponse`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandAction {
    /// Submits the text as a new user message, which haft never parses as a command.
    Prompt(String),
    /// Inserts the text into the editor at the cursor.
    Insert(String),
    /// Shows the text as a note, outside the transcript.
    Display(String),
    /// Opens a panel.
    OpenPanel(Panel),
    /// Does nothing; the extension has handled the command.
    Noop,
    /// The command failed.
    Failed(String),
}

impl CommandAction {
    /// Converts the action to its wire form.
    pub fn into_response(self, id: RequestId) -> CommandResponse {
        let mut response = CommandResponse {
            id,
            action: String::new(),
            prompt: String::new(),
            insert: String::new(),
            display: String::new(),
            open_panel: None,
            error: String::new(),
        };
        let action = match self {
            Self::Prompt(text) => {
                response.prompt = text;
                "prompt"
            }
            Self::Insert(text) => {
                response.insert = text;
                "insert"
            }
            Self::Display(text) => {
                response.display = text;
                "display"
            }
            Self::OpenPanel(panel) => {
                response.open_panel = Some(panel);
                "open_panel"
            }
            Self::Noop => "noop",
            Self::Failed(error) => {
                response.error = error;
                "noop"
            }
        };
        action.clone_into(&mut response.action);
        response
    }
}

impl TryFrom<CommandResponse> for CommandAction {
    type Error = AnswerError;

    fn try_from(response: CommandResponse) -> Result<Self, AnswerError> {
        if !response.error.is_empty() {
            return Ok(Self::Failed(response.error));
        }
        match response.action.as_str() {
            "prompt" => Ok(Self::Prompt(response.prompt)),
            "insert" => Ok(Self::Insert(response.insert)),
            "display" => Ok(Self::Display(response.display)),
            "open_panel" => Ok(response.open_panel.map_or(Self::Noop, Self::OpenPanel)),
            "" | "noop" => Ok(Self::Noop),
            other => Err(AnswerError::new(format!(
                "unknown action {other:?}: use prompt, insert, display, open_panel or noop"
            ))),
        }
    }
}
