//! `input`: an extension changes or handles what a person wrote, before it becomes a prompt.
//!
//! ```json
//! {"type":"event_intercept","id":"7","event":"input","text":"?quick what is haft","source":"interactive"}
//! {"type":"event_intercept_response","id":"7","text":"Answer briefly: what is haft"}
//! ```

use serde::{Deserialize, Serialize};

use super::{EventInterceptResponse, InterceptHook, InterceptKind};
use crate::content::{Image, InputSource};
use crate::ext::answer_error::AnswerError;
use crate::ids::RequestId;

/// Before an input becomes a prompt. Commands of extensions are already run; templates and skills
/// are not yet expanded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InterceptInput {
    /// The current text: as it was written, or as an earlier interceptor changed it.
    pub text: String,
    /// The current images.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// The origin of the input.
    pub source: InputSource,
}

/// The decision about an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputDecision {
    /// The input stays as it is.
    Unchanged,
    /// The input changes; `None` keeps a part.
    Change {
        /// The new text.
        text: Option<String>,
        /// The new images.
        images: Option<Vec<Image>>,
    },
    /// The extension has handled the input, so that no prompt is sent. No other extension is asked.
    Handled,
}

impl InterceptHook for InterceptInput {
    type Decision = InputDecision;

    const KIND: InterceptKind = InterceptKind::Input;

    fn read(response: EventInterceptResponse) -> Result<InputDecision, AnswerError> {
        if response.is_blocking() {
            return Err(AnswerError::new("input cannot block; answer with handled instead"));
        }
        Ok(match (response.handled.unwrap_or_default(), response.text, response.images) {
            (true, ..) => InputDecision::Handled,
            (false, None, None) => InputDecision::Unchanged,
            (false, text, images) => InputDecision::Change { text, images },
        })
    }

    fn respond(decision: InputDecision, id: RequestId) -> EventInterceptResponse {
        let mut response = EventInterceptResponse::pass_through(id);
        match decision {
            InputDecision::Unchanged => {}
            InputDecision::Change { text, images } => (response.text, response.images) = (text, images),
            InputDecision::Handled => response.handled = Some(true),
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(fields: &str, expect: Result<InputDecision, &str>) {
        let response = serde_json::from_str(&format!(r#"{{"id":"1"{fields}}}"#)).unwrap();
        let got = InterceptInput::read(response);
        assert_eq!(got.map_err(|error| error.to_string()), expect.map_err(str::to_owned), "{fields}");
    }

    #[test]
    fn reads_changes_and_handled() {
        let change =
            |text: Option<&str>, images| Ok(InputDecision::Change { text: text.map(str::to_owned), images });
        check("", Ok(InputDecision::Unchanged));
        check(r#","text":null,"images":null,"handled":null"#, Ok(InputDecision::Unchanged));
        check(r#","text":"x""#, change(Some("x"), None));
        check(r#","text":"","images":[]"#, change(Some(""), Some(Vec::new())));
        check(r#","text":"x","handled":true"#, Ok(InputDecision::Handled));
        check(r#","block":true"#, Err("input cannot block; answer with handled instead"));
    }
}
