//! Switching to another session.

use super::super::commands::sessions;
use super::super::view::inline_view;
use super::{events, prompt, shell};
use haft_protocol::rpc::{CloseSession, QueueData, SetModel, SetThinking, TakeQueued};
use haft_protocol::thinking::ThinkingLevel;

use super::super::BackendRequest;
use super::super::deferred_input::{DeferredInput, SessionOrigin};
use super::super::extension_screen::ExtensionScreen;
use super::super::pending_request::PendingRequest;
use super::super::session::CurrentSession;
use super::super::shortcuts::ExtensionShortcuts;
use super::super::state::AppState;
use crate::editor::EditorContent;
use crate::queue::{MessageQueue, RestoredMessages};

/// The maximum length, in characters, of the origin's name in the note about a fork.
const LONGEST_NAME: usize = 60;

pub(super) fn handle_session_created(state: &mut AppState, id: String) {
    if state.deferred.session_switch.as_ref().is_some_and(|next| next.origin == SessionOrigin::New) {
        if let Some(model) = state.session.own_model.clone() {
            let carried = PendingRequest::ModelCarriedOver(id.clone());
            state.out.send_to(SetModel { model }, Some(id.clone()), carried);
        }
        let level = state.session.wanted_thinking.unwrap_or(state.session.thinking);
        if level != ThinkingLevel::Default || state.session.wanted_thinking.is_some() {
            state.out.send_to(SetThinking { level }, Some(id.clone()), PendingRequest::ErrorsOnly);
        }
    }
    sessions::switch_to(state, id);
}

pub(super) fn handle_session_switched(state: &mut AppState, id: String) {
    match state.out.session() == Some(id.as_str()) {
        true => sessions::keep_current_session(state),
        false => show_session(state, id),
    }
}

/// Requests the state again after the new session got the model of the previous one.
pub(super) fn handle_model_carried_over(state: &mut AppState, id: &str) {
    if state.out.session() == Some(id) {
        state.request_state();
    }
}

/// Shows the session and closes the previous one.
fn show_session(state: &mut AppState, id: String) {
    let Some(next) = state.deferred.session_switch.take() else { return };
    inline_view::flush_conversation(state);
    let origin = next.origin.clone();
    let continued_by = matches!(origin, SessionOrigin::Fork(_)).then(|| id.clone());
    let before = std::mem::take(&mut state.session);
    let left = state.out.set_session(id.clone());
    state.session = CurrentSession {
        provider: before.provider.clone(),
        model: before.model.clone(),
        cwd: before.cwd.clone(),
        wanted_thinking: before.wanted_thinking.filter(|_| origin == SessionOrigin::New),
        ..CurrentSession::default()
    };
    let queue = std::mem::take(&mut state.queue);
    state.out.leave_session(&queue, continued_by.as_deref());
    reset_view(state);
    let unsent = std::mem::take(&mut state.deferred.unsent);
    state.deferred = DeferredInput { unsent, ..DeferredInput::new() };
    state.stack.conversation.restart_loading();
    state.out.ask_backend(BackendRequest::Conversation { session: id.clone() });
    finish_previous_session(state, &before, left.as_deref(), &origin);
    if !queue.is_empty() {
        let pending = PendingRequest::PreviousSessionQueue(Box::new(queue), continued_by);
        state.out.send_to(TakeQueued {}, left.clone(), pending);
    }
    for event in next.into_session_events(&id) {
        events::handle_session_event(state, event, Some(id.clone()));
    }
    state.request_session_data();
    state.out.ask_backend(BackendRequest::Branch);
    if let Some(closed) = left.filter(|left| *left != id) {
        state.out.send_to(CloseSession {}, Some(closed), PendingRequest::Ignored);
    }
}

/// Clears the view of the previous session, except for running shell commands.
fn reset_view(state: &mut AppState) {
    state.stack.conversation.reset_transcript();
    state.notes.clear();
    state.extension_screen = ExtensionScreen::default();
    state.shortcuts = ExtensionShortcuts::default();
    state.stack.conversation.transcript_mut().set_thinking_label(None);
    state.stack.panel.close();
    state.stack.panel.allow_all();
    state.stack.composer.cancel_delayed();
    state.stack.dialogs.close_replies();
    state.work.stop_all();
    state.pending_reload = None;
    state.awaits_session_choice = false;
    state.stack.composer.completions_mut().sessions = None;
    state.stack.composer.completions_mut().extension_completions = None;
}

/// Finishes the pending work of the previous session. Prompts are moved back into the composer. A fork receives the
/// output of running shell commands; no other session does.
fn finish_previous_session(
    state: &mut AppState,
    before: &CurrentSession,
    left: Option<&str>,
    origin: &SessionOrigin,
) {
    if let SessionOrigin::Fork(entry) = origin {
        report_fork(state, before, left.unwrap_or_default(), entry.as_deref());
    } else {
        for shell in state.work.shells.iter_mut().filter(|shell| shell.reported_to_model) {
            shell.reported_to_model = false;
            state.stack.conversation.transcript_mut().detach_shell(shell.number);
        }
    }
    let sending = state.image_prompts.take_contents();
    restore_previous_prompts(state, &sending);
}

fn report_fork(state: &mut AppState, before: &CurrentSession, id: &str, entry: Option<&str>) {
    let about: String = before.description().unwrap_or(id).chars().take(LONGEST_NAME).collect();
    let place = entry.map_or_else(|| "at its last entry".to_owned(), |entry| format!("at entry {entry}"));
    state.show_info(format!("forked from {about} {place}; /resume {id} returns to that session"));
}

/// Restores the queued messages of the previous session. Prompts are moved back into the composer. The session that
/// continues the previous one receives the output of shell commands.
pub(super) fn restore_previous_queue(
    state: &mut AppState,
    mut queue: MessageQueue,
    continued_by: Option<&str>,
    taken: Option<QueueData>,
) {
    let restored = match taken {
        Some(QueueData { steering, follow_up, .. }) => queue.take_returned(steering, follow_up),
        // The session is already closed, so none of its queued messages was read.
        None => queue.take_back(),
    };
    let RestoredMessages { prompts, printed } = restored;
    restore_previous_prompts(state, &prompts);
    let continues = continued_by.is_some() && state.out.session() == continued_by;
    for printed in printed {
        match continues {
            true => shell::send_shell_output(state, printed),
            false => state.show_info(format!(
                "the output of `{}` was not sent to the model: its session is closed",
                printed.command
            )),
        }
    }
    prompt::send_unsent(state);
}

/// Moves prompts that the previous session did not start back into the composer.
pub(super) fn restore_previous_prompts(state: &mut AppState, contents: &[EditorContent]) {
    let note = match contents.len() {
        0 => return,
        1 => "a queued prompt of the previous session is back in the editor".to_owned(),
        count => format!("{count} queued prompts of the previous session are back in the editor"),
    };
    state.stack.composer.restore_prompts(contents);
    state.show_info(note);
}

/// Cancels the switch to another session and moves unsent messages back into the composer.
pub(super) fn cancel_switch(state: &mut AppState) {
    state.deferred.session_switch = None;
    state.restore_unsent();
}
