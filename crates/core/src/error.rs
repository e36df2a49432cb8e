//! Why a prompt did not come to its end.

use haft_protocol::event::ErrorStage;

use crate::model::ModelError;

/// Why a prompt did not come to its end, and in which step.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind}")]
pub struct TurnError {
    /// The step, counted from 1; 0 before the first and behind the last.
    pub step: u32,
    /// The kind of the failure. Not a source: the message says it already.
    pub kind: TurnErrorKind,
}

impl TurnError {
    /// Returns the stage that failed, where that is told.
    pub(crate) fn stage(&self) -> Option<ErrorStage> {
        match &self.kind {
            TurnErrorKind::Model(_) => Some(ErrorStage::Model),
            TurnErrorKind::Session { .. } => Some(ErrorStage::Session),
            TurnErrorKind::Blocked { .. }
            | TurnErrorKind::Stopped { .. }
            | TurnErrorKind::MaxSteps { .. }
            | TurnErrorKind::NothingToDo
            | TurnErrorKind::Aborted
            | TurnErrorKind::Busy => None,
        }
    }
}

/// The cases of [`TurnError`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TurnErrorKind {
    /// The model did not answer.
    #[error(transparent)]
    Model(ModelError),
    /// A hook ended the turn.
    #[error("turn blocked by {by}: {reason}")]
    Blocked {
        /// Who.
        by: String,
        /// Why.
        reason: String,
    },
    /// A hook ended the run, and wants the program to end: what keeps watch over the agent is broken.
    #[error("stopped by {by}: {reason}")]
    Stopped {
        /// Who.
        by: String,
        /// Why.
        reason: String,
    },
    /// The model wanted more steps than allowed.
    #[error("stopped after {limit} steps (the step limit); raise --max-steps or split the task")]
    MaxSteps {
        /// The limit.
        limit: u32,
    },
    /// The session could not be written. What came of the turn until then is kept, and written before anything new when
    /// that is possible again.
    #[error("turn stopped: cannot save the session: {reason}")]
    Session {
        /// The failure, and the next step.
        reason: String,
    },
    /// There is no message to work on.
    #[error("nothing to resume: no message is waiting for an answer; send a prompt")]
    NothingToDo,
    /// The user stopped it.
    #[error("aborted")]
    Aborted,
    /// The agent is still working on an earlier prompt.
    #[error("the agent is busy with another prompt; wait for it or abort it")]
    Busy,
}
