//! Commands about sessions: `/new`, `/resume`, `/tree`, `/fork`, `/name`, `/compact`, `/export`, `/clear`.

use haft_protocol::ids::ExtensionName;
use haft_protocol::rpc::{
    ClearCommand, CompactCommand, ForkCommand, ListSessions, NewSession, SetName, SwitchSession, TreeCommand,
};

use super::super::BackendRequest;
use super::super::deferred_input::{SessionOrigin, SessionSwitch};
use super::super::intent::ComponentIntent;
use super::super::pending_request::{ListUse, PendingRequest};
use super::super::state::AppState;

pub(super) fn new(state: &mut AppState, _args: &str) {
    open_new(state);
}

pub(super) fn resume(state: &mut AppState, args: &str) {
    match args {
        "" => state.out.send(ListSessions {}, PendingRequest::Sessions(ListUse::Picker)),
        id => open_stored(state, id.to_owned()),
    }
}

pub(super) fn tree(state: &mut AppState, _args: &str) {
    match state.work.is_active() {
        true => state.show_error("cannot jump back while the agent works; stop the agent with esc first"),
        false => state.out.send(TreeCommand {}, PendingRequest::Tree),
    }
}

pub(super) fn fork(state: &mut AppState, args: &str) {
    open_fork(state, non_empty(args));
}

pub(super) fn name(state: &mut AppState, args: &str) {
    let name = non_empty(args);
    state.out.send(SetName { name: args.to_owned() }, PendingRequest::Renamed(name));
}

pub(super) fn compact(state: &mut AppState, args: &str) {
    state.out.send(CompactCommand { instructions: non_empty(args) }, PendingRequest::Compacted);
}

pub(super) fn export(state: &mut AppState, args: &str) {
    match state.out.session().map(str::to_owned) {
        Some(session) => state.out.ask_backend(BackendRequest::Export { session, to: non_empty(args) }),
        None => state.flash("nothing to export: no session is open yet"),
    }
}

pub(super) fn clear(state: &mut AppState, _args: &str) {
    state.out.send(ClearCommand {}, PendingRequest::Cleared);
}

fn non_empty(args: &str) -> Option<String> {
    Some(args).filter(|args| !args.is_empty()).map(str::to_owned)
}

/// Begins to open a session that replaces the shown one. Returns false if another one is already being opened.
fn begin_session_switch(state: &mut AppState, origin: SessionOrigin) -> bool {
    let is_free = state.deferred.session_switch.is_none();
    match is_free {
        // Events of other sessions are kept from now on, because one of them will be shown.
        true => state.deferred.session_switch = Some(SessionSwitch::new(origin)),
        false => state.flash("another session is already being opened"),
    }
    is_free
}

fn open_new(state: &mut AppState) {
    if begin_session_switch(state, SessionOrigin::New) {
        state.out.send(NewSession { ephemeral: None }, PendingRequest::SessionCreated);
    }
}

fn open_fork(state: &mut AppState, entry: Option<String>) {
    if begin_session_switch(state, SessionOrigin::Fork(entry.clone())) {
        state.out.send(ForkCommand { entry }, PendingRequest::SessionCreated);
    }
}

fn open_stored(state: &mut AppState, id: String) {
    if state.out.session() == Some(id.as_str()) {
        keep_current_session(state);
    } else if begin_session_switch(state, SessionOrigin::Stored) {
        switch_to(state, id);
    }
}

/// Shows the session that an extension made the current one.
pub(in crate::app) fn follow_extension(state: &mut AppState, session: String, extension: &ExtensionName) {
    if state.deferred.session_switch.is_none() {
        state.flash(format!("[{extension}] opened another session"));
    }
    open_stored(state, session);
}

pub(in crate::app) fn keep_current_session(state: &mut AppState) {
    state.deferred.session_switch = None;
    state.flash("that session is already open");
    finish_session_choice(state);
}

/// Ends the choice of a session and sends deferred messages.
pub(in crate::app) fn finish_session_choice(state: &mut AppState) {
    state.awaits_session_choice = false;
    state.out.push_intent(ComponentIntent::SendUnsent);
}

pub(in crate::app) fn switch_to(state: &mut AppState, id: String) {
    state.out.send_to(SwitchSession {}, Some(id), PendingRequest::Switched);
}
