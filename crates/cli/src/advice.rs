//! The next step after a failure, in the words of the command line.

use haft_core::model::{Advice, ModelError};
use haft_providers::{ChooseError, ConfigError};

use crate::exit::Exit;

/// Returns the message with the flags or commands for the next step.
pub(crate) fn with_hint(message: &str, advice: Option<Advice>) -> String {
    match advice.and_then(flag_hint) {
        Some(hint) => format!("{message}; {hint}"),
        None => message.to_owned(),
    }
}

/// Returns the message of an error with its causes, and the flags or commands for the next step.
pub(crate) fn error_text(error: &anyhow::Error) -> String {
    with_hint(&format!("{error:#}"), error_advice(error))
}

/// Returns the next step after an error of haft's libraries.
pub(crate) fn error_advice(error: &anyhow::Error) -> Option<Advice> {
    fn find_error<E: std::error::Error + Send + Sync + 'static>(error: &anyhow::Error) -> Option<&E> {
        error.downcast_ref().or_else(|| Exit::error_beneath(error))
    }
    let choice = find_error::<ChooseError>(error).and_then(ChooseError::advice);
    let config = || find_error::<ConfigError>(error).and_then(ConfigError::advice);
    choice.or_else(config).or_else(|| find_error::<ModelError>(error)?.advice)
}

fn flag_hint(advice: Advice) -> Option<&'static str> {
    Some(match advice {
        Advice::ApiKey => "`haft login` saves a key, --api-key passes one",
        Advice::BaseUrl => "--base-url sets the address",
        Advice::Provider => {
            "--provider and --model select one, `haft login` saves a key, `haft demo` runs without a model"
        }
        Advice::Model => "--model selects one, `haft --list-models` lists the known models",
        Advice::MaxSteps => "--max-steps sets the limit",
        Advice::Session => "--no-session runs without a session file",
        Advice::ExtensionLog => "`haft ext logs NAME` shows the details",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;

    use super::*;
    use crate::exit::OrExit as _;

    #[track_caller]
    fn check(error: impl std::error::Error + Send + Sync + 'static, end: &str) {
        let error = Err::<(), _>(error).or_exit(Exit::NoProvider).context("fallback a/b").unwrap_err();
        let text = error_text(&error);
        assert!(text.starts_with("fallback a/b: ") && text.ends_with(end), "{text}");
    }

    #[test]
    fn errors_of_libraries_end_with_flags() {
        check(
            ChooseError::NoModel { provider: "p".into() },
            "no model selected for p; --model selects one, `haft --list-models` lists the known models",
        );
        check(ConfigError::BaseUrl { provider: "p".into() }, "; --base-url sets the address");
        check(
            ChooseError::Nothing,
            "; --provider and --model select one, `haft login` saves a key, `haft demo` runs without a model",
        );
        check(std::io::Error::other("full"), "fallback a/b: full");
    }
}
