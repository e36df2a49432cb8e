//! An extension or a process hook, with all that the forms of `haft ext list` show of it.

use std::path::PathBuf;
use std::time::SystemTime;

use haft_config::SandboxLevel;
use haft_host::{LastFailure, Origin};
use haft_packages::install::{Row, State};

use super::hook::OfHook;
use super::problem::{Problem, again, failed, slow};
use super::tools;
use crate::hooks::Loosened;

/// An extension, how it failed when it last ran, and what confines it.
pub(crate) struct Listed {
    pub(crate) row: Row,
    pub(crate) failure: Option<LastFailure>,
    /// Whether a start does not wait for it, because it did not say hello in time.
    pub(crate) is_slow: bool,
    /// Where the user's own lies that has its name, and comes first.
    pub(crate) behind: Option<PathBuf>,
    /// Whether the project is trusted that it may belong to.
    pub(crate) trusted: bool,
    /// What it runs at, or would run at. Nothing where the user's file cannot be read, which would say so.
    pub(crate) sandbox: Option<SandboxLevel>,
    /// What lets pass what it would stop.
    pub(crate) loosened: Loosened,
    /// What there is to say of a process hook; none for an extension.
    pub(crate) hook: Option<OfHook>,
}

impl Listed {
    /// Its state in a word.
    pub(super) fn word(&self) -> &'static str {
        match (&self.row.state, self.row.origin, &self.failure) {
            (State::Broken(_), _, _) => "broken",
            (State::Disabled, _, _) => "disabled",
            (State::NotApproved, _, _) => "unapproved",
            (State::Changed(_), _, _) => "changed",
            (State::Enabled, _, _) if self.is_untrusted() => "untrusted",
            (State::Enabled, _, _) if self.behind.is_some() => "shadowed",
            (State::Enabled, _, Some(_)) => "failed",
            (State::Enabled, _, None) => "enabled",
        }
    }

    /// Whether it would run, if only its project were trusted.
    pub(super) fn is_untrusted(&self) -> bool {
        self.row.state == State::Enabled && self.row.origin == Origin::Project && !self.trusted
    }

    /// Whether a run starts something of it.
    pub(super) fn runs(&self) -> bool {
        self.row.state == State::Enabled
            && !self.is_untrusted()
            && self.behind.is_none()
            && self.row.exec.is_some()
    }

    /// Whose it is.
    pub(super) fn scope(&self) -> &'static str {
        match self.row.origin {
            Origin::Explicit | Origin::BuiltIn | Origin::Global | Origin::Hook => "global",
            Origin::Project => "project",
        }
    }

    /// Everything that is wrong with it.
    pub(super) fn problems(&self, now: SystemTime) -> Vec<Problem> {
        let Self { row, failure, .. } = self;
        let (name, held) = (&row.name, row.entry.as_ref());
        if self.is_untrusted() {
            return vec![Problem::new(
                "is not run, because the project is not trusted",
                "haft trust",
                "shows and allows it",
            )];
        }
        if let Some(first) = self.behind.as_ref().filter(|_| row.state == State::Enabled) {
            let text = format!("is not run: {} has the same name, and comes first", first.display());
            return vec![Problem::without_step(text)];
        }
        if held.is_some_and(|entry| entry.waiting.is_some()) {
            let text = "is disabled, because its new version asks for more than was granted";
            return vec![Problem::new(text, format!("haft ext update {name}"), "shows it, and asks")];
        }
        let state = match &row.state {
            State::Broken(why) => Some(Problem::without_step(why)),
            // That says already what to do.
            State::Changed(why) => Some(Problem::new(why, again(name, held).0, "")),
            State::NotApproved => Some(Problem::new(
                "is not run, because it was not approved",
                format!("haft ext trust {name}"),
                "shows it, and asks",
            )),
            State::Enabled => failure.as_ref().map(|failure| failed(name, row.origin, held, failure, now)),
            State::Disabled => None,
        };
        let locked = held.filter(|_| row.state == State::Enabled).into_iter();
        let slow = self.is_slow.then(|| slow(name));
        state.into_iter().chain(slow).chain(locked.flat_map(|entry| tools::locked(name, entry))).collect()
    }
}
