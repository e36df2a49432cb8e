//! Questions: their keys, and what becomes of their answers.

use std::time::Instant;

use haft_protocol::rpc::{UiAnswer, UiResponse};
use secrecy::SecretString;

use super::super::dialogs::Purpose;
use super::super::late::Late;
use super::super::pending::Pending;
use super::super::state::{Edits, State};
use super::super::{Ask, Effect, commands};
use crate::dialog::{Question, Reply};
use crate::keys::{Action, App, Chord, Context, Edit};
use crate::timeouts;

/// What is said where a question went that nobody had answered.
const CLOSED: &str = "the question is closed";

impl State {
    pub(super) fn dialog_key(&mut self, chord: Chord) {
        let now = self.now;
        let Some(asked) = self.dialogs.shown() else { return };
        match asked.dialog.key(chord, &self.keymap, now) {
            Reply::Open => {}
            Reply::OpenEditor(text) => {
                self.edits = Edits::Dialog(asked.number);
                self.effect(Effect::OpenEditor(text));
            }
            Reply::Answered(answer) => {
                self.late = Late::answered(chord, now);
                if let Some(purpose) = self.dialogs.close_shown() {
                    self.answered(purpose, answer);
                }
            }
        }
    }

    /// The question that was shown is gone, and it was not the person who answered it: what is being typed was meant for
    /// it, and is no prompt.
    pub(super) fn closed_by_itself(&mut self, shown: Option<u64>) {
        if shown.is_none_or(|number| self.dialogs.has(number)) {
            return;
        }
        match self.lines.on {
            true => self.lines.late_until = Some(self.now + timeouts::LATE_LINE),
            false => {
                self.late = Some(Late::closed(self.now));
                self.flash(CLOSED);
            }
        }
    }

    /// Whether a key was meant for a question that is over. The key that quits does so even then.
    pub(super) fn is_late(&mut self, chord: Chord) -> bool {
        let Some(mut late) = self.late.take() else { return false };
        let quits = self.keymap.action(Context::Editor, chord) == Some(Action::App(App::Quit));
        if quits || !late.takes(chord, self.now) {
            return false;
        }
        if late.is_closed() {
            self.flash(CLOSED);
        }
        self.late = Some(late);
        true
    }

    /// Whether a paste was.
    pub(super) fn is_late_paste(&mut self) -> bool {
        let is_late = self.late.as_ref().is_some_and(|late| late.is_closed() && late.counts(self.now));
        if is_late {
            self.flash(CLOSED);
        }
        is_late
    }

    /// The person's own editor is closed, which had the text of a question.
    pub(super) fn dialog_edited(&mut self, number: u64, text: &str) {
        if let Some(asked) = self.dialogs.numbered(number) {
            asked.dialog.edited(text);
            return;
        }
        self.input.editor.keep_cut(text);
        let key = self.keymap.keys(Edit::Yank).first();
        let puts = key.map_or_else(String::new, |key| format!("; {key} puts it into the editor"));
        self.info(format!("the question whose text you edited is closed, so nobody was given it{puts}"));
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

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::super::super::{Event, Options};
    use super::super::update;
    use super::*;
    use crate::dialog::Wanted;

    fn question(id: &str, grants: bool) -> (Question, Purpose) {
        let question = Question {
            owner: None,
            wanted: Wanted::Editor(String::new()),
            title: id.to_owned(),
            message: String::new(),
            call: None,
            grants,
            within: None,
            default: None,
        };
        (question, Purpose::Reply { id: id.to_owned(), session: None })
    }

    fn opened() -> State {
        let mut state = State::new(Options::default(), Instant::now());
        let (question, purpose) = question("q1", false);
        state.ask_person(question, purpose);
        update(&mut state, Instant::now(), Event::Key("ctrl+g".parse().unwrap()));
        assert_eq!(state.edits, Edits::Dialog(1));
        state
    }

    fn edited(state: &mut State) {
        update(state, Instant::now(), Event::Edited(Ok("the text\n".to_owned())));
    }

    #[test]
    fn a_text_that_was_edited_goes_to_its_own_question_wherever_that_stands() {
        let mut state = opened();
        let (question, purpose) = question("q2", true);
        state.ask_person(question, purpose);
        assert_eq!(state.dialogs.number(), Some(2));
        edited(&mut state);
        state.dialogs.close("q2");
        let now = Instant::now() + Duration::from_secs(1);
        let effects = update(&mut state, now, Event::Key("ctrl+g".parse().unwrap()));
        assert!(matches!(&effects[..], [Effect::OpenEditor(text)] if text == "the text"), "{effects:?}");
    }

    #[test]
    fn where_that_is_closed_it_goes_to_nobody_and_can_be_put_in() {
        let mut state = opened();
        state.dialogs.close("q1");
        let (question, purpose) = question("q2", false);
        state.ask_person(question, purpose);
        edited(&mut state);
        state.dialogs.close("q2");
        assert!(state.input.editor.is_empty());
        update(&mut state, Instant::now(), Event::Key("ctrl+y".parse().unwrap()));
        assert_eq!(state.input.editor.text(), "the text\n");
    }
}
