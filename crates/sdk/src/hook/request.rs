//! What a hook decides about a call of the model.

use haft_protocol::hook::BeforeLlm;

/// What a hook decides about a call of the model.
#[derive(Debug, Clone, PartialEq)]
pub enum RequestDecision {
    /// It is made as it is.
    Continue,
    /// This call is made: the one that was asked about, changed.
    Modify(Box<BeforeLlm>),
    /// The turn ends with an error.
    AbortTurn {
        /// Why, possibly empty.
        reason: String,
    },
    /// The turn ends and nothing of it stays.
    HardAbort {
        /// Why, possibly empty.
        reason: String,
    },
}

impl RequestDecision {
    /// This call is made: the one that was asked about, changed.
    pub fn modify(call: BeforeLlm) -> Self {
        Self::Modify(Box::new(call))
    }

    /// The turn ends with an error.
    pub fn abort_turn(reason: impl Into<String>) -> Self {
        Self::AbortTurn { reason: reason.into() }
    }

    /// The turn ends and nothing of it stays.
    pub fn hard_abort(reason: impl Into<String>) -> Self {
        Self::HardAbort { reason: reason.into() }
    }
}
