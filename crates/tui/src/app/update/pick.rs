//! Pickers: their rows, and the actions of the selected rows.

use super::super::commands;
use super::super::commands::login;
use super::super::commands::sessions;
use super::super::commands::setup;
use haft_protocol::rpc::{
    EntryInfo, JobInfo, ModelInfo, ModelPrices, MoveTo, SetModel, SetName, SetTools, StopJob, TreeData,
};
use haft_protocol::thinking::ThinkingLevel;

use super::super::intent::{AnswerUse, ChoiceUse};
use super::super::menu::{session_rows, tool_row, tree_rows};
use super::super::pending_request::PendingRequest;
use super::super::state::AppState;
use super::super::{BackendRequest, SettingRow, settings};
use crate::dialog::{AnswerKind, Question};
use crate::humanize::format_seconds;
use crate::picker::{PickerAbilities, PickerRow};
use crate::timeouts;

pub(super) fn handle_menu_closed(state: &mut AppState, purpose: &ChoiceUse) {
    state.themes.end_preview();
    if matches!(purpose, ChoiceUse::Session(_)) {
        sessions::finish_session_choice(state);
    }
}

/// Renames a session: an open one through the agent, a stored one through the backend.
pub(super) fn rename_session(state: &mut AppState, session: String, name: String, is_open: bool) {
    let shown = state.out.is_current_session(&session);
    if !is_open && !shown {
        state.out.ask_backend(BackendRequest::Rename { session, name });
        return;
    }
    let given = Some(name.clone()).filter(|name| !name.is_empty());
    let pending = if shown { PendingRequest::Renamed(given.clone()) } else { PendingRequest::ErrorsOnly };
    state.out.send_to(SetName { name }, Some(session.clone()), pending);
    show_new_name(state, &session, given);
}

pub(super) fn show_new_name(state: &mut AppState, session: &str, name: Option<String>) {
    if let Some(menu) = &mut state.stack.menu {
        menu.rename_session(session, name.as_deref(), state.out.session(), (state.clock)());
    }
}

pub(super) fn apply_choice(state: &mut AppState, purpose: ChoiceUse, key: &str) {
    match purpose {
        ChoiceUse::Model => choose_model(state, key),
        ChoiceUse::Thinking => commands::run(state, "thinking", key),
        ChoiceUse::Session(_) => commands::run(state, "resume", key),
        ChoiceUse::Tree(entries) => move_to(state, &entries, key),
        ChoiceUse::Tools => toggle_tool(state, key),
        ChoiceUse::Extensions => pick_extension_action(state, key),
        ChoiceUse::Extension(name) if key == "show" => setup::show_extension(state, &name),
        ChoiceUse::Extension(name) => commands::run(state, "reload-ext", &name),
        ChoiceUse::Jobs => stop_job(state, key),
        ChoiceUse::Skills => state.stack.composer.set_text(&format!("/{key} ")),
        ChoiceUse::Settings(rows) => {
            if let Some(row) = rows.iter().find(|row| row.name == key) {
                edit_setting(state, row);
            }
        }
        ChoiceUse::Value(name) => state.out.ask_backend(BackendRequest::Set { name, value: key.to_owned() }),
        ChoiceUse::Theme => {
            state.themes.choose(key);
            state
                .out
                .ask_backend(BackendRequest::Set { name: settings::THEME.to_owned(), value: key.to_owned() });
        }
        ChoiceUse::Login => login::apply_login_choice(state, key),
        ChoiceUse::Logout => commands::run(state, "logout", key),
    }
}

/// The key of the row that shows the models without a key. No provider has an empty name.
const ALL_MODELS: &str = "/all";

/// Shows the models that can be used, and the others on request.
pub(super) fn pick_model(state: &mut AppState, all: bool) {
    let models = state.stack.composer.completions().models.as_deref().unwrap_or_default();
    let (shown, others): (Vec<_>, Vec<_>) = models.iter().partition(|model| all || model.is_available());
    let mut rows: Vec<PickerRow> = shown
        .into_iter()
        .map(|model| PickerRow {
            key: format!("{}/{}", model.provider, model.id),
            text: model.id.clone(),
            detail: model_detail(model),
            current: (&model.provider, &model.id) == (&state.session.provider, &state.session.model),
            group: model.provider.clone(),
            ..PickerRow::default()
        })
        .collect();
    if !others.is_empty() {
        rows.push(PickerRow {
            key: ALL_MODELS.to_owned(),
            text: "more models".to_owned(),
            detail: format!("{} of providers without a key", others.len()),
            ..PickerRow::default()
        });
    }
    state.open_menu("Model", rows, PickerAbilities::default(), ChoiceUse::Model);
}

/// Returns the name, the window, the price and the thinking levels of a model.
fn model_detail(model: &ModelInfo) -> String {
    let window = match model.context_window {
        0 => String::new(),
        window if window % 1_000_000 == 0 => format!("{}M", window / 1_000_000),
        window => format!("{}k", window / 1000),
    };
    let missing = if model.is_available() { "" } else { "no key" };
    let price = model.prices.map(|ModelPrices { input, output }| format!("${input}/${output} per M"));
    let thinking = model.thinking.as_deref().and_then(|levels| match levels {
        [] | [ThinkingLevel::Off] => None,
        [only] => Some(format!("thinking {}", only.name())),
        [first, .., last] => Some(format!("thinking {}–{}", first.name(), last.name())),
    });
    let parts = [missing.to_owned(), model.name.clone().unwrap_or_default(), window];
    let parts = parts.into_iter().chain(price).chain(thinking).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(" · ")
}

/// Uses the chosen model. Without a key for its provider, the key is asked for first.
fn choose_model(state: &mut AppState, key: &str) {
    if key == ALL_MODELS {
        return pick_model(state, true);
    }
    let models = state.stack.composer.completions().models.as_deref().unwrap_or_default();
    let chosen = models.iter().find(|model| format!("{}/{}", model.provider, model.id) == key);
    match chosen.filter(|model| !model.is_available()).map(|model| model.provider.clone()) {
        Some(provider) => commands::run(state, "login", &provider),
        None => state.out.send(SetModel { model: key.to_owned() }, PendingRequest::Model),
    }
}

pub(super) fn pick_session(state: &mut AppState) {
    let sessions = state.stack.composer.completions().sessions.clone().unwrap_or_default();
    let shown = state.out.session();
    let Some(other) = sessions.iter().find(|info| Some(info.session.as_str()) != shown) else {
        state.show_info("no other sessions in this directory");
        return sessions::finish_session_choice(state);
    };
    let other = other.session.clone();
    let rows = session_rows(&sessions, shown, (state.clock)());
    let can = PickerAbilities { rename: true, delete: true };
    state.open_menu("Sessions", rows, can, ChoiceUse::Session(sessions));
    if let Some(menu) = &mut state.stack.menu {
        menu.select_row(&other);
    }
}

/// Updates the rows of an open session picker.
pub(super) fn refresh_sessions(state: &mut AppState) {
    if let (Some(now), Some(menu)) = (&state.stack.composer.completions().sessions, &mut state.stack.menu) {
        menu.update_sessions(now, state.out.session(), (state.clock)());
    }
}

pub(super) fn pick_entry(state: &mut AppState, tree: TreeData) {
    let rows = tree_rows(&tree);
    if rows.is_empty() {
        state.show_info("the session has no messages yet");
        return;
    }
    state.open_menu("Jump back to", rows, PickerAbilities::default(), ChoiceUse::Tree(tree.entries));
}

/// Moves the session to an entry. The text of a user message is moved back into the composer.
fn move_to(state: &mut AppState, entries: &[EntryInfo], key: &str) {
    let Some(entry) = entries.iter().find(|entry| entry.id == key) else { return };
    let before = (entry.role.as_deref() == Some("user")).then_some(true);
    state
        .out
        .send(MoveTo { entry: Some(entry.id.clone()), before, ..MoveTo::default() }, PendingRequest::Moved);
}

pub(super) fn pick_tools(state: &mut AppState) {
    let tools = state.stack.composer.completions().tools.as_deref().unwrap_or_default();
    let rows = tools.iter().map(tool_row).collect();
    state.open_menu(
        "Tools: enter turns a tool on or off",
        rows,
        PickerAbilities::default(),
        ChoiceUse::Tools,
    );
}

pub(super) fn refresh_tools(state: &mut AppState) {
    let tools = state.stack.composer.completions().tools.as_deref().unwrap_or_default();
    if state.stack.menu.as_mut().is_some_and(|menu| menu.update_tools(tools)) {
        state.linear.list_changed();
        return;
    }
    let active = tools.iter().filter(|tool| tool.active).map(|tool| tool.name.as_str());
    let active = active.collect::<Vec<_>>().join(", ");
    state.show_info(format!("tools offered to the model: {active}"));
}

/// Turns a tool on or off for the model.
pub(super) fn toggle_tool(state: &mut AppState, name: &str) {
    let tools = state.stack.composer.completions().tools.as_deref().unwrap_or_default();
    if !tools.iter().any(|tool| tool.name == name) {
        state.show_error(format!("unknown tool {name}; /tools lists all tools"));
        return;
    }
    let offered = tools.iter().filter(|tool| tool.active != (tool.name == name));
    let offered = offered.map(|tool| tool.name.clone()).collect();
    state.out.send(SetTools { tools: Some(offered) }, PendingRequest::SetTools);
}

pub(super) fn pick_extension(state: &mut AppState) {
    let rows: Vec<PickerRow> = state
        .session
        .extensions
        .iter()
        .map(|info| PickerRow {
            key: info.name.to_string(),
            text: info.name.to_string(),
            detail: [
                info.state.as_str(),
                info.version.as_deref().unwrap_or_default(),
                info.description.as_deref().unwrap_or_default(),
            ]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(" · "),
            group: info.origin.clone(),
            ..PickerRow::default()
        })
        .collect();
    if rows.is_empty() {
        state.show_info("no extensions found");
        return;
    }
    state.open_menu("Extensions", rows, PickerAbilities::default(), ChoiceUse::Extensions);
}

pub(super) fn pick_job(state: &mut AppState) {
    let row = |job: &JobInfo| {
        let time = format_seconds(job.took_ms / 1000);
        let state = job.end.as_deref().unwrap_or("running");
        PickerRow {
            key: job.job.to_string(),
            text: job.command.lines().next().unwrap_or_default().to_owned(),
            detail: format!("{state} · {time}"),
            current: job.end.is_none(),
            ..PickerRow::default()
        }
    };
    let rows: Vec<PickerRow> = state.session.jobs.iter().map(row).collect();
    if rows.is_empty() {
        state.show_info("no background commands");
        return;
    }
    let title = "Background commands: enter stops one";
    state.open_menu(title, rows, PickerAbilities::default(), ChoiceUse::Jobs);
}

fn stop_job(state: &mut AppState, key: &str) {
    let Some(job) = state.session.jobs.iter().find(|job| job.job.to_string() == key) else { return };
    match &job.end {
        None => {
            state.out.send(StopJob { job: job.job }, PendingRequest::ErrorsOnly);
            state.jobs_refresh_at = Some(state.now + timeouts::JOBS_AGAIN);
        }
        Some(end) => state.show_info(format!("job {key} has already ended: {end}")),
    }
}

fn pick_extension_action(state: &mut AppState, name: &str) {
    let row = |key: &str, text: &str| PickerRow {
        key: key.to_owned(),
        text: text.to_owned(),
        ..PickerRow::default()
    };
    let rows =
        vec![row("reload", "Restart the extension"), row("show", "Show the state, commands and tools")];
    state.open_menu(name, rows, PickerAbilities::default(), ChoiceUse::Extension(name.to_owned()));
}

pub(super) fn edit_setting(state: &mut AppState, row: &SettingRow) {
    if row.name == settings::THEME {
        commands::run(state, "theme", "");
    } else if row.choices.is_empty() {
        let question = Question::from_haft(
            AnswerKind::Input { secret: false },
            row.name.clone(),
            format!("Current value: {} ({}). {}", row.value, row.origin, row.about),
        );
        state.open_dialog(question, AnswerUse::Setting { name: row.name.clone() });
    } else {
        let rows = row.choices.iter().cloned().map(|choice| PickerRow {
            key: choice.clone(),
            current: choice == row.value,
            text: choice,
            ..PickerRow::default()
        });
        let rows = rows.collect();
        state.open_menu(&row.name, rows, PickerAbilities::default(), ChoiceUse::Value(row.name.clone()));
    }
}
