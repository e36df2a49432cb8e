//! `TurnError` and `OutputError`: the reasons why a prompt failed.

use std::fmt;

use haft_protocol::event::{Advice, ErrorStage};

use crate::model::ModelError;
use crate::schema::SchemaError;

/// Writes the debug form of an error as people read it: its message, then the message of each source in a line of its
/// own. A `main` that returns an error prints this form.
///
/// ```
/// use std::fmt;
///
/// #[derive(thiserror::Error)]
/// #[error("cannot read the menu")]
/// struct MenuError(#[source] std::io::Error);
///
/// impl fmt::Debug for MenuError {
///     fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
///         haft_core::error::write_report(self, f)
///     }
/// }
///
/// let error = MenuError(std::io::Error::other("no such file"));
/// assert_eq!(format!("{error:?}"), "cannot read the menu\n  caused by: no such file");
/// ```
///
/// # Errors
/// Those of the formatter.
pub fn write_report(error: &dyn std::error::Error, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{error}")?;
    let mut cause = error.source();
    while let Some(error) = cause {
        write!(f, "\n  caused by: {error}")?;
        cause = error.source();
    }
    Ok(())
}

/// The reason why a prompt failed, and the step in which it failed.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TurnError {
    /// The step, counted from 1; 0 before the first step and after the last.
    pub step: u32,
    /// The kind of the failure. Not an error source, because the message already includes it.
    pub kind: TurnErrorKind,
}

impl fmt::Display for TurnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

impl fmt::Debug for TurnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_report(self, f)
    }
}

impl std::error::Error for TurnError {
    /// Returns the error behind the kind, such as [`ModelError::source`](field@ModelError::source).
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.kind.source()
    }
}

impl TurnError {
    /// Creates an error.
    pub fn new(step: u32, kind: TurnErrorKind) -> Self {
        Self { step, kind }
    }

    /// Returns the next step that the message does not name, because each program offers it in its own way.
    pub fn advice(&self) -> Option<Advice> {
        match &self.kind {
            TurnErrorKind::Model(error) => error.advice,
            TurnErrorKind::MaxSteps { .. } => Some(Advice::MaxSteps),
            TurnErrorKind::Session { .. } => Some(Advice::Session),
            TurnErrorKind::Stopped { .. } => Some(Advice::ExtensionLog),
            TurnErrorKind::Blocked { .. }
            | TurnErrorKind::NothingToDo
            | TurnErrorKind::EmptyPrompt
            | TurnErrorKind::Aborted
            | TurnErrorKind::Busy => None,
        }
    }

    /// Returns the stage that failed, if events report one.
    pub(crate) fn error_stage(&self) -> Option<ErrorStage> {
        match &self.kind {
            TurnErrorKind::Model(_) => Some(ErrorStage::Model),
            TurnErrorKind::Session { .. } => Some(ErrorStage::Session),
            TurnErrorKind::Blocked { .. }
            | TurnErrorKind::Stopped { .. }
            | TurnErrorKind::MaxSteps { .. }
            | TurnErrorKind::NothingToDo
            | TurnErrorKind::EmptyPrompt
            | TurnErrorKind::Aborted
            | TurnErrorKind::Busy => None,
        }
    }
}

/// The kinds of [`TurnError`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TurnErrorKind {
    /// The request to the model failed.
    #[error(transparent)]
    Model(ModelError),
    /// A hook ended the turn.
    #[error("turn blocked by {by}: {reason}")]
    Blocked {
        /// The hook.
        by: String,
        /// The reason.
        reason: String,
    },
    /// A hook ended the run and wants the program to end, because a guard of the agent has failed.
    #[error("stopped by {by}: {reason}")]
    Stopped {
        /// The hook.
        by: String,
        /// The reason.
        reason: String,
    },
    /// The turn reached the step limit.
    #[error("stopped after {limit} steps (the step limit); raise the limit or split the task")]
    MaxSteps {
        /// The limit.
        limit: u32,
    },
    /// The session could not be written. The results of the turn are kept in memory and written before any new entry.
    #[error("stopped: {reason}")]
    Session {
        /// The cause and the next step.
        reason: String,
    },
    /// There is no message to answer.
    #[error("nothing to resume: no message is waiting for an answer; send a prompt")]
    NothingToDo,
    /// The prompt has neither text nor an image.
    #[error("the prompt is empty; add text or an image")]
    EmptyPrompt,
    /// The user aborted the run.
    #[error("aborted")]
    Aborted,
    /// The agent is still running another prompt.
    #[error("the agent is busy with another prompt; wait for it or abort it")]
    Busy,
}

/// The reason why a run has no answer of the demanded form.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    /// The run failed.
    #[error(transparent)]
    Turn(#[from] TurnError),
    /// The type or its schema cannot be used for an answer.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// The answer does not fit the schema, and the model did not correct it.
    #[error("the answer of the model does not fit its schema: {mistake}; the answer: {text}")]
    Mismatch {
        /// The last answer.
        text: String,
        /// The mistakes.
        mistake: String,
    },
}

impl fmt::Debug for OutputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_report(self, f)
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;
    use std::io;

    use super::*;
    use crate::model::ModelErrorKind;

    #[test]
    fn source_is_the_error_behind_the_model_error() {
        let error = ModelError::new(ModelErrorKind::Connection, "cannot reach the zoo");
        let error = error.with_source(io::Error::other("no road"));
        let error = TurnError { step: 1, kind: TurnErrorKind::Model(error) };
        assert_eq!(error.to_string(), "cannot reach the zoo");
        assert_eq!(error.source().map(ToString::to_string).as_deref(), Some("no road"));
        assert_eq!(format!("{error:?}"), "cannot reach the zoo\n  caused by: no road");
        assert_eq!(format!("{:?}", OutputError::from(error)), "cannot reach the zoo\n  caused by: no road");
    }
}
