//! Hook for the shell commands of the user.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use async_trait::async_trait;
use futures::FutureExt;
use tokio_util::sync::CancellationToken;

use super::UNNAMED_HOOK;

/// Hook before a shell command of the user runs. A program that runs such commands asks it with
/// [`Agent::review_user_bash`](crate::Agent::review_user_bash). A panic blocks the command.
///
/// ```
/// use async_trait::async_trait;
/// use haft_core::hooks::{CancellationToken, OnUserBash, UserBash, BashDecision};
///
/// struct NoPush;
///
/// #[async_trait]
/// impl OnUserBash for NoPush {
///     async fn on_user_bash(&self, _: &CancellationToken, bash: &UserBash) -> BashDecision {
///         match bash.command.starts_with("git push") {
///             true => BashDecision::Block { reason: "the repository is frozen".into() },
///             false => BashDecision::Run,
///         }
///     }
/// }
/// ```
#[async_trait]
pub trait OnUserBash: Send + Sync {
    /// Decides about a command. Later hooks see the changed command.
    async fn on_user_bash(&self, cancel: &CancellationToken, bash: &UserBash) -> BashDecision;

    /// Returns the name of the hook, see the [module](super#names).
    fn name(&self) -> &str {
        UNNAMED_HOOK
    }
}

/// A shell command of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UserBash {
    /// The command.
    pub command: String,
    /// The directory in which it runs.
    pub cwd: String,
    /// True if the model does not get the output.
    pub excluded: bool,
}

impl UserBash {
    /// Creates a command whose output the model gets.
    pub fn new(command: impl Into<String>, cwd: impl Into<String>) -> Self {
        Self { command: command.into(), cwd: cwd.into(), excluded: false }
    }

    /// Sets [`excluded`](Self::excluded).
    #[must_use]
    pub fn with_excluded(self, excluded: bool) -> Self {
        Self { excluded, ..self }
    }
}

/// The decision about a command of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BashDecision {
    /// The command runs.
    Run,
    /// Another command runs.
    Rewrite {
        /// The command.
        command: String,
    },
    /// The command does not run; this is its result. No later hook is asked.
    Answer {
        /// The output.
        output: String,
        /// The exit status; `None` if the command was stopped.
        exit_code: Option<i32>,
    },
    /// The command does not run. No later hook is asked.
    Block {
        /// The reason, for the user.
        reason: String,
    },
}

/// A command of the user after its review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReviewedUserBash {
    /// The command runs.
    Run {
        /// The command.
        command: String,
        /// The hook that changed it last.
        changed_by: Option<String>,
    },
    /// A hook gave the result.
    Answered {
        /// The hook.
        by: String,
        /// The output.
        output: String,
        /// The exit status; `None` if the command was stopped.
        exit_code: Option<i32>,
    },
    /// A hook refused the command.
    Blocked {
        /// The hook.
        by: String,
        /// The reason, for the user.
        reason: String,
    },
    /// The review was cancelled.
    Cancelled,
}

/// Asks the hooks about a command, one after the other. Hooks that were asked before the last change see the final
/// command too, so that every hook has seen the command that runs. Their further changes do not count.
pub(crate) async fn review_command(
    hooks: &[Arc<dyn OnUserBash>],
    cancel: &CancellationToken,
    mut bash: UserBash,
) -> ReviewedUserBash {
    let mut changed = None;
    for (index, hook) in hooks.iter().enumerate() {
        match ask_hook(hook, cancel, &bash).await {
            Ok(Some(command)) if command != bash.command => {
                bash.command = command;
                changed = Some(index);
            }
            Ok(_) => {}
            Err(end) => return end,
        }
    }
    for hook in hooks.iter().take(changed.unwrap_or_default()) {
        if let Err(end) = ask_hook(hook, cancel, &bash).await {
            return end;
        }
    }
    let changed_by = changed.and_then(|index| hooks.get(index)).map(|hook| hook.name().to_owned());
    ReviewedUserBash::Run { command: bash.command, changed_by }
}

/// Returns the new command of a hook.
///
/// # Errors
/// The outcome of the review, if the command does not run.
async fn ask_hook(
    hook: &Arc<dyn OnUserBash>,
    cancel: &CancellationToken,
    bash: &UserBash,
) -> Result<Option<String>, ReviewedUserBash> {
    let asked = AssertUnwindSafe(hook.on_user_bash(cancel, bash)).catch_unwind();
    let decision = cancel.run_until_cancelled(asked).await.filter(|_| !cancel.is_cancelled());
    let by = || hook.name().to_owned();
    match decision {
        None => Err(ReviewedUserBash::Cancelled),
        Some(Err(_)) => Err(ReviewedUserBash::Blocked { by: by(), reason: "the hook panicked".to_owned() }),
        Some(Ok(BashDecision::Run)) => Ok(None),
        Some(Ok(BashDecision::Rewrite { command })) => Ok(Some(command)),
        Some(Ok(BashDecision::Answer { output, exit_code })) => {
            Err(ReviewedUserBash::Answered { by: by(), output, exit_code })
        }
        Some(Ok(BashDecision::Block { reason })) => Err(ReviewedUserBash::Blocked { by: by(), reason }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks commands with `rm`, adds its name to others, and answers `ping`.
    struct Fixed {
        name: &'static str,
        adds: bool,
    }

    #[async_trait]
    impl OnUserBash for Fixed {
        async fn on_user_bash(&self, _: &CancellationToken, bash: &UserBash) -> BashDecision {
            match bash.command.as_str() {
                "panic" => panic!("on purpose"),
                "ping" => BashDecision::Answer { output: "pong".into(), exit_code: Some(0) },
                command if command.contains("rm") => BashDecision::Block { reason: "no deleting".into() },
                command if self.adds => BashDecision::Rewrite { command: format!("{command} {}", self.name) },
                _ => BashDecision::Run,
            }
        }

        fn name(&self) -> &str {
            self.name
        }
    }

    #[track_caller]
    fn check(hooks: &[(&'static str, bool)], command: &str, expect: &ReviewedUserBash) {
        let hooks: Vec<_> =
            hooks.iter().map(|(name, adds)| Arc::new(Fixed { name, adds: *adds }) as Arc<_>).collect();
        let bash = UserBash { command: command.to_owned(), cwd: "/w".into(), excluded: false };
        let cancel = CancellationToken::new();
        let reviewed = review_command(&hooks, &cancel, bash.clone()).now_or_never();
        assert_eq!(reviewed.as_ref(), Some(expect));
        cancel.cancel();
        if !hooks.is_empty() {
            assert_eq!(
                review_command(&hooks, &cancel, bash).now_or_never(),
                Some(ReviewedUserBash::Cancelled)
            );
        }
    }

    #[test]
    fn every_hook_sees_the_command_that_runs() {
        let run = |command: &str, by: Option<&str>| ReviewedUserBash::Run {
            command: command.to_owned(),
            changed_by: by.map(str::to_owned),
        };
        let blocked =
            |by: &str, reason: &str| ReviewedUserBash::Blocked { by: by.into(), reason: reason.into() };
        check(&[], "ls", &run("ls", None));
        check(&[("gate", false)], "ls", &run("ls", None));
        check(&[("a", true), ("b", true)], "ls", &run("ls a b", Some("b")));
        check(&[("gate", false), ("form", true)], "ls", &blocked("gate", "no deleting"));
        check(&[("gate", false), ("form", true)], "panic", &blocked("gate", "the hook panicked"));
        let answered =
            ReviewedUserBash::Answered { by: "gate".into(), output: "pong".into(), exit_code: Some(0) };
        check(&[("gate", false), ("a", true)], "ping", &answered);
    }
}
