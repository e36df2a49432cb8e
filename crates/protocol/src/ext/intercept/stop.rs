//! `stop`: an answer that ends the turn.
//!
//! ```json
//! {"type":"event_intercept_response","id":"1","block":true,"reason":"the budget is spent","stop":"turn"}
//! ```

use super::{EventInterceptResponse, read_field};
use crate::ext::answer_error::AnswerError;
use crate::json::RawJson;
use crate::named_enum::named_enum;

named_enum! {
    /// The end of a turn that a hook requests.
    pub enum StopScope {
        /// The turn ends with an error. Its messages stay in the conversation.
        Turn = "turn",
        /// The turn ends without an error, and its messages leave the conversation.
        Discard = "discard",
    }
}

/// The end of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnStop {
    /// The fate of the turn.
    pub scope: StopScope,
    /// The text for the user.
    pub reason: String,
}

impl TurnStop {
    pub(super) fn read(response: &mut EventInterceptResponse) -> Result<Option<Self>, AnswerError> {
        let scope = read_field("stop", response.stop.take())?;
        Ok(scope.map(|scope| Self { scope, reason: std::mem::take(&mut response.reason) }))
    }

    pub(super) fn write(self, response: &mut EventInterceptResponse) {
        response.stop = RawJson::from_value(&self.scope).ok();
        response.reason = self.reason;
    }
}
