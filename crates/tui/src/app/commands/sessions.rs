//! Commands about sessions: `/new`, `/resume`, `/tree`, `/fork`, `/name`, `/compact`, `/export`, `/clear`.

use haft_protocol::rpc::{ClearCommand, CompactCommand, ForkCommand, ListSessions, NewSession, SetName, SwitchSession, TreeCommand};

use super::super::BackendRequest;
use super::super::held::{Next, Origin};
use super::super::intent::Intent;
use super::super::pending::{Pending, Shown};
use super::super::state::State;

pub(super) fn new(state: &mut State, _args: &str) {
    open_new(state);
}

pub(super) fn resume(state: &mut State, args: &str) {
    match args {
        "" => state.out.send(ListSessions {}, Pending::Sessions(Shown::Picker)),
        id => open_stored(state, id.to_owned()),
    }
}

pub(super) fn tree(state: &mut State, _args: &str) {
    match state.work.is_on() {
        true => state.error("the agent is at work; stop it with esc, and then go on from another place"),
        false => state.out.send(TreeCommand {}, Pending::Tree),
    }
}

pub(super) fn fork(state: &mut State, args: &str) {
    open_fork(state, given(args));
}

pub(super) fn name(state: &mut State, args: &str) {
    let name = given(args);
    state.out.send(SetName { name: args.to_owned() }, Pending::Named(name));
}

pub(super) fn compact(state: &mut State, args: &str) {
    state.out.send(CompactCommand { instructions: given(args) }, Pending::Compacted);
}

pub(super) fn export(state: &mut State, args: &str) {
    match state.out.session().map(str::to_owned) {
        Some(session) => state.out.ask(BackendRequest::Export { session, to: given(args) }),
        None => state.flash("there is no session yet"),
    }
}

pub(super) fn clear(state: &mut State, _args: &str) {
    state.out.send(ClearCommand {}, Pending::Cleared);
}

fn given(args: &str) -> Option<String> {
    Some(args).filter(|args| !args.is_empty()).map(str::to_owned)
}

/// Opens a session to be shown in the place of this one: one at a time. Whether it can be.
fn open_next(state: &mut State, origin: Origin) -> bool {
    let may = state.held.next.is_none();
    match may {
        // From here on, the events of other sessions are kept: one of them will be shown.
        true => state.held.next = Some(Next::new(origin)),
        false => state.flash("another session is being opened"),
    }
    may
}

fn open_new(state: &mut State) {
    if open_next(state, Origin::New) {
        state.out.send(NewSession { ephemeral: None }, Pending::Made);
    }
}

fn open_fork(state: &mut State, entry: Option<String>) {
    if open_next(state, Origin::Fork(entry.clone())) {
        state.out.send(ForkCommand { entry }, Pending::Made);
    }
}

fn open_stored(state: &mut State, id: String) {
    if state.out.session() == Some(id.as_str()) {
        stays(state);
    } else if open_next(state, Origin::Stored) {
        switch_to(state, id);
    }
}

pub(in crate::app) fn stays(state: &mut State) {
    state.held.next = None;
    state.flash("this is that session");
    picked_session(state);
}

/// Whichever session it is in that the person goes on: there is one.
pub(in crate::app) fn picked_session(state: &mut State) {
    state.resumes = false;
    state.out.intend(Intent::SayUnsent);
}

pub(in crate::app) fn switch_to(state: &mut State, id: String) {
    state.out.send_to(SwitchSession {}, Some(id), Pending::Switched);
}
