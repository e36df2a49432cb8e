//! Commands about keys and trust: `/login`, `/logout`, `/trust`.

use super::super::BackendRequest;
use super::super::intent::AnswerUse;
use super::super::menu::Coming;
use super::super::state::State;
use crate::dialog::{Question, AnswerKind};

pub(super) fn login(state: &mut State, args: &str) {
    if args.is_empty() {
        state.coming = Some(Coming::Login);
        state.out.ask(BackendRequest::Providers);
        return;
    }
    let provider = args.split_whitespace().next().unwrap_or_default();
    if provider != args {
        // Neither the name is repeated: it may be the key.
        state.error("/login takes the name of a provider and nothing more, as in /login openai; haft asks for the key then, \
                     and nobody reads it on the screen");
        return;
    }
    let question = Question {
        owner: None,
        wanted: AnswerKind::Input { secret: true },
        title: format!("Key for {args}"),
        message: "It is tried at the provider, and stored if it is taken. Nobody reads it on the screen."
            .to_owned(),
        call: None,
        grants: false,
        within: None,
        default: None,
    };
    state.ask_person(question, AnswerUse::Key { provider: args.to_owned() });
}

pub(super) fn logout(state: &mut State, args: &str) {
    if args.is_empty() {
        state.coming = Some(Coming::Logout);
        state.out.ask(BackendRequest::Providers);
        return;
    }
    state.out.ask(BackendRequest::Logout { provider: args.to_owned() });
}

pub(super) fn trust(state: &mut State, _args: &str) {
    state.out.ask(BackendRequest::Trust);
}
