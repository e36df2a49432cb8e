//! Questions: their keys, and what becomes of their answers.

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
