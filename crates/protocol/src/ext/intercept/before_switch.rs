//! `before_switch`: an extension allows or blocks that another session is opened.
//!
//! ```json
//! {"type":"event_intercept","id":"20","event":"before_switch","reason":"resume","session":"0199"}
//! {"type":"event_intercept_response","id":"20","block":true,"reason":"the review is open"}
//! ```

use serde::{Deserialize, Serialize};

use super::{EventInterceptResponse, InterceptHook, InterceptKind};
use crate::ext::answer_error::AnswerError;
use crate::ids::{ExtensionName, RequestId};
use crate::named_enum::named_enum;

named_enum! {
    /// The kind of session that is opened.
    pub enum SwitchReason {
        /// A new session: `new_session`.
        New = "new",
        /// A session from disk: `switch_session`.
        Resume = "resume",
    }
}

/// Before another session is opened beside the current one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InterceptBeforeSwitch {
    /// The kind of session.
    pub reason: SwitchReason,
    /// `resume`: the session as the command names it, by its id or the beginning of its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The extension that sent the command; absent for a command of the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<ExtensionName>,
}

/// The decision about the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BeforeSwitchDecision {
    /// The session is opened.
    Continue,
    /// The command fails.
    Block {
        /// The text for the person.
        reason: String,
    },
}

impl InterceptHook for InterceptBeforeSwitch {
    type Decision = BeforeSwitchDecision;

    const KIND: InterceptKind = InterceptKind::BeforeSwitch;

    fn read(response: EventInterceptResponse) -> Result<BeforeSwitchDecision, AnswerError> {
        Ok(match response.is_blocking() {
            true => BeforeSwitchDecision::Block { reason: response.reason },
            false => BeforeSwitchDecision::Continue,
        })
    }

    fn respond(decision: BeforeSwitchDecision, id: RequestId) -> EventInterceptResponse {
        let mut response = EventInterceptResponse::pass_through(id);
        if let BeforeSwitchDecision::Block { reason } = decision {
            (response.block, response.reason) = (Some(true), reason);
        }
        response
    }
}
