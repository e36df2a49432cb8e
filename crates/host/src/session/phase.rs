//! The phases of a connection, from its start to its end, and where an extension stands.

use std::time::Instant;

use crate::wire::fault::{ExtensionFailure, FaultCode};

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
        /// The failure.
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
        /// The failure.
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
    /// The extension counts as silent once it has registered something: before, it may be getting ready to guard.
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
    /// The time of the next step, if the phase has one.
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

    /// True if the mistakes of the extension still matter: it is neither gone nor being stopped.
    pub(super) fn is_in_use(&self) -> bool {
        !matches!(self, Self::Draining { .. } | Self::Closed(_))
    }

    /// The reason why nothing can be sent in this phase, if so.
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
