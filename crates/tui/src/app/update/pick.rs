//! Lists to pick from: what is in them, and what becomes of what is picked.

use super::super::commands;
use super::super::commands::sessions;
use super::super::commands::setup;
use haft_protocol::rpc::{EntryInfo, MoveTo, SetModel, SetName, SetTools, TreeData};

use super::super::intent::{AnswerUse, ChoiceUse};
use super::super::menu::{session_rows, tool_row, tree_rows};
use super::super::pending::Pending;
use super::super::state::State;
use super::super::{BackendRequest, SettingRow, settings};
use crate::dialog::{Question, AnswerKind};
use crate::picker::{PickerAbilities, PickerRow};

pub(super) fn menu_closed(state: &mut State, purpose: &ChoiceUse) {
    state.themes.end_preview();
    if matches!(purpose, ChoiceUse::Session(_)) {
        sessions::picked_session(state);
    }
}

/// Whoever has a session open names it: haft here, or the program on the disk.
pub(super) fn rename(state: &mut State, session: String, name: String, is_open: bool) {
    let shown = state.out.shows(&session);
    if !is_open && !shown {
        state.out.ask(BackendRequest::Rename { session, name });
        return;
    }
    let given = Some(name.clone()).filter(|name| !name.is_empty());
    let pending = if shown { Pending::Named(given.clone()) } else { Pending::Quiet };
    state.out.send_to(SetName { name }, Some(session.clone()), pending);
    renamed(state, &session, given);
}

pub(super) fn renamed(state: &mut State, session: &str, name: Option<String>) {
    if let Some(menu) = &mut state.stack.menu {
        menu.renamed(session, name.as_deref(), state.out.session());
    }
}

pub(super) fn picked(state: &mut State, purpose: ChoiceUse, key: &str) {
    match purpose {
        ChoiceUse::Model => state.out.send(SetModel { model: key.to_owned() }, Pending::Model),
        ChoiceUse::Thinking => commands::run(state, "thinking", key),
        ChoiceUse::Session(_) => commands::run(state, "resume", key),
        ChoiceUse::Tree(entries) => move_to(state, &entries, key),
        ChoiceUse::Tools => toggle_tool(state, key),
        ChoiceUse::Extensions => pick_what(state, key),
        ChoiceUse::Extension(name) if key == "show" => setup::show_extension(state, &name),
        ChoiceUse::Extension(name) => commands::run(state, "reload-ext", &name),
        ChoiceUse::Skills => state.stack.composer.write(&format!("/{key} ")),
        ChoiceUse::Settings(rows) => {
            if let Some(row) = rows.iter().find(|row| row.name == key) {
                pick_value(state, row);
            }
        }
        ChoiceUse::Value(name) => state.out.ask(BackendRequest::Set { name, value: key.to_owned() }),
        ChoiceUse::Theme => {
            state.themes.choose(key);
            state.out.ask(BackendRequest::Set { name: settings::THEME.to_owned(), value: key.to_owned() });
        }
        ChoiceUse::Login => commands::run(state, "login", key),
        ChoiceUse::Logout => commands::run(state, "logout", key),
    }
}

pub(super) fn pick_model(state: &mut State) {
    let models = state.stack.composer.known().models.as_deref().unwrap_or_default();
    let rows = models.iter().map(|model| {
        let window = match model.context_window {
            0 => String::new(),
            window => format!("{}k", window / 1000),
        };
        let name = model.name.clone().unwrap_or_default();
        let parts = [name, window].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>();
        PickerRow {
            key: format!("{}/{}", model.provider, model.id),
            text: model.id.clone(),
            detail: parts.join(" · "),
            current: (&model.provider, &model.id) == (&state.session.provider, &state.session.model),
            group: model.provider.clone(),
            ..PickerRow::default()
        }
    });
    let rows = rows.collect();
    state.pick("Model", rows, PickerAbilities::default(), ChoiceUse::Model);
}

pub(super) fn pick_session(state: &mut State) {
    let sessions = state.stack.composer.known().sessions.clone().unwrap_or_default();
    let shown = state.out.session();
    let Some(other) = sessions.iter().find(|info| Some(info.session.as_str()) != shown) else {
        state.info("there is no other session in this directory");
        return sessions::picked_session(state);
    };
    let other = other.session.clone();
    let rows = session_rows(&sessions, shown);
    let can = PickerAbilities { rename: true, delete: true };
    state.pick("Sessions", rows, can, ChoiceUse::Session(sessions));
    if let Some(menu) = &mut state.stack.menu {
        menu.choose(&other);
    }
}

/// The list of sessions that is open shows those there are.
pub(super) fn refresh_sessions(state: &mut State) {
    if let (Some(now), Some(menu)) = (&state.stack.composer.known().sessions, &mut state.stack.menu) {
        menu.show_sessions(now, state.out.session());
    }
}

pub(super) fn pick_entry(state: &mut State, tree: TreeData) {
    let rows = tree_rows(&tree);
    if rows.is_empty() {
        state.info("nothing was said yet");
        return;
    }
    state.pick("Go on from", rows, PickerAbilities::default(), ChoiceUse::Tree(tree.entries));
}

/// Goes on from an entry; what the person said there is to be said anew.
fn move_to(state: &mut State, entries: &[EntryInfo], key: &str) {
    let Some(entry) = entries.iter().find(|entry| entry.id == key) else { return };
    let before = (entry.role.as_deref() == Some("user")).then_some(true);
    state.out.send(MoveTo { entry: Some(entry.id.clone()), before }, Pending::Moved);
}

pub(super) fn pick_tools(state: &mut State) {
    let tools = state.stack.composer.known().tools.as_deref().unwrap_or_default();
    let rows = tools.iter().map(tool_row).collect();
    state.pick("Tools: enter offers one to the model, or does not", rows, PickerAbilities::default(), ChoiceUse::Tools);
}

pub(super) fn refresh_tools(state: &mut State) {
    let tools = state.stack.composer.known().tools.as_deref().unwrap_or_default();
    if state.stack.menu.as_mut().is_some_and(|menu| menu.show_tools(tools)) {
        state.lines.list_changed();
        return;
    }
    let active = tools.iter().filter(|tool| tool.active).map(|tool| tool.name.as_str());
    let active = active.collect::<Vec<_>>().join(", ");
    state.info(format!("the model is offered: {active}"));
}

/// Offers a tool, or does not any more.
pub(super) fn toggle_tool(state: &mut State, name: &str) {
    let tools = state.stack.composer.known().tools.as_deref().unwrap_or_default();
    if !tools.iter().any(|tool| tool.name == name) {
        state.error(format!("there is no tool {name}; /tools shows them all"));
        return;
    }
    let offered = tools.iter().filter(|tool| tool.active != (tool.name == name));
    let offered = offered.map(|tool| tool.name.clone()).collect();
    state.out.send(SetTools { tools: Some(offered) }, Pending::SetTools);
}

pub(super) fn pick_extension(state: &mut State) {
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
        state.info("there are no extensions");
        return;
    }
    state.pick("Extensions", rows, PickerAbilities::default(), ChoiceUse::Extensions);
}

fn pick_what(state: &mut State, name: &str) {
    let row = |key: &str, text: &str| PickerRow { key: key.to_owned(), text: text.to_owned(), ..PickerRow::default() };
    let rows = vec![row("reload", "Start it again"), row("show", "Show how it is, and what it brings")];
    state.pick(name, rows, PickerAbilities::default(), ChoiceUse::Extension(name.to_owned()));
}

pub(super) fn pick_value(state: &mut State, row: &SettingRow) {
    if row.name == settings::THEME {
        commands::run(state, "theme", "");
    } else if row.choices.is_empty() {
        let question = Question {
            owner: None,
            wanted: AnswerKind::Input { secret: false },
            title: row.name.clone(),
            message: format!("It is {} ({}). {}", row.value, row.origin, row.about),
            call: None,
            grants: false,
            within: None,
            default: None,
        };
        state.ask_person(question, AnswerUse::Setting { name: row.name.clone() });
    } else {
        let rows = row.choices.iter().cloned().map(|choice| PickerRow {
            key: choice.clone(),
            current: choice == row.value,
            text: choice,
            ..PickerRow::default()
        });
        let rows = rows.collect();
        state.pick(&row.name, rows, PickerAbilities::default(), ChoiceUse::Value(row.name.clone()));
    }
}
