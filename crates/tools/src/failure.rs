//! `ToolFailure`: the reason why a call of a built-in tool failed.

use std::io;

use haft_core::tool::{ToolFailureKind, ToolOutput};

use crate::environment::EnvironmentError;

/// The reason why a call failed. The model reads it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ToolFailure {
    #[error(transparent)]
    Environment(#[from] EnvironmentError),
    #[error("{0}")]
    Message(String),
    #[error("{text}")]
    Classified { kind: ToolFailureKind, text: String },
}

impl ToolFailure {
    pub(crate) fn classified(kind: ToolFailureKind, text: impl Into<String>) -> Self {
        Self::Classified { kind, text: text.into() }
    }

    pub(crate) fn output(&self) -> ToolOutput {
        ToolOutput::error(self.to_string()).with_failure(self.kind())
    }

    pub(crate) fn kind(&self) -> Option<ToolFailureKind> {
        match self {
            Self::Classified { kind, .. } => Some(*kind),
            Self::Environment(EnvironmentError::Changed { .. }) => Some(ToolFailureKind::Stale),
            Self::Environment(EnvironmentError::Outside { .. }) => Some(ToolFailureKind::OutOfReach),
            Self::Environment(EnvironmentError::Cancelled) => Some(ToolFailureKind::Cancelled),
            Self::Environment(EnvironmentError::Io { error, .. }) => {
                (error.kind() == io::ErrorKind::NotFound).then_some(ToolFailureKind::NotFound)
            }
            Self::Environment(
                EnvironmentError::Refused { .. }
                | EnvironmentError::Query { .. }
                | EnvironmentError::Start(_),
            )
            | Self::Message(_) => None,
        }
    }
}

impl From<String> for ToolFailure {
    fn from(text: String) -> Self {
        Self::Message(text)
    }
}
