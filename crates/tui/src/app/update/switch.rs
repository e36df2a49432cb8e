//! Another session in the place of the one that is shown.

use super::super::commands::sessions;
use super::super::view::below;
use super::{events, prompt, shell};
use haft_protocol::rpc::{CloseSession, QueueData, SetModel, SetThinking, TakeQueued};
use haft_protocol::thinking::ThinkingLevel;

use super::super::BackendRequest;
use super::super::held::{Held, Origin};
use super::super::pending::Pending;
use super::super::session::Session;
use super::super::state::State;
use crate::editor::EditorContent;
use crate::queue::{MessageQueue, RestoredMessages};

/// The most characters of a name in a row that says where a fork comes from.
const LONGEST_NAME: usize = 60;

pub(super) fn made(state: &mut State, id: String) {
    if state.held.next.as_ref().is_some_and(|next| next.origin == Origin::New) {
        if let Some(model) = state.session.own_model.clone() {
            let carried = Pending::CarriedOver(id.clone());
            state.out.send_to(SetModel { model }, Some(id.clone()), carried);
        }
        let level = state.session.wanted_thinking.unwrap_or(state.session.thinking);
        if level != ThinkingLevel::Default || state.session.wanted_thinking.is_some() {
            state.out.send_to(SetThinking { level }, Some(id.clone()), Pending::Quiet);
        }
    }
    sessions::switch_to(state, id);
}

pub(super) fn switched(state: &mut State, id: String) {
    match state.out.session() == Some(id.as_str()) {
        true => sessions::stays(state),
        false => adopt(state, id),
    }
}

/// The new session has the model of the one before: who was told of another one is told anew.
pub(super) fn carried_over(state: &mut State, id: &str) {
    if state.out.session() == Some(id) {
        state.ask_state();
    }
}

/// Shows that session from here on, and closes the one before it.
fn adopt(state: &mut State, id: String) {
    let Some(next) = state.held.next.take() else { return };
    below::leave_conversation(state);
    let origin = next.origin.clone();
    let goes_on = matches!(origin, Origin::Fork(_)).then(|| id.clone());
    let before = std::mem::take(&mut state.session);
    let left = state.out.set_session(id.clone());
    state.session = Session {
        provider: before.provider.clone(),
        model: before.model.clone(),
        cwd: before.cwd.clone(),
        wanted_thinking: before.wanted_thinking.filter(|_| origin == Origin::New),
        ..Session::default()
    };
    let queue = std::mem::take(&mut state.queue);
    state.out.leave(&queue, goes_on.as_deref());
    close_what_was_shown(state);
    let unsent = std::mem::take(&mut state.held.unsent);
    state.held = Held { unsent, ..Held::new() };
    state.stack.conversation.read_anew();
    state.out.ask(BackendRequest::Conversation { session: id.clone() });
    leave_behind(state, &before, left.as_deref(), &origin);
    if !queue.is_empty() {
        let pending = Pending::Left(Box::new(queue), goes_on);
        state.out.send_to(TakeQueued {}, left.clone(), pending);
    }
    for event in next.of(&id) {
        events::session_event(state, event, Some(id.clone()));
    }
    state.refresh();
    state.out.ask(BackendRequest::Branch);
    if let Some(closed) = left.filter(|left| *left != id) {
        state.out.send_to(CloseSession {}, Some(closed), Pending::Silent);
    }
}

/// Nothing of the session before is seen but the commands of the person's that run.
fn close_what_was_shown(state: &mut State) {
    state.stack.conversation.begin_anew();
    state.notes.clear();
    state.stack.panel.close();
    state.stack.panel.allow_all();
    state.stack.composer.cancel_delayed();
    state.stack.dialogs.close_replies();
    state.work.is_over();
    state.reloads = None;
    state.resumes = false;
    state.stack.composer.known_mut().sessions = None;
    state.stack.composer.known_mut().said = None;
}

/// Deals with what was under way for the session before: prompts come back into the editor, and what commands print is
/// told to a session that goes on with it, or to nobody.
fn leave_behind(state: &mut State, before: &Session, left: Option<&str>, origin: &Origin) {
    if let Origin::Fork(entry) = origin {
        forked(state, before, left.unwrap_or_default(), entry.as_deref());
    } else {
        for shell in state.work.shells.iter_mut().filter(|shell| shell.kept) {
            shell.kept = false;
            state.stack.conversation.transcript_mut().detach_shell(shell.number);
        }
    }
    let sending = state.sending.take_contents();
    back_from_before(state, &sending);
}

fn forked(state: &mut State, before: &Session, id: &str, entry: Option<&str>) {
    let about: String = before.about().unwrap_or(id).chars().take(LONGEST_NAME).collect();
    let place = entry.map_or_else(|| "where it stood".to_owned(), |entry| format!("at {entry}"));
    state.info(format!("forked from {about} {place}; /resume {id} goes back to it"));
}

/// Deals with the messages that waited in the session before, as they were taken back there. What commands printed is
/// told to the session that goes on with it.
pub(super) fn left(state: &mut State, mut queue: MessageQueue, goes_on: Option<&str>, taken: Option<QueueData>) {
    let back = match taken {
        Some(QueueData { steering, follow_up, .. }) => queue.take_returned(steering, follow_up),
        // It is closed already: whatever waited was read by nobody.
        None => queue.take_back(),
    };
    let RestoredMessages { prompts, printed } = back;
    back_from_before(state, &prompts);
    let goes_on = goes_on.is_some() && state.out.session() == goes_on;
    for printed in printed {
        match goes_on {
            true => shell::say_printed(state, printed),
            false => state.info(format!(
                "the model was not told what `{}` printed: that session is closed",
                printed.command
            )),
        }
    }
    prompt::say_unsent(state);
}

/// Prompts that the session before did not begin with are in the editor.
pub(super) fn back_from_before(state: &mut State, contents: &[EditorContent]) {
    let said = match contents.len() {
        0 => return,
        1 => "a prompt that waited in the session before is in the editor".to_owned(),
        count => format!("{count} prompts that waited in the session before are in the editor"),
    };
    state.stack.composer.give_back(contents);
    state.info(said);
}

/// No other session will be shown after all. What was said in it is in the editor.
pub(super) fn end_switch(state: &mut State) {
    state.held.next = None;
    state.give_back_unsent();
}
