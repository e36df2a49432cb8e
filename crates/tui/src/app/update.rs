//! What follows from what happens.

mod answers;
mod approve;
mod completions;
mod dialog;
mod events;
mod keys;
mod mouse;
mod panel;
mod paste;
mod pick;
mod prompt;
mod replies;
mod shell;
mod size;
mod switch;

use std::time::Instant;

use haft_protocol::rpc::{
    Client, GetModels, GetTools, Hello, Line, ListCommands, ListExtensions, ListSessions,
};

use super::commands::Completes;
use super::held::Queued;
use super::input::Files;
use super::pending::{Pending, Shown, Taken};
use super::state::{Edits, State};
use super::{Ask, Effect, Event};
use crate::clean::CleanLine;
use crate::complete::Kind;
use crate::timeouts;
use crate::transcript::Found;

pub(super) use panel::Shut;
pub(super) use paste::Pastes;
pub(super) use prompt::Sending;

/// The most columns of the title that the session gives it.
const LONGEST_TITLE: usize = 48;

/// What is to be done first.
pub fn start(state: &mut State) -> Vec<Effect> {
    state.greet();
    state.refresh();
    for ask in [Ask::Branch, Ask::History, Ask::Themes] {
        state.ask(ask);
    }
    state.settle();
    std::mem::take(&mut state.effects)
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
    if !by_person {
        state.closed_by_itself(asked);
    }
    state.settle();
    std::mem::take(&mut state.effects)
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
        self.send_to(hello, None, Pending::Hello);
    }

    /// How the session is, and what there is in it.
    pub(super) fn refresh(&mut self) {
        self.ask_state();
        self.send(ListCommands {}, Pending::Commands);
        self.send(ListExtensions {}, Pending::Extensions(Shown::No));
        self.send(ListSessions {}, Pending::Sessions(Shown::No));
    }

    /// What holds after everything that happens.
    fn settle(&mut self) {
        self.work.keep_time(self.now);
        if self.flash.as_ref().is_some_and(|flash| flash.until <= self.now) {
            self.flash = None;
        }
        self.quits_until.take_if(|until| *until <= self.now);
        if self.extensions_at.is_some_and(|at| at <= self.now) {
            self.extensions_at = None;
            self.send(ListExtensions {}, Pending::Extensions(Shown::No));
            self.send(ListCommands {}, Pending::Commands);
        }
        if !self.work.is_on() {
            if let Some(reload) = self.reloads.take() {
                self.send(reload, Pending::Reloaded);
            }
            // The run ended before it came there, so that nobody reads it: it is said anew.
            if self.held.waiting == Queued::Unheard {
                self.take_back(Taken::Sent);
            }
        }
        self.search_on();
        self.keep_folds();
        self.fit_panel();
        self.ask_what_is_wanted();
        self.set_title();
    }

    /// A search that is too long for one time goes on between the frames.
    fn search_on(&mut self) {
        if self.searches_at.is_some_and(|at| at <= self.now) {
            self.searches_at = None;
            self.transcript.search_on();
        }
        match self.transcript.found() {
            Found::Searching(_) => {
                self.searches_at.get_or_insert(self.now + timeouts::FRAME);
            }
            Found::Match | Found::Nothing | Found::Stopped => self.searches_at = None,
        }
    }

    /// What is being completed and not known is asked for.
    fn ask_what_is_wanted(&mut self) {
        let revision = self.input.editor.revision();
        if std::mem::replace(&mut self.input.asked_at, revision) == revision {
            return;
        }
        self.ask_completions();
        match self.input.wanted() {
            Some(Kind::File { .. }) if self.input.files == Files::Unknown => {
                self.input.files = Files::Asked;
                self.ask(Ask::Files);
            }
            Some(Kind::Argument { command, before }) if before.is_empty() => self.ask_arguments(&command),
            Some(Kind::File { .. } | Kind::Argument { .. } | Kind::Command) | None => {}
        }
    }

    fn ask_arguments(&mut self, command: &str) {
        let command = super::commands::Command::named(command);
        let asked = |is: fn(&Pending) -> bool| self.open.any(is);
        match command.and_then(|command| command.completes) {
            Some(Completes::Models) if self.known.models.is_none() && !asked(Pending::is_models) => {
                self.send(GetModels {}, Pending::Models(Shown::No));
            }
            Some(Completes::Sessions) if self.known.sessions.is_none() && !asked(Pending::is_sessions) => {
                self.send(ListSessions {}, Pending::Sessions(Shown::No));
            }
            Some(Completes::Tools) if self.known.tools.is_none() && !asked(Pending::is_tools) => {
                self.send(GetTools {}, Pending::Tools(Shown::No));
            }
            Some(Completes::Providers) if self.known.providers.is_none() => {
                self.known.providers = Some(Vec::new());
                self.ask(Ask::Providers);
            }
            Some(_) | None => {}
        }
    }

    fn set_title(&mut self) {
        let about = CleanLine::new(self.session.about().unwrap_or_default()).shortened(LONGEST_TITLE);
        let title = match about.as_str().trim() {
            "" => "haft".to_owned(),
            about => format!("haft – {about}"),
        };
        if title != self.title {
            self.title.clone_from(&title);
            self.effect(Effect::Title(title));
        }
    }

    /// Nothing can be asked any more. Whoever started all of this says why, where the screen was.
    fn gone(&mut self) {
        self.work.is_over();
        self.panel = None;
        self.dialogs.close_replies();
        self.effect(Effect::Quit);
    }

    /// The person's own editor is closed.
    fn edited(&mut self, edited: Result<String, String>) {
        match (edited, std::mem::replace(&mut self.edits, Edits::Prompt)) {
            (Ok(text), Edits::Dialog(number)) => self.dialog_edited(number, &text),
            (Ok(text), Edits::Prompt) => {
                let before = self.input.edited.take();
                let came = before.and_then(|before| self.input.editor.came_since(&before));
                self.input.editor.set_edited(&text);
                self.input.editor.put_before(&came);
                self.input.completer.close();
            }
            (Err(why), _) => self.error(why),
        }
    }
}
