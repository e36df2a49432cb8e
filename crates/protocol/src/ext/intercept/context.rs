//! `context`: an extension replaces the messages of one request to the model.
//!
//! ```json
//! {"type":"event_intercept","id":"9","event":"context","messages":[{"role":"user","content":[{"type":"text","text":"hi"}],"time":"2026-01-01T00:00:00Z"}]}
//! {"type":"event_intercept_response","id":"9","messages":[{"role":"user","content":[{"type":"text","text":"hello"}],"time":"2026-01-01T00:00:00Z"}]}
//! ```

use serde::{Deserialize, Serialize};

use super::{EventInterceptResponse, InterceptHook, InterceptKind, TurnStop, read_field};
use crate::ext::answer_error::AnswerError;
use crate::ids::RequestId;
use crate::json::RawJson;
use crate::message::Message;

/// Before a request to the model. The session does not change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct InterceptContext {
    /// The messages of the request, oldest first, in the form of the session file. The field
    /// `native` is absent.
    pub messages: Vec<Message>,
}

/// The decision about the messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContextDecision {
    /// The messages stay as they are.
    Unchanged,
    /// The request has these messages.
    Replace {
        /// All messages, oldest first; not empty.
        messages: Vec<Message>,
    },
    /// Ends the turn.
    Stop(TurnStop),
}

impl InterceptHook for InterceptContext {
    type Decision = ContextDecision;

    const KIND: InterceptKind = InterceptKind::Context;

    fn read(mut response: EventInterceptResponse) -> Result<ContextDecision, AnswerError> {
        if let Some(stop) = TurnStop::read(&mut response)? {
            return Ok(ContextDecision::Stop(stop));
        }
        if response.is_blocking() {
            return Err(AnswerError::new("context cannot block; intercept turn_start for that"));
        }
        Ok(match read_field("messages", response.messages)? {
            None => ContextDecision::Unchanged,
            Some(messages) => ContextDecision::Replace { messages },
        })
    }

    fn respond(decision: ContextDecision, id: RequestId) -> EventInterceptResponse {
        let mut response = EventInterceptResponse::pass_through(id);
        match decision {
            ContextDecision::Unchanged => {}
            ContextDecision::Replace { messages } => response.messages = RawJson::from_value(&messages).ok(),
            ContextDecision::Stop(stop) => stop.write(&mut response),
        }
        response
    }
}
