//! The update function: applies events to the state.

mod approve;
mod backend_replies;
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

use haft_protocol::rpc::{ListCommands, ListExtensions, ListJobs, ServerLine, UiAnswer, UiResponse};
use secrecy::SecretString;

use super::deferred_input::QueueSyncState;
use super::dialogs::CLOSED;
use super::intent::AnswerUse;
use super::pending_request::{ListUse, PendingRequest, TakeBackUse};
use super::state::AppState;
use super::{BackendRequest, Effect, UiEvent, commands, view};
use crate::clean::CleanLine;
use crate::keys::Edit;

/// The maximum columns of the session's description in the window title.
const LONGEST_TITLE: usize = 48;

/// Returns the first effects.
pub fn start(state: &mut AppState) -> Vec<Effect> {
    state.stack.composer.update_completions(|known| known.set_built_in(commands::completable_commands()));
    state.send_hello();
    state.request_session_data();
    for ask in [BackendRequest::Branch, BackendRequest::History, BackendRequest::Themes] {
        state.out.ask_backend(ask);
    }
    finish_event(state);
    state.out.take_effects()
}

/// Returns the effects of an event.
pub fn update(state: &mut AppState, now: Instant, event: UiEvent) -> Vec<Effect> {
    state.now = now;
    let (asked, by_person) = (state.stack.dialogs.current_number(), is_user_input(&event));
    match event {
        UiEvent::Key(chord) => input::handle_key(state, chord),
        UiEvent::TypedLine(line) => input::handle_typed_line(state, &line),
        UiEvent::Interrupt => input::handle_interrupt(state),
        UiEvent::Paste(text) => input::handle_paste(state, &text),
        UiEvent::Mouse(mouse) => input::handle_mouse(state, mouse),
        UiEvent::Resize(columns, rows) => state.size = (columns, rows),
        UiEvent::Line(line) => match *line {
            ServerLine::Reply(reply) => replies::handle_reply(state, reply),
            ServerLine::Event(line) => events::handle_event_line(state, line),
        },
        UiEvent::Disconnected => handle_disconnect(state),
        UiEvent::Answer(answer) => backend_replies::handle_backend_reply(state, answer),
        UiEvent::Edited(edited) => apply_external_edit(state, edited),
        UiEvent::RanInTerminal(command, ended) => shell::report_terminal_command(state, command, ended),
        UiEvent::Copied(Ok(())) => state.flash("copied"),
        UiEvent::Copied(Err(why)) => state.show_error(why),
        UiEvent::Tick => {}
    }
    input::run_intents(state, None);
    if !by_person {
        handle_unanswered_dialog(state, asked);
    }
    finish_event(state);
    state.out.take_effects()
}

fn is_user_input(event: &UiEvent) -> bool {
    match event {
        UiEvent::Key(_)
        | UiEvent::TypedLine(_)
        | UiEvent::Interrupt
        | UiEvent::Paste(_)
        | UiEvent::Mouse(_) => true,
        UiEvent::Resize(..) | UiEvent::Line(_) | UiEvent::Disconnected | UiEvent::Answer(_) => false,
        UiEvent::Edited(_) | UiEvent::RanInTerminal(..) | UiEvent::Copied(_) | UiEvent::Tick => false,
    }
}

/// Updates the derived state after every event.
fn finish_event(state: &mut AppState) {
    state.work.track_start(state.now);
    state.status.expire_messages(state.now);
    if state.extensions_refresh_at.is_some_and(|at| at <= state.now) {
        state.extensions_refresh_at = None;
        state.out.send(ListExtensions {}, PendingRequest::Extensions(ListUse::CacheOnly));
        state.out.send(ListCommands {}, PendingRequest::Commands);
    }
    if state.jobs_refresh_at.is_some_and(|at| at <= state.now) {
        state.jobs_refresh_at = None;
        state.out.send(ListJobs {}, PendingRequest::Jobs(ListUse::CacheOnly));
    }
    if !state.work.is_active() {
        if let Some(reload) = state.pending_reload.take() {
            state.out.send(reload, PendingRequest::Reloaded);
        }
        // The run ended before it read the queued messages, so they are sent again.
        if state.deferred.queue_sync == QueueSyncState::Undelivered {
            state.take_back_queued(TakeBackUse::Resend);
        }
    }
    state.stack.conversation.advance_search(state.now);
    if state.stack.panel.is_open() {
        let area = view::main_area(state);
        state.stack.panel.resize(area, &mut state.out);
    }
    state.stack.composer.request_candidates(&mut state.out);
    set_title(state);
}

fn set_title(state: &mut AppState) {
    let about =
        CleanLine::new(state.session.description().unwrap_or_default()).truncate_to_width(LONGEST_TITLE);
    let own = match about.as_str().trim() {
        "" => "haft".to_owned(),
        about => format!("haft – {about}"),
    };
    let title = state.extension_screen.title().unwrap_or(own);
    if title != state.title {
        state.title.clone_from(&title);
        state.out.push_effect(Effect::Title(title));
    }
}

fn handle_disconnect(state: &mut AppState) {
    state.work.stop_all();
    state.stack.panel.close();
    state.stack.dialogs.close_replies();
    state.out.push_effect(Effect::Quit);
}

fn apply_external_edit(state: &mut AppState, edited: Result<String, String>) {
    match (edited, state.stack.dialogs.take_external_edit()) {
        (Ok(text), Some(number)) => apply_dialog_edit(state, number, &text),
        (Ok(text), None) => state.stack.composer.apply_external_edit(&text),
        (Err(why), _) => state.show_error(why),
    }
}

/// Applies the text of the external editor to its dialog, or keeps the text for yanking if the dialog is closed.
fn apply_dialog_edit(state: &mut AppState, number: u64, text: &str) {
    if state.stack.dialogs.apply_external_edit(number, text) {
        return;
    }
    state.stack.composer.push_cut_text(text);
    let key = state.keymap.keys(Edit::Yank).first();
    let hint = key.map_or_else(String::new, |key| format!("; {key} inserts it into the editor"));
    state.show_info(format!("the edited text was not used: its question is closed{hint}"));
}

/// Handles a shown dialog that closed without an answer: text that is being typed was meant for it and is not a prompt.
fn handle_unanswered_dialog(state: &mut AppState, shown: Option<u64>) {
    if shown.is_none_or(|number| state.stack.dialogs.contains(number)) {
        return;
    }
    match state.linear.enabled {
        true => state.linear.expect_stray_line(state.now),
        false => {
            state.stack.dialogs.expect_stray_keys(state.now);
            state.flash(CLOSED);
        }
    }
}

fn apply_answer(state: &mut AppState, purpose: AnswerUse, answer: UiAnswer) {
    match (purpose, answer) {
        (AnswerUse::Reply { id, session }, answer) => {
            state.out.send_to(UiResponse { request: id, answer }, session, PendingRequest::Answered);
        }
        (AnswerUse::Key { provider }, UiAnswer::Value(key)) if !key.trim().is_empty() => {
            state.show_info(format!("verifying the key with {provider}…"));
            state.out.ask_backend(BackendRequest::Login {
                provider,
                key: SecretString::from(key.trim().to_owned()),
            });
        }
        (AnswerUse::Grant { digest }, UiAnswer::Confirmed(true)) => {
            state.out.ask_backend(BackendRequest::Grant { digest })
        }
        (AnswerUse::Setting { name }, UiAnswer::Value(value)) => {
            state.out.ask_backend(BackendRequest::Set { name, value })
        }
        (AnswerUse::NewSession, UiAnswer::Confirmed(true)) => commands::run(state, "new", ""),
        (AnswerUse::Grant { .. }, _) => state.show_info("project not trusted"),
        (AnswerUse::Key { .. } | AnswerUse::Setting { .. }, _) => state.flash("nothing changed"),
        (AnswerUse::RunInTerminal(command), UiAnswer::Confirmed(true)) => {
            state.out.push_effect(Effect::RunInTerminal(command));
        }
        (AnswerUse::NewSession | AnswerUse::RunInTerminal(_), _) => {}
    }
}
