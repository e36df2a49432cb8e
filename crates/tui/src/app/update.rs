//! What follows from what happens.

mod answers;
mod approve;
mod events;
mod pick;
mod prompt;
mod replies;
mod shell;
mod size;
mod switch;

use std::time::Instant;

use haft_protocol::rpc::{
    Client, Hello, Line, ListCommands, ListExtensions, ListSessions, UiAnswer, UiResponse,
};
use secrecy::SecretString;

use super::dialogs::{CLOSED, Purpose};
use super::held::Queued;
use super::pending::{Pending, Shown, Taken};
use super::state::State;
use super::{Ask, Effect, Event, commands, view};
use crate::clean::CleanLine;
use crate::dialog::Question;
use crate::keys::Edit;

pub(super) use prompt::Sending;

/// The most columns of the title that the session gives it.
const LONGEST_TITLE: usize = 48;

/// What is to be done first.
pub fn start(state: &mut State) -> Vec<Effect> {
    state.greet();
    state.refresh();
    for ask in [Ask::Branch, Ask::History, Ask::Themes] {
        state.out.ask(ask);
    }
    state.settle();
    state.out.take_effects()
}

/// What is to be done because something happened.
pub fn update(state: &mut State, now: Instant, event: Event) -> Vec<Effect> {
    state.now = now;
    let (asked, by_person) = (state.dialogs.number(), is_of_person(&event));
    match event {
        Event::Key(chord) => state.key(chord),
        Event::Typed(line) => state.heard(&line),
        Event::Interrupt => state.interrupted(),
        Event::Paste(text) => state.paste(&text),
        Event::Mouse(mouse) => state.mouse(mouse),
        Event::Resize(columns, rows) => state.size = (columns, rows),
        Event::Line(line) => match *line {
            Line::Reply(reply) => state.reply(reply),
            Line::Event(line) => state.line(line),
        },
        Event::Gone => state.gone(),
        Event::Answer(answer) => state.answer(answer),
        Event::Edited(edited) => state.edited(edited),
        Event::Copied(Ok(())) => state.flash("copied"),
        Event::Copied(Err(why)) => state.error(why),
        Event::Tick => {}
    }
    state.carry_out(None);
    if !by_person {
        state.closed_by_itself(asked);
    }
    state.settle();
    state.out.take_effects()
}

/// Whether the person did it.
fn is_of_person(event: &Event) -> bool {
    match event {
        Event::Key(_) | Event::Typed(_) | Event::Interrupt | Event::Paste(_) | Event::Mouse(_) => true,
        Event::Resize(..) | Event::Line(_) | Event::Gone | Event::Answer(_) => false,
        Event::Edited(_) | Event::Copied(_) | Event::Tick => false,
    }
}

impl State {
    /// Who speaks, and what it wants to be asked about.
    pub(super) fn greet(&mut self) {
        let client = Client { name: "haft".to_owned(), version: Some(self.version.clone()) };
        let approve = Some(self.settings.approve());
        let hello = Hello { token: None, client: Some(client), ui: Some(true), approve };
        self.out.send_to(hello, None, Pending::Hello);
    }

    /// How the session is, and what there is in it.
    pub(super) fn refresh(&mut self) {
        self.ask_state();
        self.out.send(ListCommands {}, Pending::Commands);
        self.out.send(ListExtensions {}, Pending::Extensions(Shown::No));
        self.out.send(ListSessions {}, Pending::Sessions(Shown::No));
    }

    /// What holds after everything that happens.
    fn settle(&mut self) {
        self.work.keep_time(self.now);
        self.status.settle(self.now);
        if self.extensions_at.is_some_and(|at| at <= self.now) {
            self.extensions_at = None;
            self.out.send(ListExtensions {}, Pending::Extensions(Shown::No));
            self.out.send(ListCommands {}, Pending::Commands);
        }
        if !self.work.is_on() {
            if let Some(reload) = self.reloads.take() {
                self.out.send(reload, Pending::Reloaded);
            }
            // The run ended before it came there, so that nobody reads it: it is said anew.
            if self.held.waiting == Queued::Unheard {
                self.take_back(Taken::Sent);
            }
        }
        self.conversation.settle(self.now);
        if self.panel.is_open() {
            let area = view::main_area(self);
            self.panel.fit(area, &mut self.out);
        }
        self.composer.ask_for_candidates(&mut self.out);
        self.set_title();
    }

    fn set_title(&mut self) {
        let about = CleanLine::new(self.session.about().unwrap_or_default()).shortened(LONGEST_TITLE);
        let title = match about.as_str().trim() {
            "" => "haft".to_owned(),
            about => format!("haft – {about}"),
        };
        if title != self.title {
            self.title.clone_from(&title);
            self.out.effect(Effect::Title(title));
        }
    }

    /// Nothing can be asked any more. Whoever started all of this says why, where the screen was.
    fn gone(&mut self) {
        self.work.is_over();
        self.panel.close();
        self.dialogs.close_replies();
        self.out.effect(Effect::Quit);
    }

    /// The person's own editor is closed.
    fn edited(&mut self, edited: Result<String, String>) {
        match (edited, self.dialogs.take_edited()) {
            (Ok(text), Some(number)) => self.question_edited(number, &text),
            (Ok(text), None) => self.composer.set_edited(&text),
            (Err(why), _) => self.error(why),
        }
    }

    /// The person's own editor is closed, which had the text of a question.
    fn question_edited(&mut self, number: u64, text: &str) {
        if self.dialogs.set_edited(number, text) {
            return;
        }
        self.composer.keep_cut(text);
        let key = self.keymap.keys(Edit::Yank).first();
        let puts = key.map_or_else(String::new, |key| format!("; {key} puts it into the editor"));
        self.info(format!("the question whose text you edited is closed, so nobody was given it{puts}"));
    }

    /// Notes that the question that was shown is gone without an answer of the person: what is being typed was meant for
    /// it, and is no prompt.
    fn closed_by_itself(&mut self, shown: Option<u64>) {
        if shown.is_none_or(|number| self.dialogs.has(number)) {
            return;
        }
        match self.lines.on {
            true => self.lines.expect_late_line(self.now),
            false => {
                self.dialogs.expect_late_keys(self.now);
                self.flash(CLOSED);
            }
        }
    }

    /// The terminal has taken all of what was drawn last.
    pub fn was_drawn(&mut self, now: Instant) {
        if let Some(dialog) = self.dialogs.shown() {
            dialog.was_drawn(now);
        }
    }

    /// Nothing of what was drawn is on the screen any more.
    pub fn was_hidden(&mut self) {
        self.dialogs.hidden();
    }

    /// Asks something of haft's own.
    pub(super) fn ask_person(&mut self, question: Question, purpose: Purpose) {
        self.dialogs.open(question, purpose, self.now);
        if self.settings.bell() {
            self.out.effect(Effect::Bell);
        }
    }

    pub(super) fn answered(&mut self, purpose: Purpose, answer: UiAnswer) {
        match (purpose, answer) {
            (Purpose::Reply { id, session }, answer) => {
                self.out.send_to(UiResponse { request: id, answer }, session, Pending::Answered);
            }
            (Purpose::Key { provider }, UiAnswer::Value(key)) if !key.trim().is_empty() => {
                self.info(format!("the key is tried at {provider}…"));
                self.out.ask(Ask::Login { provider, key: SecretString::from(key.trim().to_owned()) });
            }
            (Purpose::Grant { digest }, UiAnswer::Confirmed(true)) => self.out.ask(Ask::Grant { digest }),
            (Purpose::Setting { name }, UiAnswer::Value(value)) => self.out.ask(Ask::Set { name, value }),
            (Purpose::NewSession, UiAnswer::Confirmed(true)) => commands::run(self, "new", ""),
            (Purpose::Grant { .. }, _) => self.info("the project is trusted no more than before"),
            (Purpose::Key { .. } | Purpose::Setting { .. }, _) => self.flash("nothing was changed"),
            (Purpose::NewSession, _) => {}
        }
    }
}
