//! `ui_request` and `ui_response`: questions for the person at the client.
//!
//! ```json
//! {"type":"ui_request","id":"ui-1","kind":"confirm","title":"Delete?","message":"3 files","default":{"confirmed":false},"session":"0199"}
//! {"id":"9","type":"ui_response","request":"ui-1","confirmed":true}
//! ```

use serde::{Deserialize, Serialize};

use crate::content::{CallPreview, ToolCall};
use crate::ids::ExtensionName;

/// A question for the person, for clients that sent `"ui":true`. It waits for an answer, unless it has
/// a `timeout_ms`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UiKind {
    /// Yes or no: `confirmed`.
    Confirm,
    /// Yes or no to a tool call that the client wants to approve: `confirmed`. Without a yes, the
    /// call does not run.
    Approve,
    /// One of `options`: `value`.
    Select,
    /// A text: `value`.
    Input,
    /// An extension whose approval is required keeps failing: `value` is `restart`,
    /// `continue_without` or `stop`.
    GateFailing,
}

/// An answer: exactly one of these fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "AnswerFields", into = "AnswerFields")]
pub enum UiAnswer {
    /// Yes or no, to `confirm` and `approve`.
    Confirmed(bool),
    /// The text that was chosen or typed.
    Value(String),
    /// No answer: the default applies.
    Cancelled,
}

/// The answer to a `ui_request`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct UiResponse {
    /// The `id` of the question.
    #[serde(deserialize_with = "crate::ids::printable")]
    pub request: String,
    /// The answer.
    #[serde(flatten)]
    pub answer: UiAnswer,
}

/// The reason why a question is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
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

/// The fields of an answer.
#[derive(Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(expecting = "an object")]
struct AnswerFields {
    /// For `confirm` and `approve`: yes or no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    confirmed: Option<bool>,
    /// For `select`, `input` and `gate_failing`: the selected or typed text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    /// True to select the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cancelled: Option<bool>,
}

impl From<UiAnswer> for AnswerFields {
    fn from(answer: UiAnswer) -> Self {
        match answer {
            UiAnswer::Confirmed(yes) => Self { confirmed: Some(yes), ..Self::default() },
            UiAnswer::Value(value) => Self { value: Some(value), ..Self::default() },
            UiAnswer::Cancelled => Self { cancelled: Some(true), ..Self::default() },
        }
    }
}

impl TryFrom<AnswerFields> for UiAnswer {
    type Error = &'static str;

    fn try_from(fields: AnswerFields) -> Result<Self, &'static str> {
        match (fields.confirmed, fields.value, fields.cancelled.unwrap_or(false)) {
            (Some(yes), None, false) => Ok(Self::Confirmed(yes)),
            (None, Some(value), false) => Ok(Self::Value(value)),
            (None, None, true) => Ok(Self::Cancelled),
            _ => Err("exactly one of confirmed, value and cancelled is needed"),
        }
    }
}

impl schemars::JsonSchema for UiAnswer {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "UiAnswer".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        AnswerFields::json_schema(generator)
    }
}
