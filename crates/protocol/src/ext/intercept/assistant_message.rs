//! `assistant_message`: an extension changes or hides the model's text for the user. The transcript
//! keeps the original.
//!
//! ```json
//! {"type":"event_intercept","id":"3","event":"assistant_message","text":"the key is SECRET"}
//! {"type":"event_intercept_response","id":"3","replace_text":"the key is [redacted]"}
//! ```

use serde::{Deserialize, Serialize};

use super::{EventInterceptResponse, InterceptHook, InterceptKind};
use crate::ext::answer_error::AnswerError;
use crate::ids::RequestId;

/// Before the user sees the model's text. Sent for every message with text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InterceptAssistantMessage {
    /// The text blocks, joined by newlines, or the replacement of an earlier interceptor.
    pub text: String,
}

/// The decision about the answer that the user sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AssistantMessageDecision {
    /// Shows the original text.
    Show,
    /// Shows this text instead.
    Replace {
        /// The replacement; not empty.
        text: String,
    },
    /// Shows no text. Tool calls of the message still run.
    Suppress {
        /// The text for the user instead.
        reason: String,
    },
}

impl InterceptHook for InterceptAssistantMessage {
    type Decision = AssistantMessageDecision;

    const KIND: InterceptKind = InterceptKind::AssistantMessage;

    fn read(response: EventInterceptResponse) -> Result<AssistantMessageDecision, AnswerError> {
        Ok(if response.is_blocking() {
            AssistantMessageDecision::Suppress { reason: response.reason }
        } else if response.replace_text.is_empty() {
            AssistantMessageDecision::Show
        } else {
            AssistantMessageDecision::Replace { text: response.replace_text }
        })
    }

    fn respond(decision: AssistantMessageDecision, id: RequestId) -> EventInterceptResponse {
        let mut response = EventInterceptResponse::pass_through(id);
        match decision {
            AssistantMessageDecision::Show => {}
            AssistantMessageDecision::Replace { text } => response.replace_text = text,
            AssistantMessageDecision::Suppress { reason } => {
                response.block = Some(true);
                response.reason = reason;
            }
        }
        response
    }
}
