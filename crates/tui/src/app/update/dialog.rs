//! Questions: their keys, and what becomes of their answers.

use std::time::Instant;

use haft_protocol::rpc::{UiAnswer, UiResponse};
use secrecy::SecretString;

use super::super::dialogs::Purpose;
use super::super::pending::Pending;
use super::super::state::State;
use super::super::{Ask, Effect, commands};
use crate::dialog::{Question, Reply};
use crate::keys::Chord;

impl State {
    pub(super) fn dialog_key(&mut self, chord: Chord) {
        let now = self.now;
        let Some(asked) = self.dialogs.shown() else { return };
        match asked.dialog.key(chord, &self.keymap, now) {
            Reply::Open => {}
            Reply::OpenEditor(text) => {
                self.edits_dialog = true;
                self.effect(Effect::OpenEditor(text));
            }
            Reply::Answered(answer) => {
                if let Some(purpose) = self.dialogs.close_shown() {
                    self.answered(purpose, answer);
                }
            }
        }
    }

    /// The terminal has taken all of what was drawn last.
    pub fn was_drawn(&mut self, now: Instant) {
        if let Some(asked) = self.dialogs.shown() {
            asked.dialog.was_drawn(now);
        }
    }

    /// Nothing of what was drawn is on the screen any more.
    pub fn was_hidden(&mut self) {
        self.dialogs.hidden();
    }

    /// Asks something of haft's own.
    pub(in crate::app) fn ask_person(&mut self, question: Question, purpose: Purpose) {
        self.dialogs.open(question, purpose, self.now);
        if self.settings.bell() {
            self.effect(Effect::Bell);
        }
    }

    pub(in crate::app) fn answered(&mut self, purpose: Purpose, answer: UiAnswer) {
        match (purpose, answer) {
            (Purpose::Reply { id, session }, answer) => {
                self.send_to(UiResponse { request: id, answer }, session, Pending::Answered);
            }
            (Purpose::Key { provider }, UiAnswer::Value(key)) if !key.trim().is_empty() => {
                self.info(format!("the key is tried at {provider}…"));
                self.ask(Ask::Login { provider, key: SecretString::from(key.trim().to_owned()) });
            }
            (Purpose::Grant { digest }, UiAnswer::Confirmed(true)) => self.ask(Ask::Grant { digest }),
            (Purpose::Setting { name }, UiAnswer::Value(value)) => self.ask(Ask::Set { name, value }),
            (Purpose::NewSession, UiAnswer::Confirmed(true)) => commands::run(self, "new", ""),
            (Purpose::Grant { .. }, _) => self.info("the project is trusted no more than before"),
            (Purpose::Key { .. } | Purpose::Setting { .. }, _) => self.flash("nothing was changed"),
            (Purpose::NewSession, _) => {}
        }
    }
}
