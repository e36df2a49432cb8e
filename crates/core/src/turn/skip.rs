//! Calls that are passed over because the user has something else in mind.

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
            Self::Interrupted => "Skipped due to graceful interrupt.",
            Self::Steered => "Skipped due to queued user message.",
        }
    }

    /// What observers are told.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::Interrupted => "graceful interrupt requested",
            Self::Steered => "queued user steering message",
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
