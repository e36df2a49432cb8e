//! Commands for API keys and trust: `/login`, `/logout`, `/trust`.

use haft_protocol::rpc::SetModel;

use super::super::intent::{AnswerUse, ChoiceUse};
use super::super::menu::PendingPicker;
use super::super::pending_request::PendingRequest;
use super::super::state::AppState;
use super::super::{BackendRequest, LoginProvider};
use crate::dialog::{AnswerKind, Question};
use crate::picker::{PickerAbilities, PickerRow};

/// The keys of the rows that are no providers. No provider has such a name.
const LOOK_AGAIN: &str = "/look";
const DEMO: &str = "/demo";

pub(super) fn login(state: &mut AppState, args: &str) {
    if args.is_empty() {
        return connect_model(state);
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
    let question = Question::from_haft(
        AnswerKind::Input { secret: true },
        format!("API key for {args}"),
        "haft verifies the key with the provider and then saves it. What you type is hidden.".to_owned(),
    );
    state.open_dialog(question, AnswerUse::Key { provider: args.to_owned() });
}

/// Opens the list of providers: to connect a model, or to save a key.
pub(in crate::app) fn connect_model(state: &mut AppState) {
    state.pending_picker = Some(PendingPicker::Login);
    state.out.ask_backend(BackendRequest::Providers);
}

/// Shows the providers, those that can be used at once first.
pub(in crate::app) fn show_login_menu(state: &mut AppState, providers: &[LoginProvider]) {
    let connects = state.session.has_no_model();
    let mut providers: Vec<&LoginProvider> = providers.iter().collect();
    // A local server that does not run cannot be used and needs no key; a compatible server needs an address first.
    let needs_address = |provider: &LoginProvider| connects && provider.name == "compatible";
    providers.retain(|provider| provider.server.is_some() || !provider.is_local && !needs_address(provider));
    providers.sort_by_key(|provider| (provider.server.is_none(), provider.key.is_none()));
    let mut rows: Vec<PickerRow> = providers
        .iter()
        .map(|provider| PickerRow {
            key: provider.name.clone(),
            text: provider.name.clone(),
            detail: provider_detail(provider),
            current: provider.key.is_some() && !connects,
            ..PickerRow::default()
        })
        .collect();
    let other = |key: &str, text: &str, detail: &str| PickerRow {
        key: key.to_owned(),
        text: text.to_owned(),
        detail: detail.to_owned(),
        ..PickerRow::default()
    };
    rows.push(other(
        LOOK_AGAIN,
        "look again",
        "for a server on this machine: Ollama, llama.cpp, vLLM, LM Studio",
    ));
    rows.push(other(DEMO, "play the demo", "one turn with a scripted model and two extensions"));
    let title = if connects { "Connect a model" } else { "Save an API key for" };
    state.open_menu(title, rows, PickerAbilities::default(), ChoiceUse::Login);
}

fn provider_detail(provider: &LoginProvider) -> String {
    let model = provider.model.as_deref().and_then(|model| Some(model.split_once('/')?.1));
    match (&provider.server, &provider.key, model) {
        (Some(server), _, Some(model)) => format!("use {model} on {server}"),
        (Some(server), _, None) => format!("a server on {server}"),
        (None, Some(key), _) => format!("key from {key}"),
        (None, None, _) => "paste an API key".to_owned(),
    }
}

pub(in crate::app) fn apply_login_choice(state: &mut AppState, key: &str) {
    match key {
        LOOK_AGAIN => return connect_model(state),
        DEMO => {
            state.flash("playing the demo…");
            return state.out.ask_backend(BackendRequest::Demo);
        }
        _ => {}
    }
    let providers = state.stack.composer.completions().providers.as_deref().unwrap_or_default();
    let chosen = providers.iter().find(|provider| provider.name == key);
    let is_usable = |provider: &&LoginProvider| {
        provider.server.is_some() || provider.key.is_some() && state.session.has_no_model()
    };
    match chosen.filter(is_usable).map(|provider| provider.model.clone()) {
        Some(Some(model)) => use_model(state, &model),
        Some(None) => super::run(state, "model", ""),
        None => login(state, key),
    }
}

/// Uses a model of the provider whose key was just saved, if the session has none.
pub(in crate::app) fn use_new_key(state: &mut AppState, model: Option<&str>) {
    if !state.session.has_no_model() {
        return;
    }
    match model {
        Some(model) => use_model(state, model),
        None => super::run(state, "model", ""),
    }
}

fn use_model(state: &mut AppState, model: &str) {
    state.out.send(SetModel { model: model.to_owned() }, PendingRequest::Model);
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
