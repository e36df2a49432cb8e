//! `before_settle`: an extension has the agent go on when it would stop.
//!
//! ```json
//! {"type":"event_intercept","id":"8","event":"before_settle","text":"All done.","continued":0}
//! {"type":"event_intercept_response","id":"8","go_on":"The tests fail. Fix them."}
//! ```

use serde::{Deserialize, Serialize};

use super::{EventInterceptResponse, InterceptHook, InterceptKind};
use crate::ext::answer_error::AnswerError;
use crate::ids::RequestId;

/// Before the agent stops: the model has answered, and no message waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InterceptBeforeSettle {
    /// The text of the model's last answer.
    pub text: String,
    /// The number of times that extensions have already made this run go on.
    pub continued: u32,
}

/// The decision about the end of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BeforeSettleDecision {
    /// The run ends, unless another extension decides otherwise.
    Settle,
    /// The run continues with this message.
    GoOn {
        /// The text for the model; not empty.
        text: String,
    },
}

impl InterceptHook for InterceptBeforeSettle {
    type Decision = BeforeSettleDecision;

    const KIND: InterceptKind = InterceptKind::BeforeSettle;

    fn read(response: EventInterceptResponse) -> Result<BeforeSettleDecision, AnswerError> {
        if response.is_blocking() {
            return Err(AnswerError::new("before_settle cannot block; answer with go_on instead"));
        }
        Ok(match response.go_on {
            text if text.trim().is_empty() => BeforeSettleDecision::Settle,
            text => BeforeSettleDecision::GoOn { text },
        })
    }

    fn respond(decision: BeforeSettleDecision, id: RequestId) -> EventInterceptResponse {
        let mut response = EventInterceptResponse::pass_through(id);
        if let BeforeSettleDecision::GoOn { text } = decision {
            response.go_on = text;
        }
        response
    }
}
