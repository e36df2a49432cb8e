//! Why an environment did not do what it was asked.

use std::io;
use std::path::{Path, PathBuf};

/// Why an environment did not do what it was asked. The texts are for the model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EnvironmentError {
    /// The system refused.
    #[error("cannot {action} {}: {error}", path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// The system's words.
        error: io::Error,
    },
    /// The environment refused, and says what to do instead.
    #[error("{}: {reason}", path.display())]
    Refused {
        /// On what.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// Something lies outside of what may be reached.
    #[error("{}: {reason}", path.display())]
    Outside {
        /// What.
        path: PathBuf,
        /// Of what it is outside.
        reason: String,
    },
    /// Somebody else has changed a file since it was read.
    #[error("{}: has changed since it was read; read it again", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// A pattern or glob cannot be read.
    #[error("{what} is not valid: {detail}")]
    Query {
        /// Which of the two.
        what: &'static str,
        /// Where and why.
        detail: String,
    },
    /// A command could not be started.
    #[error("{0}")]
    Start(io::Error),
    /// The call was cancelled.
    #[error("cancelled")]
    Cancelled,
}

impl EnvironmentError {
    /// A refusal by the system.
    pub fn io(action: &'static str, path: &Path, error: io::Error) -> Self {
        Self::Io { action, path: path.to_owned(), error }
    }

    /// A refusal, because somebody else has changed a file since it was read.
    pub fn changed(path: &Path) -> Self {
        Self::Changed { path: path.to_owned() }
    }

    /// A refusal, because something lies outside of what may be reached.
    pub fn outside(path: &Path, reason: impl Into<String>) -> Self {
        Self::Outside { path: path.to_owned(), reason: reason.into() }
    }

    /// A refusal by the environment.
    pub fn refused(path: &Path, reason: impl Into<String>) -> Self {
        Self::Refused { path: path.to_owned(), reason: reason.into() }
    }
}
