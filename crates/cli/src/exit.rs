//! The exit codes. `docs/exit-codes.md` contains the same table, and `haft --help` shows it.

use std::fmt;

/// The exit code of haft. Programs rely on the numbers: a number never changes its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    Ok = 0,
    Failure = 1,
    Usage = 2,
    RequiredExtension = 3,
    Blocked = 4,
    Provider = 5,
    NoProvider = 6,
    MaxSteps = 7,
    Extensions = 8,
    Configuration = 9,
    SessionInUse = 10,
    Session = 11,
    Trust = 12,
    ProblemsFound = 13,
    CalledByTool = 14,
    Aborted = 130,
}

impl Exit {
    pub(crate) const ALL: &[Self] = &[
        Self::Ok,
        Self::Failure,
        Self::Usage,
        Self::RequiredExtension,
        Self::Blocked,
        Self::Provider,
        Self::NoProvider,
        Self::MaxSteps,
        Self::Extensions,
        Self::Configuration,
        Self::SessionInUse,
        Self::Session,
        Self::Trust,
        Self::ProblemsFound,
        Self::CalledByTool,
        Self::Aborted,
    ];

    pub(crate) const fn code(self) -> u8 {
        self as u8
    }

    pub(crate) const fn description(self) -> &'static str {
        match self {
            Self::Ok => "success",
            Self::Failure => "failure without a code of its own",
            Self::Usage => "invalid command line",
            Self::RequiredExtension => {
                "a required extension is missing or did not start, or a gate keeps failing"
            }
            Self::Blocked => "an extension blocked the turn or the compaction",
            Self::Provider => "the model provider failed",
            Self::NoProvider => "no provider is configured, or its key is missing or was rejected",
            Self::MaxSteps => "the prompt needed more steps than --max-steps allows",
            Self::Extensions => "a haft ext command failed",
            Self::Configuration => "invalid setting in config.toml, models.json or the environment",
            Self::SessionInUse => "the session is open in another process",
            Self::Session => "the session does not exist, or is read-only",
            Self::Trust => "the project cannot be trusted, or its digest differs from the given one",
            Self::ProblemsFound => "haft doctor found problems",
            Self::CalledByTool => "a tool of haft ran a command that only a person may run",
            Self::Aborted => "interrupted by the user or a signal",
        }
    }

    /// Returns the error with this exit code attached.
    pub(crate) fn attach_to(self, error: anyhow::Error) -> anyhow::Error {
        anyhow::Error::new(ExitCodeError { exit: self, error })
    }

    /// Fails with a message for people and this exit code.
    pub(crate) fn fail<T>(self, message: impl Into<String>) -> anyhow::Result<T> {
        Err(self.attach_to(anyhow::Error::msg(message.into())))
    }

    /// Returns the exit code that was attached to an error, or [`Failure`](Self::Failure).
    pub(crate) fn from_error(error: &anyhow::Error) -> Self {
        error.downcast_ref::<ExitCodeError>().map_or(Self::Failure, |coded| coded.exit)
    }

    /// Returns the error to which an exit code was attached, if it has this type.
    pub(crate) fn error_beneath<E: std::error::Error + Send + Sync + 'static>(
        error: &anyhow::Error,
    ) -> Option<&E> {
        error.downcast_ref::<ExitCodeError>()?.error.downcast_ref()
    }
}

/// Attaches exit codes to errors.
pub(crate) trait OrExit<T> {
    /// Attaches `exit` to the error, unless the error already has a code.
    fn or_exit(self, exit: Exit) -> anyhow::Result<T>;
}

impl<T, E: Into<anyhow::Error>> OrExit<T> for Result<T, E> {
    fn or_exit(self, exit: Exit) -> anyhow::Result<T> {
        self.map_err(|error| {
            let error = error.into();
            if error.is::<ExitCodeError>() { error } else { exit.attach_to(error) }
        })
    }
}

/// An error with its exit code. It displays like the error itself.
#[derive(Debug)]
struct ExitCodeError {
    exit: Exit,
    error: anyhow::Error,
}

impl fmt::Display for ExitCodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for ExitCodeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.source()
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;

    use super::*;

    #[test]
    fn documentation_has_same_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/exit-codes.md");
        let text = std::fs::read_to_string(path).unwrap();
        let documented: Vec<_> = text.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
        let table: Vec<_> =
            Exit::ALL.iter().map(|exit| format!("| {} | {} |", exit.code(), exit.description())).collect();
        assert_eq!(documented, table);
    }

    #[test]
    fn keeps_code_and_text_of_error() {
        let inner =
            std::fs::read("/no/such/file").or_exit(Exit::Configuration).context("reading").unwrap_err();
        assert_eq!(Exit::from_error(&inner), Exit::Configuration);
        assert_eq!(format!("{inner:#}").matches("No such file").count(), 1);
        assert_eq!(
            Exit::from_error(&Err::<(), _>(inner).or_exit(Exit::Usage).unwrap_err()),
            Exit::Configuration
        );
        assert_eq!(Exit::from_error(&anyhow::anyhow!("plain")), Exit::Failure);
    }
}
