//! The refusal of an action by a hook.

/// A refusal: the action that a hook was asked about does not happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The hook that refuses.
    pub by: String,
    /// The reason, for the model where the turn continues, otherwise for the user.
    pub reason: String,
    /// The work that ends with the action.
    pub scope: RefusalScope,
}

/// The work that a [`Refusal`] ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefusalScope {
    /// The action alone.
    Call,
    /// The turn, with an error that has the reason.
    Turn,
    /// The turn, and nothing of the turn stays in the context.
    DiscardedTurn,
    /// The run, and the program that runs the agent should end: a guard of the agent is broken. The run fails with
    /// [`TurnErrorKind::Stopped`](crate::error::TurnErrorKind::Stopped).
    Run,
}

impl Refusal {
    /// Creates a refusal.
    pub fn new(scope: RefusalScope, by: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { by: by.into(), reason: reason.into(), scope }
    }

    /// Refuses the work of a whole turn, which ends with an error that has the reason.
    pub fn of_turn(by: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::new(RefusalScope::Turn, by, reason)
    }

    /// Refuses a whole turn, which ends without an error, and removes the turn from the context.
    pub fn discarding(by: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::new(RefusalScope::DiscardedTurn, by, reason)
    }
}
