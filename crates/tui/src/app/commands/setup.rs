//! Commands that configure the agent and the interface: `/model`, `/thinking`, `/tools`, `/ext`, `/theme`, …

use haft_protocol::ids::ExtensionName;
use haft_protocol::rpc::{
    ExtensionInfo, GetModels, GetTools, ListExtensions, ListJobs, ReloadExt, SetModel, SetThinking,
    ShortcutInfo, StatusItem,
};
use haft_protocol::thinking::ThinkingLevel;

use super::super::intent::ChoiceUse;
use super::super::menu::PendingPicker;
use super::super::pending_request::{ListUse, PendingRequest};
use super::super::state::AppState;
use super::super::{BackendRequest, settings as table};
use crate::picker::{PickerAbilities, PickerRow};

pub(super) fn model(state: &mut AppState, args: &str) {
    match args {
        "" => state.out.send(GetModels { all: Some(true) }, PendingRequest::Models(ListUse::Picker)),
        // A name with a provider is used even if the model is unknown.
        whole if whole.contains('/') => set_model(state, whole),
        name if state.stack.composer.completions().models.is_some() => choose_model(state, name),
        name => state
            .out
            .send(GetModels { all: Some(true) }, PendingRequest::Models(ListUse::One(name.to_owned()))),
    }
}

pub(super) fn thinking(state: &mut AppState, args: &str) {
    if args.is_empty() {
        // The default of the provider is offered in addition to the levels of the model.
        let own = supported_levels(state).into_iter().filter(|level| *level != ThinkingLevel::Default);
        let rows = std::iter::once(ThinkingLevel::Default).chain(own).map(|level| PickerRow {
            key: level.name().to_owned(),
            text: level.name().to_owned(),
            detail: if level == ThinkingLevel::Default {
                "the default of the provider".to_owned()
            } else {
                String::new()
            },
            current: level == state.session.thinking,
            ..PickerRow::default()
        });
        let rows = rows.collect();
        state.open_menu("Thinking", rows, PickerAbilities::default(), ChoiceUse::Thinking);
        return;
    }
    match args.parse::<ThinkingLevel>() {
        Ok(level) => set_thinking(state, level),
        Err(error) => state.show_error(error.to_string()),
    }
}

pub(super) fn tools(state: &mut AppState, args: &str) {
    let shown = if args.is_empty() { ListUse::Picker } else { ListUse::One(args.to_owned()) };
    state.out.send(GetTools {}, PendingRequest::Tools(shown));
}

pub(super) fn extensions(state: &mut AppState, args: &str) {
    let shown = if args.is_empty() { ListUse::Picker } else { ListUse::One(args.to_owned()) };
    state.out.send(ListExtensions {}, PendingRequest::Extensions(shown));
}

pub(super) fn list_jobs(state: &mut AppState, _args: &str) {
    state.out.send(ListJobs {}, PendingRequest::Jobs(ListUse::Picker));
}

pub(super) fn reload(state: &mut AppState, args: &str) {
    if state.work.is_active() {
        state.show_info("stopping the agent before the reload");
        state.abort();
    }
    let name = Some(args).filter(|args| !args.is_empty()).map(ExtensionName::new);
    // The reply to `abort` comes before the end of the work, which may still need an extension. The reload is therefore
    // sent after the agent has become idle.
    state.pending_reload = Some(ReloadExt { name });
}

pub(super) fn skills(state: &mut AppState, _args: &str) {
    let rows: Vec<PickerRow> = state
        .stack
        .composer
        .completions()
        .skills()
        .map(|info| PickerRow {
            key: info.name.clone(),
            text: info.name.strip_prefix("skill:").unwrap_or(&info.name).to_owned(),
            detail: info.description.clone(),
            ..PickerRow::default()
        })
        .collect();
    match rows.is_empty() {
        true => state.show_info("no skills found"),
        false => state.open_menu("Skills", rows, PickerAbilities::default(), ChoiceUse::Skills),
    }
}

pub(super) fn settings(state: &mut AppState, args: &str) {
    let one = Some(args).filter(|args| !args.is_empty()).map(str::to_owned);
    state.pending_picker = Some(PendingPicker::Settings(one));
    state.out.ask_backend(BackendRequest::Settings);
}

pub(super) fn theme(state: &mut AppState, args: &str) {
    if args.is_empty() {
        let rows = state.themes.names().into_iter().map(|name| PickerRow {
            key: name.clone(),
            current: name == state.themes.chosen_name(),
            text: name,
            ..PickerRow::default()
        });
        let rows = rows.collect();
        state.open_menu("Theme", rows, PickerAbilities::default(), ChoiceUse::Theme);
        return;
    }
    if !state.themes.names().iter().any(|name| name == args) {
        state.show_error(format!("unknown theme {args}; /theme lists all themes"));
        return;
    }
    state.themes.choose(args);
    state.out.ask_backend(BackendRequest::Set { name: table::THEME.to_owned(), value: args.to_owned() });
}

/// The maximum number of suggestions for an unknown name.
const NEAREST: usize = 3;

/// The minimum similarity, from 0 to 1, of a suggested name.
const ALIKE: f64 = 0.7;

pub(in crate::app) fn set_model(state: &mut AppState, model: &str) {
    state.out.send(SetModel { model: model.to_owned() }, PendingRequest::Model);
}

/// Switches to the model with that ID. If the models of the provider are known, an unknown name is an error.
pub(in crate::app) fn choose_model(state: &mut AppState, name: &str) {
    let (provider, models) =
        (&state.session.provider, state.stack.composer.completions().models.as_deref().unwrap_or_default());
    let known = models.iter().filter(|model| model.provider == *provider).count();
    // The list always includes the present model, so that a list of one proves nothing.
    if known < 2 || models.iter().any(|model| model.id == name) {
        return set_model(state, name);
    }
    let likeness = |id: &str| strsim::jaro_winkler(id, name);
    let mut alike: Vec<_> = models.iter().filter(|model| likeness(&model.id) >= ALIKE).collect();
    // Models of other providers are suggested only if the present provider has no similar one.
    if alike.iter().any(|model| model.provider == *provider) {
        alike.retain(|model| model.provider == *provider);
    }
    alike.sort_by(|a, b| likeness(&b.id).total_cmp(&likeness(&a.id)));
    let alike: Vec<_> =
        alike.iter().take(NEAREST).map(|model| format!("{}/{}", model.provider, model.id)).collect();
    let suggestion = match alike.join(", ") {
        nearest if nearest.is_empty() => "/model lists all models;".to_owned(),
        nearest => format!("did you mean {nearest}?"),
    };
    state.show_error(format!(
        "{name} is not among the {known} known models of {provider}; {suggestion} /model {provider}/{name} uses the \
         name anyway"
    ));
}

/// Returns the thinking levels of the model, or all levels if they are unknown.
fn supported_levels(state: &AppState) -> Vec<ThinkingLevel> {
    let (provider, id) = (&state.session.provider, &state.session.model);
    let models = state.stack.composer.completions().models.as_deref().unwrap_or_default();
    let model = models.iter().find(|model| (&model.provider, &model.id) == (provider, id));
    let levels = model.and_then(|model| model.thinking.clone()).filter(|levels| !levels.is_empty());
    levels.unwrap_or_else(|| ThinkingLevel::ALL.to_vec())
}

/// Switches to the next thinking level, and from the last one to the first.
pub(in crate::app) fn next_thinking(state: &mut AppState) {
    let levels = supported_levels(state);
    // The requested level counts, because the model may use a nearer one, which would block the cycle.
    let now = state.session.wanted_thinking.unwrap_or(state.session.thinking);
    let at = levels.iter().position(|level| *level == now).map_or(0, |at| at + 1);
    if let Some(level) = levels.get(at).or(levels.first()) {
        set_thinking(state, *level);
    }
}

fn set_thinking(state: &mut AppState, level: ThinkingLevel) {
    state.session.wanted_thinking = Some(level);
    state.out.send(SetThinking { level }, PendingRequest::Thinking);
}

pub(in crate::app) fn show_extension(state: &mut AppState, name: &str) {
    let known = state.session.extensions.iter().find(|info| info.name.as_str() == name);
    match known.map(extension_page) {
        Some(text) => state.show_page(&format!("Extension {name}"), text),
        None => state.show_error(format!("unknown extension {name}; /ext lists all extensions")),
    }
}

/// Returns the text of an extension's items in the status line.
fn status_items_text(items: &[StatusItem]) -> Option<String> {
    let text = items.iter().map(|item| format!("{}: {}", item.key, item.text)).collect::<Vec<_>>().join("; ");
    Some(text).filter(|text| !text.is_empty())
}

/// Returns the keys of an extension with their descriptions.
fn shortcuts_text(shortcuts: &[ShortcutInfo]) -> Option<String> {
    let text = shortcuts.iter().map(|shortcut| match shortcut.description.as_str() {
        "" => format!("`{}`", shortcut.key),
        about => format!("`{}` {about}", shortcut.key),
    });
    Some(text.collect::<Vec<_>>().join("; ")).filter(|text| !text.is_empty())
}

fn extension_page(info: &ExtensionInfo) -> String {
    let state = if info.gates_off {
        format!("{}, gates off: haft does not ask the extension about any action", info.state)
    } else {
        info.state.clone()
    };
    let fault = info.fault.as_ref().map(|fault| format!("{} ({})", fault.message, fault.code));
    let named = |names: &[String], mark: &str| {
        let names = names.iter().map(|name| format!("`{mark}{name}`")).collect::<Vec<_>>().join(", ");
        Some(names).filter(|names| !names.is_empty())
    };
    let rows = [
        ("description", info.description.clone()),
        ("version", info.version.clone()),
        ("state", Some(state)),
        ("failed", fault),
        ("status", status_items_text(&info.status)),
        ("commands", named(&info.commands, "/")),
        ("tools", named(&info.tools, "")),
        ("keys", shortcuts_text(&info.shortcuts)),
        (
            "required",
            info.required
                .then(|| "yes; while it does not run, the actions that it gates are blocked".to_owned()),
        ),
        ("source", Some(format!("{} in `{}`", info.origin, info.dir))),
        ("log", info.log.as_ref().map(|log| format!("`{log}`"))),
    ];
    let rows = rows.into_iter().filter_map(|(label, value)| Some((label, value?.replace(['|', '\n'], " "))));
    let rows = rows.map(|(label, value)| format!("| {label} | {value} |\n")).collect::<String>();
    format!("| | |\n|---|---|\n{rows}\n`/reload-ext {}` restarts the extension.\n", info.name)
}
