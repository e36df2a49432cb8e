//! `UiAnswer`: the answer of a person to a question, in all dialects.

use serde::{Deserialize, Serialize};

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

/// The fields of an answer.
#[derive(Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(expecting = "an object")]
struct AnswerFields {
    /// For `confirm` and `approve`: yes or no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    confirmed: Option<bool>,
    /// For `select`, `input`, `editor` and `gate_failing`: the selected or typed text.
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

#[cfg(feature = "schema")]
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
