//! `ui_request` and `ui_response`: questions for the person at the client.
//!
//! ```json
//! {"type":"ui_request","id":"ui-1","kind":"confirm","title":"Delete?","message":"3 files","default":{"confirmed":false},"session":"0199"}
//! {"id":"9","type":"ui_response","request":"ui-1","confirmed":true}
//! ```

use serde::{Deserialize, Serialize};

use crate::content::{CallPreview, ToolCall};
use crate::dialog::UiAnswer;
use crate::ids::ExtensionName;

/// A question for the person, for clients that sent `"ui":true`. It waits for an answer, unless it has
/// a `timeout_ms`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UiRequest {
    /// The id of the question in `ui_response` and `ui_done`.
    pub id: String,
    /// The extension that asks; absent if haft asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extension: Option<ExtensionName>,
    /// The type of the question.
    pub kind: UiKind,
    /// The title: one line.
    pub title: String,
    /// Details; can be empty.
    pub message: String,
    /// The choices, for `select` and `gate_failing`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// For `input`: the text in the empty field, which is not an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placeholder: Option<String>,
    /// For `editor`: the text that the person changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefill: Option<String>,
    /// For `approve`: the tool call, with the tool and the arguments that will run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<ToolCall>,
    /// For `approve` of `edit` and `write`: `diff`, the change that the call makes; or `error`, the
    /// reason why it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<Box<CallPreview>>,
    /// The time limit in milliseconds; absent if the question waits. haft's own questions wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The answer that applies if the client gives none, for example because the time limit passed.
    pub default: UiAnswer,
}

/// The kind of answer that a question asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum UiKind {
    /// Yes or no: `confirmed`.
    Confirm,
    /// Yes or no to a tool call that the client wants to approve: `confirmed`. Without a yes, the
    /// call does not run.
    Approve,
    /// One of `options`: `value`.
    Select,
    /// A text of one line: `value`.
    Input,
    /// A text of any number of lines: `value`.
    Editor,
    /// An extension whose approval is required keeps failing: `value` is `restart`,
    /// `continue_without` or `stop`.
    GateFailing,
}

/// The answer to a `ui_request`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UiResponse {
    /// The `id` of the question.
    #[serde(deserialize_with = "crate::ids::printable")]
    pub request: String,
    /// The answer.
    #[serde(flatten)]
    pub answer: UiAnswer,
}

/// The reason why a question is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum UiEnd {
    /// The client answered.
    Answered,
    /// The time limit passed.
    Timeout,
    /// The answer is no longer needed, or the client cancelled.
    Cancelled,
    /// The process ends, or the session was closed.
    Shutdown,
}
