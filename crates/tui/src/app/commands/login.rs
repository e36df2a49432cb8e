//! Commands for API keys and trust: `/login`, `/logout`, `/trust`.

use super::super::BackendRequest;
use super::super::intent::AnswerUse;
use super::super::menu::PendingPicker;
use super::super::state::AppState;
use crate::dialog::{AnswerKind, Question};

pub(super) fn login(state: &mut AppState, args: &str) {
    if args.is_empty() {
        state.pending_picker = Some(PendingPicker::Login);
        state.out.ask_backend(BackendRequest::Providers);
        return;
    }
    let provider = args.split_whitespace().next().unwrap_or_default();
    if provider != args {
        // The message must not repeat the arguments, because one of them may be the key.
        state.show_error(
            "/login takes only the name of a provider, for example /login openai; haft then asks for the key and \
             hides what you type",
        );
        return;
    }
    let question = Question {
        owner: None,
        wanted: AnswerKind::Input { secret: true },
        title: format!("API key for {args}"),
        message: "haft verifies the key with the provider and then saves it. What you type is hidden."
            .to_owned(),
        call: None,
        preview: None,
        placeholder: None,
        grants: false,
        within: None,
        default: None,
    };
    state.open_dialog(question, AnswerUse::Key { provider: args.to_owned() });
}

pub(super) fn logout(state: &mut AppState, args: &str) {
    if args.is_empty() {
        state.pending_picker = Some(PendingPicker::Logout);
        state.out.ask_backend(BackendRequest::Providers);
        return;
    }
    state.out.ask_backend(BackendRequest::Logout { provider: args.to_owned() });
}

pub(super) fn trust(state: &mut AppState, _args: &str) {
    state.out.ask_backend(BackendRequest::Trust);
}
