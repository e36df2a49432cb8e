//! Answers of the program.

use super::super::commands;
use super::super::view::below;
use super::{approve, events, pick, prompt, shell};
use haft_protocol::content::joined_text;
use haft_protocol::message::Message;
use haft_protocol::rpc::CommandFailure;

use super::super::conversation::Following;
use super::super::intent::{AnswerUse, ChoiceUse};
use super::super::menu::{Coming, setting_row};
use super::super::pending::{Pending, Shown};
use super::super::state::State;
use super::super::{BackendReply, BackendRequest, LoginProvider, SettingRow, Trusted, settings};
use crate::dialog::{Question, AnswerKind};
use crate::picker::{PickerAbilities, PickerRow};
use haft_protocol::rpc::ListSessions;

/// Returns the title of a conversation without a name: as it begins.
fn first_words(messages: &[Message]) -> String {
    let first = messages.iter().find_map(|message| match message {
        Message::User { content, .. } => Some(joined_text(content)),
        Message::Assistant(_) | Message::Tool(_) => None,
    });
    first.unwrap_or_else(|| "a new session".to_owned())
}

pub(super) fn answer(state: &mut State, answer: BackendReply) {
    match answer {
        BackendReply::Conversation(session, messages) => show_messages(state, &session, messages),
        BackendReply::Files(files) => {
            state.stack.composer.set_files(files);
        }
        BackendReply::Branch(branch) => state.status.set_branch(branch),
        BackendReply::History(Ok(text)) => {
            state.stack.composer.set_history(&text);
        }
        BackendReply::History(Err(failure)) => state.error(failure.error),
        BackendReply::Image(number, image) => prompt::image_read(state, number, image),
        BackendReply::Providers(providers) => show_providers(state, providers),
        BackendReply::Login(outcome) | BackendReply::Logout(outcome) => {
            state.stack.composer.known_mut().providers = None;
            state.stack.composer.known_mut().models = None;
            told(state, outcome);
        }
        BackendReply::Export(Ok(path)) => state.info(format!("written to {}", path.display())),
        BackendReply::Export(Err(failure)) => state.error(failure.error),
        BackendReply::Delete(Ok(_)) => {
            state.flash("deleted");
            state.out.send(ListSessions {}, Pending::Sessions(Shown::No));
        }
        BackendReply::Delete(Err(failure)) => state.error(failure.error),
        BackendReply::Rename(Ok((session, name))) => pick::renamed(state, &session, name),
        BackendReply::Rename(Err(failure)) => state.error(failure.error),
        BackendReply::Trust(Ok(trusted)) => trust(state, trusted),
        BackendReply::Trust(Err(failure)) => state.error(failure.error),
        BackendReply::Grant(outcome) => granted(state, outcome),
        BackendReply::ShellOutput(number, text) => {
            state.stack.conversation.transcript_mut().shell_output(number, &text)
        }
        BackendReply::ShellEnd(number, outcome) => shell::shell_end(state, number, outcome),
        BackendReply::Settings(rows) => settings_rows(state, rows),
        BackendReply::Set(Ok(row)) => setting(state, &row),
        BackendReply::Set(Err(failure)) => state.error(failure.error),
        BackendReply::Themes(files) => {
            let problems = state.themes.set_files(files);
            state.stack.composer.known_mut().themes = state.themes.names();
            let missing = state
                .themes
                .missing()
                .map(|name| format!("there is no theme {name} ({}); /theme shows them all", settings::THEME));
            problems.into_iter().chain(missing).for_each(|problem| state.error(problem));
        }
    }
}

fn told(state: &mut State, outcome: Result<String, CommandFailure>) {
    match outcome {
        Ok(text) => state.info(text),
        Err(failure) => state.error(failure.error),
    }
}

fn show_messages(state: &mut State, session: &str, messages: Result<std::sync::Arc<Vec<Message>>, CommandFailure>) {
    if state.out.session() != Some(session) {
        return;
    }
    match messages {
        Ok(messages) => {
            below::leave_conversation(state);
            state.begin_printing(&first_words(&messages));
            state.stack.conversation.restore(&messages);
        }
        Err(failure) => state.error(format!("the conversation cannot be shown: {failure}")),
    }
    follow(state);
    match state.resumes {
        true => commands::run(state, "resume", ""),
        false => prompt::say_unsent(state),
    }
}

/// Shows the events that waited for the conversation.
pub(super) fn follow(state: &mut State) {
    for following in state.stack.conversation.arrived() {
        match following {
            Following::Event(event) => events::shown_event(state, &event),
            Following::Said(said) => state.stack.conversation.transcript_mut().push_local(said),
        }
    }
}

fn show_providers(state: &mut State, providers: Vec<LoginProvider>) {
    let (purpose, title) = match state.coming.take() {
        Some(Coming::Login) => (ChoiceUse::Login, "Store a key for"),
        Some(Coming::Logout) => (ChoiceUse::Logout, "Remove the key of"),
        other => {
            state.coming = other;
            state.stack.composer.learn(|known| known.providers = Some(providers));
            return;
        }
    };
    let shown = providers.iter().filter(|provider| purpose == ChoiceUse::Login || provider.stored);
    let rows: Vec<PickerRow> = shown
        .map(|provider| PickerRow {
            key: provider.name.clone(),
            text: provider.name.clone(),
            detail: provider.key.as_ref().map_or_else(String::new, |key| format!("key from {key}")),
            current: provider.key.is_some(),
            ..PickerRow::default()
        })
        .collect();
    state.stack.composer.known_mut().providers = Some(providers);
    if rows.is_empty() {
        state.info("there is no stored key");
        return;
    }
    state.pick(title, rows, PickerAbilities::default(), purpose);
}

fn trust(state: &mut State, trusted: Trusted) {
    let Trusted { project, granted, items, digest } = trusted;
    if items.is_empty() {
        state.info(format!("{project} brings nothing that would have to be trusted"));
        return;
    }
    let list = items.iter().map(|item| format!("- {item}")).collect::<Vec<_>>().join("\n");
    if granted {
        state.show_page(
            "Trusted",
            format!("{project} is trusted as it is now, with exactly this:\n\n{list}\n"),
        );
        return;
    }
    let question = Question {
        owner: None,
        wanted: AnswerKind::Confirm,
        title: format!("Trust {project}?"),
        message: items.join("\n"),
        call: None,
        grants: true,
        within: None,
        default: None,
    };
    state.ask_person(question, AnswerUse::Grant { digest });
}

fn granted(state: &mut State, outcome: Result<String, CommandFailure>) {
    let granted = outcome.is_ok();
    told(state, outcome);
    if granted {
        state.out.ask(BackendRequest::Branch);
        state.out.ask(BackendRequest::Themes);
        let question = Question {
            owner: None,
            wanted: AnswerKind::Confirm,
            title: "Begin a new session?".to_owned(),
            message: "What is trusted counts for sessions that begin from now on.".to_owned(),
            call: None,
            grants: false,
            within: None,
            default: None,
        };
        state.ask_person(question, AnswerUse::NewSession);
    }
}

fn settings_rows(state: &mut State, rows: Vec<SettingRow>) {
    let Some(Coming::Settings(one)) = state.coming.take() else { return };
    let Some(name) = one else {
        let shown = rows.iter().map(setting_row).collect();
        state.pick("Settings", shown, PickerAbilities::default(), ChoiceUse::Settings(rows));
        return;
    };
    match rows.iter().find(|row| row.name == name) {
        Some(row) => pick::pick_value(state, row),
        None => state.error(format!("there is no setting {name}; /settings shows them all")),
    }
}

fn setting(state: &mut State, row: &SettingRow) {
    state.info(format!("{} = {} ({})", row.name, row.value, row.origin));
    apply(state, &row.name, &row.value);
}

/// A setting of the interface counts at once, where it can.
fn apply(state: &mut State, name: &str, value: &str) {
    let thinking = state.settings.thinking();
    match state.settings.set(name, value) {
        Ok(true) => {}
        Ok(false) => return,
        Err(error) => return state.error(error.to_string()),
    }
    match name {
        settings::THEME => {
            state.themes.choose(value);
        }
        settings::APPROVE => {
            state.greet();
            state.stack.composer.known_mut().approved.clear();
            approve::check_approve(state);
        }
        settings::THINKING if thinking != state.settings.thinking() => {
            state.stack.conversation.transcript_mut().toggle_thinking()
        }
        _ => {}
    }
    if settings::AT_START.contains(&name) {
        state.info("it counts from the next start on");
    }
}
