//! `before_fork`: an extension allows or blocks a copy of the conversation.
//!
//! ```json
//! {"type":"event_intercept","id":"21","event":"before_fork","entry":"0000000000000002"}
//! {"type":"event_intercept_response","id":"21","block":true,"reason":"commit first"}
//! ```

use serde::{Deserialize, Serialize};

use super::{EventInterceptResponse, InterceptHook, InterceptKind};
use crate::ext::answer_error::AnswerError;
use crate::ids::{ExtensionName, RequestId};

/// Before the conversation is copied to a new session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InterceptBeforeFork {
    /// The last entry of the copy; absent if the session has no entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// The extension that sent the command; absent for a command of the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<ExtensionName>,
}

/// The decision about the copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BeforeForkDecision {
    /// The conversation is copied.
    Continue,
    /// The command fails.
    Block {
        /// The text for the person.
        reason: String,
    },
}

impl InterceptHook for InterceptBeforeFork {
    type Decision = BeforeForkDecision;

    const KIND: InterceptKind = InterceptKind::BeforeFork;

    fn read(response: EventInterceptResponse) -> Result<BeforeForkDecision, AnswerError> {
        Ok(match response.is_blocking() {
            true => BeforeForkDecision::Block { reason: response.reason },
            false => BeforeForkDecision::Continue,
        })
    }

    fn respond(decision: BeforeForkDecision, id: RequestId) -> EventInterceptResponse {
        let mut response = EventInterceptResponse::pass_through(id);
        if let BeforeForkDecision::Block { reason } = decision {
            (response.block, response.reason) = (Some(true), reason);
        }
        response
    }
}
