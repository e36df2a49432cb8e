//! Where an extension stands.

use crate::wire::fault::{Failure, FaultCode};

/// Where an extension stands, for listings and for whoever waits for it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExtensionState {
    /// Started, not ready yet.
    Starting,
    /// At work.
    Ready,
    /// It failed, which was reported, and is started again by itself. Its gates stay shut; what it is asked waits.
    Restarting {
        /// The failure.
        code: FaultCode,
        /// What failed.
        message: String,
    },
    /// It left by itself, as it may (`"lifecycle": "on_demand"`); the next question starts it again.
    Idle,
    /// Asked to leave.
    Stopping,
    /// Left when it was asked to.
    Stopped,
    /// Ended by a failure, which was reported, and not started again by itself.
    Failed {
        /// The failure.
        code: FaultCode,
        /// What failed.
        message: String,
    },
}

impl From<Failure> for ExtensionState {
    fn from(Failure { code, message }: Failure) -> Self {
        Self::Failed { code, message }
    }
}
