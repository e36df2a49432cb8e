//! Calls of `host_call` that ask the person: `confirm`, `select`, `input` and `editor`. They require
//! the capability `asks` and the permission `ui`.
//!
//! ```json
//! {"type":"host_call","id":"c1","call":"select","args":{"title":"Allow?","options":["Yes","No"]},"under":"h41"}
//! {"type":"host_result","id":"c1","content":[],"value":{"value":"No","why":"answered"}}
//! ```

use serde::{Deserialize, Serialize};

use super::HostCallKind;
use crate::dialog::UiAnswer;
use crate::error::without_position;
use crate::json::RawJson;
use crate::named_enum::named_enum;

/// A question for the person, with its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "call", content = "args", rename_all = "snake_case")]
pub enum AskCall {
    /// A question with the answer yes or no.
    Confirm(ConfirmCall),
    /// A choice between texts.
    Select(SelectCall),
    /// A text of one line.
    Input(InputCall),
    /// A text of any number of lines.
    Editor(EditorCall),
}

/// The arguments of `confirm`. Without an answer, the value is no.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConfirmCall {
    /// The question: one line.
    pub title: String,
    /// Details.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The time for an answer in milliseconds. Absent: the question waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// The arguments of `select`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SelectCall {
    /// The question: one line.
    pub title: String,
    /// Details.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The choices, at least one.
    pub options: Vec<String>,
    /// The time for an answer in milliseconds. Absent: the question waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// The arguments of `input`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InputCall {
    /// The question: one line.
    pub title: String,
    /// Details.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The text in the empty field, which is not an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placeholder: Option<String>,
    /// The time for an answer in milliseconds. Absent: the question waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// The arguments of `editor`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EditorCall {
    /// The question: one line.
    pub title: String,
    /// The text that the person changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefill: Option<String>,
    /// The time for an answer in milliseconds. Absent: the question waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// The `value` of a question: the answer, and the reason why the question ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AskAnswer {
    /// The answer. Without one: no for `confirm`, `cancelled` for the others.
    #[serde(flatten)]
    pub answer: UiAnswer,
    /// The reason why the question ended.
    pub why: AskEnd,
}

named_enum! {
    /// The reason why a question to the person ended.
    pub enum AskEnd {
        /// The person answered.
        Answered = "answered",
        /// The person closed the question without an answer.
        Cancelled = "cancelled",
        /// The time limit passed.
        Timeout = "timeout",
        /// The session ends.
        Shutdown = "shutdown",
        /// haft runs without a person who could answer.
        NoPerson = "no_person",
    }
}

impl AskCall {
    /// Reads the arguments of a call. Returns `None` for calls that are not questions.
    ///
    /// # Errors
    /// The invalid argument, as text.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the other calls ask nothing")]
    pub fn read(kind: HostCallKind, args: &RawJson) -> Option<Result<Self, String>> {
        let read = match kind {
            HostCallKind::Confirm => args.read().map(Self::Confirm),
            HostCallKind::Select => args.read().map(Self::Select),
            HostCallKind::Input => args.read().map(Self::Input),
            HostCallKind::Editor => args.read().map(Self::Editor),
            _ => return None,
        };
        Some(read.map_err(|error| without_position(&error)).and_then(Self::check))
    }

    fn check(self) -> Result<Self, String> {
        if self.title().trim().is_empty() {
            return Err("title: must not be empty".to_owned());
        }
        if self.title().contains(['\n', '\r']) {
            return Err("title: must be one line".to_owned());
        }
        match &self {
            Self::Select(select) if select.options.is_empty() => {
                Err("options: must have at least one choice".to_owned())
            }
            Self::Confirm(_) | Self::Select(_) | Self::Input(_) | Self::Editor(_) => Ok(self),
        }
    }

    /// Returns the kind of the call.
    pub const fn kind(&self) -> HostCallKind {
        match self {
            Self::Confirm(_) => HostCallKind::Confirm,
            Self::Select(_) => HostCallKind::Select,
            Self::Input(_) => HostCallKind::Input,
            Self::Editor(_) => HostCallKind::Editor,
        }
    }

    /// Returns the question: one line.
    pub fn title(&self) -> &str {
        match self {
            Self::Confirm(ConfirmCall { title, .. })
            | Self::Select(SelectCall { title, .. })
            | Self::Input(InputCall { title, .. })
            | Self::Editor(EditorCall { title, .. }) => title,
        }
    }

    /// Returns the time for an answer in milliseconds, if there is a limit.
    pub const fn timeout_ms(&self) -> Option<u64> {
        match self {
            Self::Confirm(ConfirmCall { timeout_ms, .. })
            | Self::Select(SelectCall { timeout_ms, .. })
            | Self::Input(InputCall { timeout_ms, .. })
            | Self::Editor(EditorCall { timeout_ms, .. }) => *timeout_ms,
        }
    }

    /// Returns the answer that counts if the person gives none.
    pub const fn default_answer(&self) -> UiAnswer {
        match self {
            Self::Confirm(_) => UiAnswer::Confirmed(false),
            Self::Select(_) | Self::Input(_) | Self::Editor(_) => UiAnswer::Cancelled,
        }
    }

    /// Returns the answer of a question that ended without one.
    pub const fn without_answer(&self, why: AskEnd) -> AskAnswer {
        AskAnswer { answer: self.default_answer(), why }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kind: HostCallKind, args: &str, expect: Result<&str, &str>) {
        let read = AskCall::read(kind, &RawJson::parse(args).unwrap()).unwrap();
        let read = read.map(|ask| serde_json::to_string(&ask).unwrap());
        assert_eq!(read.as_deref(), expect.map_err(str::to_owned).as_ref().map(|text| *text));
    }

    #[test]
    fn arguments_of_questions_are_checked() {
        check(
            HostCallKind::Confirm,
            r#"{"title":"Go?","later":1}"#,
            Ok(r#"{"call":"confirm","args":{"title":"Go?"}}"#),
        );
        check(HostCallKind::Editor, r#"{"title":" "}"#, Err("title: must not be empty"));
        check(HostCallKind::Input, r#"{"title":"a\nb"}"#, Err("title: must be one line"));
        check(
            HostCallKind::Select,
            r#"{"title":"x","options":[]}"#,
            Err("options: must have at least one choice"),
        );
        let none = AskCall::read(HostCallKind::Exec, &RawJson::empty_object());
        assert_eq!(none, None);
    }

    #[test]
    fn answer_has_one_field_and_a_reason() {
        let answer = AskAnswer { answer: UiAnswer::Value("No".into()), why: AskEnd::Answered };
        let line = serde_json::to_string(&answer).unwrap();
        assert_eq!(line, r#"{"value":"No","why":"answered"}"#);
        assert_eq!(serde_json::from_str::<AskAnswer>(&line).unwrap(), answer);
        let confirm = AskCall::Confirm(ConfirmCall::default()).without_answer(AskEnd::NoPerson);
        assert_eq!(serde_json::to_string(&confirm).unwrap(), r#"{"confirmed":false,"why":"no_person"}"#);
    }
}
