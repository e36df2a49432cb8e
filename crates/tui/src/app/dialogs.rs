//! The questions that are open: one is shown, those that grant something first.

use std::time::Instant;

use crate::dialog::{Dialog, Question};

/// The questions that are open.
#[derive(Debug, Default)]
pub(super) struct Dialogs {
    open: Vec<Asked>,
    /// How many there have been.
    count: u64,
}

/// A question and what becomes of its answer.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) dialog: Dialog,
    pub(super) purpose: Purpose,
    number: u64,
}

/// What becomes of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Purpose {
    /// It goes to whoever asked.
    Reply {
        /// The question's id.
        id: String,
        session: Option<String>,
    },
    /// It is the key of a provider.
    Key { provider: String },
    /// It trusts what the project brings.
    Grant { digest: String },
    /// It is the value of a setting.
    Setting { name: String },
    /// It begins a new session.
    NewSession,
}

impl Dialogs {
    pub(super) fn open(&mut self, question: Question, purpose: Purpose, now: Instant) {
        // Among those that grant as much, the first that came is the first.
        let grants = question.grants;
        let at = match grants {
            true => self.open.iter().position(|asked| !asked.dialog.question().grants),
            false => None,
        };
        let at = at.unwrap_or(self.open.len());
        self.count += 1;
        let number = self.count;
        self.open.insert(at, Asked { dialog: Dialog::open(question, now), purpose, number });
    }

    /// The one that is shown.
    pub(super) fn shown(&mut self) -> Option<&mut Asked> {
        self.open.first_mut()
    }

    /// The same, to look at.
    pub(super) fn first(&self) -> Option<&Asked> {
        self.open.first()
    }

    /// Which one is shown, by the order in which they came.
    pub(super) fn number(&self) -> Option<u64> {
        self.first().map(|asked| asked.number)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// How many wait behind the one that is shown.
    pub(super) fn behind(&self) -> usize {
        self.open.len().saturating_sub(1)
    }

    /// The one that is shown is over.
    pub(super) fn close_shown(&mut self) -> Option<Purpose> {
        (!self.open.is_empty()).then(|| self.open.remove(0).purpose)
    }

    /// A question of the agent's side is over.
    pub(super) fn close(&mut self, id: &str) {
        let is = |purpose: &Purpose| matches!(purpose, Purpose::Reply { id: open, .. } if open == id);
        self.open.retain(|asked| !is(&asked.purpose));
    }

    /// Everything of the agent's side is over.
    pub(super) fn close_replies(&mut self) {
        self.open.retain(|asked| !matches!(asked.purpose, Purpose::Reply { .. }));
    }

    /// None is on the screen any more.
    pub(super) fn hidden(&mut self) {
        self.open.iter_mut().for_each(|asked| asked.dialog.was_hidden());
    }

    /// When one looks different by itself.
    pub(super) fn wakes_at(&self, now: Instant) -> Option<Instant> {
        self.open.first().and_then(|asked| asked.dialog.wakes_at(now))
    }
}
