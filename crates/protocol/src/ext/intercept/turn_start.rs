//! `turn_start`: an extension allows or blocks a request to the model.
//!
//! ```json
//! {"type":"event_intercept","id":"2","event":"turn_start","step":3}
//! {"type":"event_intercept_response","id":"2","block":true,"reason":"outside business hours"}
//! ```

use serde::{Deserialize, Serialize};

use super::{EventInterceptResponse, InterceptHook, InterceptKind};
use crate::ext::answer_error::AnswerError;
use crate::ids::RequestId;

/// Before each request to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InterceptTurnStart {
    /// The number of the step, counted from 1 in each prompt.
    pub step: u32,
}

/// The decision about the start of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnStartDecision {
    /// Allows the request.
    Allow,
    /// Ends the turn.
    Block {
        /// The text for the user.
        reason: String,
    },
}

impl InterceptHook for InterceptTurnStart {
    type Decision = TurnStartDecision;

    const KIND: InterceptKind = InterceptKind::TurnStart;

    fn read(response: EventInterceptResponse) -> Result<TurnStartDecision, AnswerError> {
        Ok(match response.is_blocking() {
            true => TurnStartDecision::Block { reason: response.reason },
            false => TurnStartDecision::Allow,
        })
    }

    fn respond(decision: TurnStartDecision, id: RequestId) -> EventInterceptResponse {
        let mut response = EventInterceptResponse::pass_through(id);
        if let TurnStartDecision::Block { reason } = decision {
            response.block = Some(true);
            response.reason = reason;
        }
        response
    }
}
