//! Replies of the backend.

use super::super::commands::{self, login, show};
use super::super::view::inline_view;
use super::{approve, events, input, pick, prompt, shell};
use haft_protocol::content::written_text;
use haft_protocol::message::Message;
use haft_protocol::rpc::CommandFailure;

use super::super::conversation::DeferredUpdate;
use super::super::intent::{AnswerUse, ChoiceUse};
use super::super::menu::{PendingPicker, setting_row};
use super::super::pending_request::{ListUse, PendingRequest};
use super::super::state::AppState;
use super::super::{
    BackendReply, BackendRequest, LoginProvider, SavedKey, SettingRow, TrustReview, settings,
};
use crate::dialog::{AnswerKind, Question};
use crate::picker::{PickerAbilities, PickerRow};
use haft_protocol::rpc::ListSessions;

/// Returns the first prompt, which serves as the title of a conversation without a name.
fn first_prompt_text(messages: &[Message]) -> String {
    let first = messages.iter().find_map(|message| match message {
        Message::User { content, .. } => Some(written_text(content)),
        Message::Assistant(_) | Message::Tool(_) => None,
    });
    first.unwrap_or_else(|| "new session".to_owned())
}

pub(super) fn handle_backend_reply(state: &mut AppState, reply: BackendReply) {
    match reply {
        BackendReply::Conversation(session, messages) => show_conversation(state, &session, messages),
        BackendReply::Files(files) => {
            if files.is_cut {
                let most = files.paths.len();
                state.flash(format!("{most} files are listed; type a directory to list it"));
            }
            state.stack.composer.set_files(files);
        }
        BackendReply::Directory(entries) => state.stack.composer.add_files(entries),
        BackendReply::Branch(branch) => state.status.set_branch(branch),
        BackendReply::History(Ok(text)) => {
            state.stack.composer.set_history(&text);
        }
        BackendReply::History(Err(failure)) => state.show_error(failure.error),
        BackendReply::Image(number, image) => prompt::handle_image(state, number, image),
        BackendReply::Clipboard(Ok(text)) => input::handle_paste(state, &text),
        BackendReply::Providers(providers) => show_providers(state, providers),
        BackendReply::Login(outcome) => handle_login(state, outcome),
        BackendReply::Logout(outcome) => {
            forget_providers(state);
            show_outcome(state, outcome);
        }
        BackendReply::ContextUse(Ok(used)) => show::show_context(state, &used),
        BackendReply::Diff(Ok(changes)) => show::show_diff(state, &changes),
        BackendReply::Usage(Ok(text)) => state.show_page("Usage", text),
        BackendReply::Demo(Ok(text)) => state.show_page("Demo", format!("```text\n{text}\n```\n")),
        BackendReply::Clipboard(Err(failure))
        | BackendReply::ContextUse(Err(failure))
        | BackendReply::Diff(Err(failure))
        | BackendReply::Usage(Err(failure))
        | BackendReply::Demo(Err(failure)) => state.show_error(failure.error),
        BackendReply::Export(Ok(path)) => state.show_info(format!("exported to {}", path.display())),
        BackendReply::Export(Err(failure)) => state.show_error(failure.error),
        BackendReply::Delete(Ok(_)) => {
            state.flash("session deleted");
            state.out.send(ListSessions {}, PendingRequest::Sessions(ListUse::CacheOnly));
        }
        BackendReply::Delete(Err(failure)) => state.show_error(failure.error),
        BackendReply::Rename(Ok((session, name))) => pick::show_new_name(state, &session, name),
        BackendReply::Rename(Err(failure)) => state.show_error(failure.error),
        BackendReply::Trust(Ok(review)) => show_trust_review(state, review),
        BackendReply::Trust(Err(failure)) => state.show_error(failure.error),
        BackendReply::Grant(outcome) => handle_grant(state, outcome),
        BackendReply::ShellOutput(number, text) => {
            state.stack.conversation.transcript_mut().shell_output(number, &text)
        }
        BackendReply::TerminalNeeded(number, command) => shell::offer_terminal(state, number, command),
        BackendReply::ShellEnd(number, outcome) => shell::finish_shell_command(state, number, outcome),
        BackendReply::Settings(rows) => show_settings(state, rows),
        BackendReply::Set(Ok(row)) => handle_changed_setting(state, &row),
        BackendReply::Set(Err(failure)) => state.show_error(failure.error),
        BackendReply::Themes(files) => set_themes(state, files),
    }
}

fn set_themes(state: &mut AppState, files: Vec<(String, String)>) {
    let problems = state.themes.set_files(files);
    state.stack.composer.completions_mut().themes = state.themes.names();
    let missing = state
        .themes
        .missing_name()
        .map(|name| format!("unknown theme {name} ({}); /theme lists all themes", settings::THEME));
    problems.into_iter().chain(missing).for_each(|problem| state.show_error(problem));
}

fn handle_login(state: &mut AppState, outcome: Result<SavedKey, CommandFailure>) {
    forget_providers(state);
    match outcome {
        Ok(SavedKey { message, model }) => {
            state.show_info(message);
            login::use_new_key(state, model.as_deref());
        }
        Err(failure) => state.show_error(failure.error),
    }
}

fn forget_providers(state: &mut AppState) {
    state.stack.composer.completions_mut().providers = None;
    state.stack.composer.completions_mut().models = None;
}

fn show_outcome(state: &mut AppState, outcome: Result<String, CommandFailure>) {
    match outcome {
        Ok(text) => state.show_info(text),
        Err(failure) => state.show_error(failure.error),
    }
}

fn show_conversation(
    state: &mut AppState,
    session: &str,
    messages: Result<std::sync::Arc<Vec<Message>>, CommandFailure>,
) {
    if state.out.session() != Some(session) {
        return;
    }
    match messages {
        Ok(messages) => {
            inline_view::flush_conversation(state);
            state.announce_conversation(&first_prompt_text(&messages));
            state.stack.conversation.restore(&messages);
        }
        Err(failure) => state.show_error(format!("cannot show the conversation: {failure}")),
    }
    show_deferred_updates(state);
    match state.awaits_session_choice {
        true => commands::run(state, "resume", ""),
        false => prompt::send_unsent(state),
    }
}

/// Shows the updates that were deferred until the conversation was loaded.
pub(super) fn show_deferred_updates(state: &mut AppState) {
    for deferred in state.stack.conversation.finish_loading() {
        match deferred {
            DeferredUpdate::Event(event) => events::show_event(state, &event),
            DeferredUpdate::Notice(notice) => state.stack.conversation.transcript_mut().push_local(notice),
        }
    }
}

fn show_providers(state: &mut AppState, providers: Vec<LoginProvider>) {
    match state.pending_picker.take() {
        Some(PendingPicker::Login) => login::show_login_menu(state, &providers),
        Some(PendingPicker::Logout) => show_stored_keys(state, &providers),
        other => {
            state.pending_picker = other;
            state.stack.composer.update_completions(|known| known.providers = Some(providers));
            return;
        }
    }
    state.stack.composer.completions_mut().providers = Some(providers);
}

fn show_stored_keys(state: &mut AppState, providers: &[LoginProvider]) {
    let stored = providers.iter().filter(|provider| provider.stored);
    let rows: Vec<PickerRow> = stored
        .map(|provider| PickerRow {
            key: provider.name.clone(),
            text: provider.name.clone(),
            detail: provider.key.as_ref().map_or_else(String::new, |key| format!("key from {key}")),
            current: true,
            ..PickerRow::default()
        })
        .collect();
    if rows.is_empty() {
        state.show_info("no saved API keys");
        return;
    }
    state.open_menu("Remove the API key of", rows, PickerAbilities::default(), ChoiceUse::Logout);
}

fn show_trust_review(state: &mut AppState, review: TrustReview) {
    let TrustReview { project, granted, items, digest } = review;
    if items.is_empty() {
        state.show_info(format!("{project} contains nothing that requires trust"));
        return;
    }
    let list = items.iter().map(|item| format!("- {item}")).collect::<Vec<_>>().join("\n");
    if granted {
        state.show_page(
            "Trusted",
            format!("{project} is trusted in its present state, with exactly these items:\n\n{list}\n"),
        );
        return;
    }
    let question = Question {
        grants: true,
        ..Question::from_haft(AnswerKind::Confirm, format!("Trust {project}?"), items.join("\n"))
    };
    state.open_dialog(question, AnswerUse::Grant { digest });
}

fn handle_grant(state: &mut AppState, outcome: Result<String, CommandFailure>) {
    let granted = outcome.is_ok();
    show_outcome(state, outcome);
    if granted {
        state.is_trusted = true;
        state.out.ask_backend(BackendRequest::Branch);
        state.out.ask_backend(BackendRequest::Themes);
        let question = Question::from_haft(
            AnswerKind::Confirm,
            "Start a new session?".to_owned(),
            "Only sessions that start from now on use the trusted items.".to_owned(),
        );
        state.open_dialog(question, AnswerUse::NewSession);
    }
}

fn show_settings(state: &mut AppState, rows: Vec<SettingRow>) {
    let Some(PendingPicker::Settings(one)) = state.pending_picker.take() else { return };
    let Some(name) = one else {
        let shown = rows.iter().map(setting_row).collect();
        state.open_menu("Settings", shown, PickerAbilities::default(), ChoiceUse::Settings(rows));
        return;
    };
    match rows.iter().find(|row| row.name == name) {
        Some(row) => pick::edit_setting(state, row),
        None => state.show_error(format!("unknown setting {name}; /settings lists all settings")),
    }
}

fn handle_changed_setting(state: &mut AppState, row: &SettingRow) {
    state.show_info(format!("{} = {} ({})", row.name, row.value, row.origin));
    apply_setting(state, &row.name, &row.value);
}

/// The settings of haft's tools, which a running haft keeps.
const TOOL_SETTINGS: &str = "tools.";

fn takes_effect_later(name: &str) -> String {
    format!("{name} takes effect when haft starts again")
}

/// Applies a changed setting of the interface immediately, if possible.
fn apply_setting(state: &mut AppState, name: &str, value: &str) {
    let thinking = state.settings.shows_thinking();
    match state.settings.set(name, value) {
        Ok(true) => {}
        Ok(false) => {
            if name.starts_with(TOOL_SETTINGS) {
                state.show_info(takes_effect_later(name));
            }
            return;
        }
        Err(error) => return state.show_error(error.to_string()),
    }
    match name {
        settings::THEME => {
            state.themes.choose(value);
        }
        settings::APPROVE => {
            state.send_hello();
            state.stack.composer.completions_mut().approved.clear();
            approve::request_tools_to_verify(state);
        }
        settings::THINKING if thinking != state.settings.shows_thinking() => {
            state.stack.conversation.transcript_mut().toggle_thinking()
        }
        _ => {}
    }
    if settings::AT_START.contains(&name) {
        state.show_info(takes_effect_later(name));
    }
}
