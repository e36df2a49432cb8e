//! Commands about sessions: `/new`, `/resume`, `/tree`, `/fork`, `/name`, `/compact`, `/export`, `/clear`.

use haft_protocol::rpc::{Clear, Compact, ListSessions, SetName, Tree};

use super::super::Ask;
use super::super::pending::{Pending, Shown};
use super::super::state::State;

pub(super) fn new(state: &mut State, _args: &str) {
    state.open_new();
}

pub(super) fn resume(state: &mut State, args: &str) {
    match args {
        "" => state.out.send(ListSessions {}, Pending::Sessions(Shown::Picker)),
        id => state.open_stored(id.to_owned()),
    }
}

pub(super) fn tree(state: &mut State, _args: &str) {
    match state.work.is_on() {
        true => state.error("the agent is at work; stop it with esc, and then go on from another place"),
        false => state.out.send(Tree {}, Pending::Tree),
    }
}

pub(super) fn fork(state: &mut State, args: &str) {
    state.open_fork(given(args));
}

pub(super) fn name(state: &mut State, args: &str) {
    let name = given(args);
    state.out.send(SetName { name: args.to_owned() }, Pending::Named(name));
}

pub(super) fn compact(state: &mut State, args: &str) {
    state.out.send(Compact { instructions: given(args) }, Pending::Compacted);
}

pub(super) fn export(state: &mut State, args: &str) {
    match state.out.session().map(str::to_owned) {
        Some(session) => state.out.ask(Ask::Export { session, to: given(args) }),
        None => state.flash("there is no session yet"),
    }
}

pub(super) fn clear(state: &mut State, _args: &str) {
    state.out.send(Clear {}, Pending::Cleared);
}

fn given(args: &str) -> Option<String> {
    Some(args).filter(|args| !args.is_empty()).map(str::to_owned)
}
