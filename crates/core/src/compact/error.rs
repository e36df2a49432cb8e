//! Why a context was not summed up.

use crate::error::TurnErrorKind;
use crate::model::ModelError;

/// Why a context was not summed up. It is as it was before, unless the disk failed behind the summary: then
/// [`CompactError::Session`] says that the session cannot be kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompactError {
    /// The agent works on a prompt.
    #[error("the agent is busy with a prompt; wait for it or abort it")]
    Busy,
    /// There is nothing that a summary could stand for.
    #[error("there is nothing to sum up yet; go on with the conversation")]
    Nothing,
    /// A hook did not want it.
    #[error("compaction refused by {by}: {reason}")]
    Refused {
        /// Who.
        by: String,
        /// Why.
        reason: String,
    },
    /// The model did not sum up.
    #[error("the model did not sum up the conversation: {0}")]
    Model(ModelError),
    /// The model had nothing to say.
    #[error("the model's summary is empty; try again, or choose another model")]
    Empty,
    /// The session could not be written.
    #[error("the summary cannot be kept: {reason}")]
    Session {
        /// What failed, and what to do next.
        reason: String,
    },
    /// The user stopped it.
    #[error("aborted")]
    Aborted,
}

impl CompactError {
    /// What of this ends a run, whatever could be done without a summary.
    pub(crate) fn ends_run(&self) -> Option<TurnErrorKind> {
        match self {
            Self::Session { reason } => Some(TurnErrorKind::Session { reason: reason.clone() }),
            Self::Busy
            | Self::Nothing
            | Self::Refused { .. }
            | Self::Model(_)
            | Self::Empty
            | Self::Aborted => None,
        }
    }
}
