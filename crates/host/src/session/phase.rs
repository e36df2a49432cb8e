//! The phases of a connection, from its start to its end, and the state of an extension.

use std::time::Instant;

use crate::wire::fault::{ExtensionFailure, FaultCode};

/// The state of an extension, for listings and for callers that wait for it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExtensionState {
    /// The process was started and is not ready yet.
    Starting,
    /// The extension is ready.
    Ready,
    /// The extension failed, which was reported, and restarts automatically. Its gates block, and queries
    /// wait.
    Restarting {
        /// The code of the failure.
        code: FaultCode,
        /// The text of the failure.
        message: String,
    },
    /// The extension left by itself, which it may (`"lifecycle": "on_demand"`); the next query starts it
    /// again.
    Idle,
    /// The extension was asked to leave.
    Stopping,
    /// The extension left when it was asked to.
    Stopped,
    /// The extension failed, which was reported, and does not restart automatically.
    Failed {
        /// The code of the failure.
        code: FaultCode,
        /// The text of the failure.
        message: String,
    },
}

impl From<ExtensionFailure> for ExtensionState {
    fn from(ExtensionFailure { code, message }: ExtensionFailure) -> Self {
        Self::Failed { code, message }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ConnectionPhase {
    AwaitHello {
        until: Instant,
    },
    /// Silence counts as ready once the extension has registered something; before, it may be about to
    /// register a gate.
    Registering {
        until: Instant,
        idle_at: Option<Instant>,
    },
    Ready,
    Draining {
        terminate_at: Option<Instant>,
        kill_at: Instant,
    },
    Closed(ExtensionState),
}

impl ConnectionPhase {
    /// Returns the time of the next step, if the phase has one.
    pub(super) fn deadline(&self) -> Option<Instant> {
        match *self {
            Self::AwaitHello { until } => Some(until),
            Self::Registering { until, idle_at } => Some(earlier_deadline(until, idle_at)),
            Self::Draining { terminate_at, kill_at } => Some(terminate_at.unwrap_or(kill_at)),
            Self::Ready | Self::Closed(_) => None,
        }
    }

    pub(super) fn state(&self) -> ExtensionState {
        match self {
            Self::AwaitHello { .. } | Self::Registering { .. } => ExtensionState::Starting,
            Self::Ready => ExtensionState::Ready,
            Self::Draining { .. } => ExtensionState::Stopping,
            Self::Closed(state) => state.clone(),
        }
    }

    /// True if faults of the extension still matter: it has not ended and is not being stopped.
    pub(super) fn is_in_use(&self) -> bool {
        !matches!(self, Self::Draining { .. } | Self::Closed(_))
    }

    /// Returns the reason why nothing can be sent in this phase, if so.
    pub(super) fn absence_reason(&self) -> Option<&str> {
        match self {
            Self::Registering { .. } | Self::Ready => None,
            Self::AwaitHello { .. } => Some("has not said hello yet"),
            Self::Draining { .. } => Some("is being stopped"),
            Self::Closed(ExtensionState::Failed { message, .. }) => Some(message),
            Self::Closed(_) => Some("was stopped"),
        }
    }
}

pub(super) fn earlier_deadline(until: Instant, idle_at: Option<Instant>) -> Instant {
    idle_at.map_or(until, |at| at.min(until))
}
