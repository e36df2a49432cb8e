//! The effects of events.

mod answers;
mod approve;
mod browse;
mod events;
mod input;
mod pick;
mod prompt;
mod replies;
mod shell;
mod size;
mod switch;

use std::time::Instant;

use haft_protocol::rpc::{ServerLine, ListCommands, ListExtensions, UiAnswer, UiResponse};
use secrecy::SecretString;

use super::dialogs::CLOSED;
use super::held::Queued;
use super::intent::AnswerUse;
use super::pending::{Pending, Shown, Taken};
use super::state::State;
use super::{BackendRequest, Effect, Event, commands, view};
use crate::clean::CleanLine;
use crate::keys::Edit;

/// The most columns of the title that the session gives it.
const LONGEST_TITLE: usize = 48;

/// Returns the first effects.
pub fn start(state: &mut State) -> Vec<Effect> {
    state.stack.composer.learn(|known| known.set_own(commands::own()));
    state.greet();
    state.refresh();
    for ask in [BackendRequest::Branch, BackendRequest::History, BackendRequest::Themes] {
        state.out.ask(ask);
    }
    settle(state);
    state.out.take_effects()
}

/// Returns the effects of an event.
pub fn update(state: &mut State, now: Instant, event: Event) -> Vec<Effect> {
    state.now = now;
    let (asked, by_person) = (state.stack.dialogs.number(), is_of_person(&event));
    match event {
        Event::Key(chord) => input::key(state, chord),
        Event::Typed(line) => input::heard(state, &line),
        Event::Interrupt => input::interrupted(state),
        Event::Paste(text) => input::paste(state, &text),
        Event::Mouse(mouse) => input::mouse(state, mouse),
        Event::Resize(columns, rows) => state.size = (columns, rows),
        Event::Line(line) => match *line {
            ServerLine::Reply(reply) => replies::reply(state, reply),
            ServerLine::Event(line) => events::event_line(state, line),
        },
        Event::Gone => gone(state),
        Event::Answer(answer) => answers::answer(state, answer),
        Event::Edited(edited) => set_edited(state, edited),
        Event::Copied(Ok(())) => state.flash("copied"),
        Event::Copied(Err(why)) => state.error(why),
        Event::Tick => {}
    }
    input::carry_out(state, None);
    if !by_person {
        closed_by_itself(state, asked);
    }
    settle(state);
    state.out.take_effects()
}

fn is_of_person(event: &Event) -> bool {
    match event {
        Event::Key(_) | Event::Typed(_) | Event::Interrupt | Event::Paste(_) | Event::Mouse(_) => true,
        Event::Resize(..) | Event::Line(_) | Event::Gone | Event::Answer(_) => false,
        Event::Edited(_) | Event::Copied(_) | Event::Tick => false,
    }
}

/// Restores what holds after every event.
fn settle(state: &mut State) {
    state.work.keep_time(state.now);
    state.status.settle(state.now);
    if state.extensions_at.is_some_and(|at| at <= state.now) {
        state.extensions_at = None;
        state.out.send(ListExtensions {}, Pending::Extensions(Shown::No));
        state.out.send(ListCommands {}, Pending::Commands);
    }
    if !state.work.is_on() {
        if let Some(reload) = state.reloads.take() {
            state.out.send(reload, Pending::Reloaded);
        }
        // The run ended before it came there, so that nobody reads it: it is said anew.
        if state.held.waiting == Queued::Unheard {
            state.take_back(Taken::Sent);
        }
    }
    state.stack.conversation.settle(state.now);
    if state.stack.panel.is_open() {
        let area = view::main_area(state);
        state.stack.panel.fit(area, &mut state.out);
    }
    state.stack.composer.ask_for_candidates(&mut state.out);
    set_title(state);
}

fn set_title(state: &mut State) {
    let about = CleanLine::new(state.session.about().unwrap_or_default()).truncate_to_width(LONGEST_TITLE);
    let title = match about.as_str().trim() {
        "" => "haft".to_owned(),
        about => format!("haft – {about}"),
    };
    if title != state.title {
        state.title.clone_from(&title);
        state.out.effect(Effect::Title(title));
    }
}

fn gone(state: &mut State) {
    state.work.is_over();
    state.stack.panel.close();
    state.stack.dialogs.close_replies();
    state.out.effect(Effect::Quit);
}

fn set_edited(state: &mut State, edited: Result<String, String>) {
    match (edited, state.stack.dialogs.take_edited()) {
        (Ok(text), Some(number)) => question_edited(state, number, &text),
        (Ok(text), None) => state.stack.composer.set_edited(&text),
        (Err(why), _) => state.error(why),
    }
}

/// The person's own editor is closed, which had the text of a question.
fn question_edited(state: &mut State, number: u64, text: &str) {
    if state.stack.dialogs.set_edited(number, text) {
        return;
    }
    state.stack.composer.keep_cut(text);
    let key = state.keymap.keys(Edit::Yank).first();
    let puts = key.map_or_else(String::new, |key| format!("; {key} puts it into the editor"));
    state.info(format!("the question whose text you edited is closed, so nobody was given it{puts}"));
}

/// Notes that the question that was shown is gone without an answer of the person: what is being typed was meant for
/// it, and is no prompt.
fn closed_by_itself(state: &mut State, shown: Option<u64>) {
    if shown.is_none_or(|number| state.stack.dialogs.has(number)) {
        return;
    }
    match state.lines.on {
        true => state.lines.expect_late_line(state.now),
        false => {
            state.stack.dialogs.expect_late_keys(state.now);
            state.flash(CLOSED);
        }
    }
}

fn answered(state: &mut State, purpose: AnswerUse, answer: UiAnswer) {
    match (purpose, answer) {
        (AnswerUse::Reply { id, session }, answer) => {
            state.out.send_to(UiResponse { request: id, answer }, session, Pending::Answered);
        }
        (AnswerUse::Key { provider }, UiAnswer::Value(key)) if !key.trim().is_empty() => {
            state.info(format!("the key is tried at {provider}…"));
            state.out.ask(BackendRequest::Login { provider, key: SecretString::from(key.trim().to_owned()) });
        }
        (AnswerUse::Grant { digest }, UiAnswer::Confirmed(true)) => state.out.ask(BackendRequest::Grant { digest }),
        (AnswerUse::Setting { name }, UiAnswer::Value(value)) => state.out.ask(BackendRequest::Set { name, value }),
        (AnswerUse::NewSession, UiAnswer::Confirmed(true)) => commands::run(state, "new", ""),
        (AnswerUse::Grant { .. }, _) => state.info("project not trusted"),
        (AnswerUse::Key { .. } | AnswerUse::Setting { .. }, _) => state.flash("nothing was changed"),
        (AnswerUse::NewSession, _) => {}
    }
}
