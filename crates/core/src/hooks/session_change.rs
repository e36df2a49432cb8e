//! Hooks before the session changes: another one is opened, the conversation is copied, or the session continues from
//! another entry.
//!
//! The owner of the sessions asks them with [`Agent::review_switch`](crate::Agent::review_switch),
//! [`Agent::review_fork`](crate::Agent::review_fork) and [`Agent::review_move`](crate::Agent::review_move). The first
//! hook that blocks decides, and no later hook is asked. A panic blocks nothing.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use async_trait::async_trait;
use futures::FutureExt;
pub use haft_protocol::ext::SwitchReason;
use haft_protocol::ids::ExtensionName;
use tokio_util::sync::CancellationToken;

use super::UNNAMED_HOOK;
use crate::session::EntryId;
use crate::session::entry::SessionEntry;

/// Hook before another session is opened.
///
/// ```
/// use async_trait::async_trait;
/// use haft_core::hooks::{BeforeSwitch, CancellationToken, PendingSwitch, SessionChangeDecision};
///
/// struct ReviewOpen;
///
/// #[async_trait]
/// impl BeforeSwitch for ReviewOpen {
///     async fn before_switch(&self, _: &CancellationToken, _: &PendingSwitch) -> SessionChangeDecision {
///         SessionChangeDecision::Block { reason: "the review is open".into() }
///     }
/// }
/// ```
#[async_trait]
pub trait BeforeSwitch: Send + Sync {
    /// Decides whether the session is opened.
    async fn before_switch(
        &self,
        cancel: &CancellationToken,
        switch: &PendingSwitch,
    ) -> SessionChangeDecision;

    /// Returns the name of the hook, see the [module](super#names).
    fn name(&self) -> &str {
        UNNAMED_HOOK
    }
}

/// Hook before the conversation is copied to a new session.
#[async_trait]
pub trait BeforeFork: Send + Sync {
    /// Decides whether the conversation is copied.
    async fn before_fork(&self, cancel: &CancellationToken, fork: &PendingFork) -> SessionChangeDecision;

    /// Returns the name of the hook, see the [module](super#names).
    fn name(&self) -> &str {
        UNNAMED_HOOK
    }
}

/// Hook before the session continues from another entry.
#[async_trait]
pub trait BeforeTree: Send + Sync {
    /// Decides whether the session moves, and with which summary. The first summary counts; later hooks can still
    /// block.
    async fn before_tree(&self, cancel: &CancellationToken, pending: &PendingMove) -> BranchDecision;

    /// Returns the name of the hook, see the [module](super#names).
    fn name(&self) -> &str {
        UNNAMED_HOOK
    }
}

/// A session that is about to be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PendingSwitch {
    /// The kind of session.
    pub reason: SwitchReason,
    /// The session from disk, by its id or the beginning of its id.
    pub session: Option<String>,
    /// The extension that sent the command; `None` for the person.
    pub caller: Option<ExtensionName>,
}

impl PendingSwitch {
    /// Creates a switch by the person to a session that is not on disk.
    pub fn new(reason: SwitchReason) -> Self {
        Self { reason, session: None, caller: None }
    }

    /// Sets [`session`](Self::session).
    #[must_use]
    pub fn with_session(self, session: impl Into<String>) -> Self {
        Self { session: Some(session.into()), ..self }
    }

    /// Sets [`caller`](Self::caller).
    #[must_use]
    pub fn with_caller(self, caller: impl Into<Option<ExtensionName>>) -> Self {
        Self { caller: caller.into(), ..self }
    }
}

/// A copy that is about to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PendingFork {
    /// The last entry of the copy; `None` if the session has no entries.
    pub entry: Option<EntryId>,
    /// The extension that sent the command; `None` for the person.
    pub caller: Option<ExtensionName>,
}

impl PendingFork {
    /// Creates a copy by the person.
    pub fn new(entry: Option<EntryId>) -> Self {
        Self { entry, caller: None }
    }

    /// Sets [`caller`](Self::caller).
    #[must_use]
    pub fn with_caller(self, caller: impl Into<Option<ExtensionName>>) -> Self {
        Self { caller: caller.into(), ..self }
    }
}

/// A move that is about to happen.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PendingMove {
    /// The entry that the next one will follow; `None` for the beginning of the session.
    pub entry: Option<EntryId>,
    /// The current entry; `None` at the beginning of the session.
    pub leaf: Option<EntryId>,
    /// The entries that the session leaves, oldest first.
    pub left: Vec<Arc<SessionEntry>>,
    /// True if the model summarizes them, unless a hook does.
    pub summarize: bool,
    /// The instructions for that summary.
    pub instructions: Option<String>,
    /// The extension that sent the command; `None` for the person.
    pub caller: Option<ExtensionName>,
}

impl PendingMove {
    /// Creates a move by the person to the beginning of the session.
    pub fn new(left: Vec<Arc<SessionEntry>>) -> Self {
        Self { entry: None, leaf: None, left, summarize: false, instructions: None, caller: None }
    }

    /// Sets [`entry`](Self::entry).
    #[must_use]
    pub fn with_entry(self, entry: impl Into<Option<EntryId>>) -> Self {
        Self { entry: entry.into(), ..self }
    }

    /// Sets [`leaf`](Self::leaf).
    #[must_use]
    pub fn with_leaf(self, leaf: impl Into<Option<EntryId>>) -> Self {
        Self { leaf: leaf.into(), ..self }
    }

    /// Sets [`summarize`](Self::summarize).
    #[must_use]
    pub fn with_summarize(self, summarize: bool) -> Self {
        Self { summarize, ..self }
    }

    /// Sets [`instructions`](Self::instructions).
    #[must_use]
    pub fn with_instructions(self, instructions: impl Into<String>) -> Self {
        Self { instructions: Some(instructions.into()), ..self }
    }

    /// Sets [`caller`](Self::caller).
    #[must_use]
    pub fn with_caller(self, caller: impl Into<Option<ExtensionName>>) -> Self {
        Self { caller: caller.into(), ..self }
    }
}

/// The decision about a session that is opened or copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionChangeDecision {
    /// The session is opened or copied.
    Continue,
    /// The command fails.
    Block {
        /// The reason, for the person.
        reason: String,
    },
}

/// The decision about a move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BranchDecision {
    /// The session moves.
    Continue,
    /// The session moves, with this summary of the branch that it leaves.
    Summarize {
        /// The text for the model.
        text: String,
    },
    /// The command fails.
    Block {
        /// The reason, for the person.
        reason: String,
    },
}

/// A summary of a branch that a hook wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HookSummary {
    /// The hook.
    pub by: String,
    /// The text for the model.
    pub text: String,
}

/// The reason why a session did not change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SessionChangeError {
    /// A hook blocked the command.
    #[error("blocked by {by}: {reason}")]
    Blocked {
        /// The hook.
        by: String,
        /// The reason, for the person.
        reason: String,
    },
    /// The command was cancelled.
    #[error("aborted")]
    Aborted,
}

/// Asks the hooks about a session that is about to be opened.
pub(crate) async fn review_switch(
    hooks: Vec<Arc<dyn BeforeSwitch>>,
    cancel: &CancellationToken,
    switch: &PendingSwitch,
) -> Result<(), SessionChangeError> {
    for hook in hooks {
        let decision = await_decision(cancel, hook.before_switch(cancel, switch)).await?;
        decision.map_or(Ok(()), |decision| decision.into_result(hook.name()))?;
    }
    Ok(())
}

/// Asks the hooks about a copy.
pub(crate) async fn review_fork(
    hooks: Vec<Arc<dyn BeforeFork>>,
    cancel: &CancellationToken,
    fork: &PendingFork,
) -> Result<(), SessionChangeError> {
    for hook in hooks {
        let decision = await_decision(cancel, hook.before_fork(cancel, fork)).await?;
        decision.map_or(Ok(()), |decision| decision.into_result(hook.name()))?;
    }
    Ok(())
}

/// Asks the hooks about a move. Returns the first summary.
pub(crate) async fn review_move(
    hooks: Vec<Arc<dyn BeforeTree>>,
    cancel: &CancellationToken,
    pending: &PendingMove,
) -> Result<Option<HookSummary>, SessionChangeError> {
    let mut summary = None;
    for hook in hooks {
        match await_decision(cancel, hook.before_tree(cancel, pending)).await? {
            Some(BranchDecision::Block { reason }) => {
                return Err(SessionChangeError::Blocked { by: hook.name().to_owned(), reason });
            }
            Some(BranchDecision::Summarize { text }) if !text.trim().is_empty() => {
                summary.get_or_insert_with(|| HookSummary { by: hook.name().to_owned(), text });
            }
            Some(BranchDecision::Summarize { .. } | BranchDecision::Continue) | None => {}
        }
    }
    Ok(summary)
}

impl SessionChangeDecision {
    fn into_result(self, by: &str) -> Result<(), SessionChangeError> {
        match self {
            Self::Continue => Ok(()),
            Self::Block { reason } => Err(SessionChangeError::Blocked { by: by.to_owned(), reason }),
        }
    }
}

/// Waits for a decision; returns `None` if the hook panicked.
async fn await_decision<T>(
    cancel: &CancellationToken,
    decision: impl Future<Output = T>,
) -> Result<Option<T>, SessionChangeError> {
    let decided = cancel.run_until_cancelled(AssertUnwindSafe(decision).catch_unwind()).await;
    match decided.filter(|_| !cancel.is_cancelled()) {
        Some(decision) => Ok(decision.ok()),
        None => Err(SessionChangeError::Aborted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy)]
    struct Scripted(&'static str, fn() -> BranchDecision);

    #[async_trait]
    impl BeforeTree for Scripted {
        async fn before_tree(&self, _: &CancellationToken, _: &PendingMove) -> BranchDecision {
            (self.1)()
        }

        fn name(&self) -> &str {
            self.0
        }
    }

    fn summarize(text: &str) -> BranchDecision {
        BranchDecision::Summarize { text: text.to_owned() }
    }

    async fn review(hooks: &[Scripted]) -> Result<Option<HookSummary>, SessionChangeError> {
        let hooks = hooks.iter().map(|hook| Arc::new(*hook) as Arc<dyn BeforeTree>);
        review_move(hooks.collect(), &CancellationToken::new(), &PendingMove::new(Vec::new())).await
    }

    #[tokio::test]
    async fn first_summary_counts_unless_any_hook_blocks() {
        assert_eq!(review(&[]).await, Ok(None));
        let first = Ok(Some(HookSummary { by: "b".into(), text: "two".into() }));
        let summaries = [
            Scripted("a", || summarize(" ")),
            Scripted("b", || summarize("two")),
            Scripted("c", || summarize("three")),
        ];
        assert_eq!(review(&summaries).await, first);
        let block = || BranchDecision::Block { reason: "no".into() };
        let blocked = Err(SessionChangeError::Blocked { by: "d".into(), reason: "no".into() });
        assert_eq!(review(&[summaries[1], Scripted("d", block)]).await, blocked);
        // A panic blocks nothing.
        assert_eq!(review(&[Scripted("a", || panic!("bug")), summaries[1]]).await, first);
    }
}
