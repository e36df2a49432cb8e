//! Calls that are passed over because the user has something else in mind.

use haft_protocol::hook::texts;

use super::Turn;

/// Why calls that have not begun are passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Skip {
    /// The user wants the run to end soon.
    Interrupted,
    /// The user has said something that the model is to hear first.
    Steered,
}

impl Skip {
    /// What the model is told in place of a result.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Interrupted => texts::SKIPPED_FOR_INTERRUPT,
            Self::Steered => texts::SKIPPED_FOR_STEERING,
        }
    }

    /// What observers are told.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::Interrupted => texts::INTERRUPT_REASON,
            Self::Steered => texts::STEERING_REASON,
        }
    }
}

impl Turn {
    /// Why calls that have not begun by now are passed over, if they are.
    pub(super) fn skip(&self) -> Option<Skip> {
        let queues = &self.agent.queues;
        if queues.is_interrupted() {
            return Some(Skip::Interrupted);
        }
        (self.agent.steering_skips && queues.is_steered()).then_some(Skip::Steered)
    }
}
