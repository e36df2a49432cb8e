//! The menu: a picker that covers the conversation, with the use of its choice.

use std::collections::BTreeMap;
use std::time::SystemTime;

use haft_core::age::age_of_stamp;
use haft_protocol::rpc::{SessionInfo, ToolInfo, TreeData};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use super::completion_catalog::session_description;
use super::component::{CLOSE, Component, InputContext, InputOutcome, LIST};
use super::intent::{ChoiceUse, ComponentIntent};
use super::outbox::Outbox;
use super::{BackendRequest, MouseAction, SettingRow};
use crate::draw_context::DrawContext;
use crate::keys::{Context, KeyPress};
use crate::picker::{Picker, PickerAbilities, PickerOutcome, PickerRow};

/// A picker with the use of its choice.
#[derive(Debug)]
pub(super) struct Menu {
    picker: Box<Picker>,
    purpose: ChoiceUse,
}

/// A picker that opens when the backend has replied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PendingPicker {
    Settings(Option<String>),
    Login,
    Logout,
}

pub(super) fn setting_row(row: &SettingRow) -> PickerRow {
    let origin = if row.origin.is_empty() { String::new() } else { format!(" ({})", row.origin) };
    let about = if row.about.is_empty() { String::new() } else { format!("  {}", row.about) };
    PickerRow {
        key: row.name.clone(),
        text: row.name.clone(),
        detail: format!("{}{origin}{about}", row.value),
        ..PickerRow::default()
    }
}

impl Menu {
    pub(super) fn new(title: &str, rows: Vec<PickerRow>, can: PickerAbilities, purpose: ChoiceUse) -> Self {
        Self { picker: Box::new(Picker::new(title, rows, can)), purpose }
    }

    pub(super) fn picker(&self) -> &Picker {
        &self.picker
    }

    pub(super) fn select_row(&mut self, key: &str) {
        self.picker.choose_by_key(key);
    }

    pub(super) fn update_tools(&mut self, tools: &[ToolInfo]) -> bool {
        let shows_tools = matches!(self.purpose, ChoiceUse::Tools);
        if shows_tools {
            self.picker.set_rows(tools.iter().map(tool_row).collect());
        }
        shows_tools
    }

    pub(super) fn update_sessions(&mut self, listed: &[SessionInfo], shown: Option<&str>, now: SystemTime) {
        if let ChoiceUse::Session(sessions) = &mut self.purpose {
            self.picker.set_rows(session_rows(listed, shown, now));
            *sessions = listed.to_vec();
        }
    }

    /// Updates the name of a session in a session picker.
    pub(super) fn rename_session(
        &mut self,
        session: &str,
        name: Option<&str>,
        shown: Option<&str>,
        now: SystemTime,
    ) {
        if let ChoiceUse::Session(sessions) = &mut self.purpose {
            for info in sessions.iter_mut().filter(|info| info.session == session) {
                info.name = name.map(str::to_owned);
            }
            self.picker.set_rows(session_rows(sessions, shown, now));
        }
    }
}

fn handle_pick(menu: &mut Option<Menu>, picked: PickerOutcome, out: &mut Outbox) {
    let Some(Menu { purpose, .. }) = menu else { return };
    match picked {
        PickerOutcome::Open => {}
        PickerOutcome::Moved(key) if *purpose == ChoiceUse::Theme => {
            out.push_intent(ComponentIntent::PreviewTheme(key))
        }
        PickerOutcome::Moved(_) => {}
        PickerOutcome::Taken(key) => {
            out.push_intent(ComponentIntent::Pick(purpose.clone(), key));
            if !matches!(purpose, ChoiceUse::Tools) {
                *menu = None;
            }
        }
        PickerOutcome::Rename(session, name) => {
            let is_open = matches!(purpose, ChoiceUse::Session(sessions)
                if sessions.iter().any(|info| info.session == session && info.open));
            out.push_intent(ComponentIntent::Rename(session, name, is_open));
        }
        PickerOutcome::Delete(session) => out.ask_backend(BackendRequest::Delete { session }),
        PickerOutcome::Closed => {
            if let Some(closed) = menu.take() {
                out.push_intent(ComponentIntent::CloseMenu(closed.purpose));
            }
        }
    }
}

impl Component for Option<Menu> {
    fn cover_rows(&self) -> Option<u16> {
        self.as_ref().map(|_| LIST)
    }

    fn draw_cover(&mut self, area: Rect, buffer: &mut Buffer, look: &DrawContext) -> Option<(u16, u16)> {
        self.as_mut()?.picker.draw(area, buffer, look)
    }

    fn handle_key(&mut self, press: &KeyPress, scope: &mut InputContext<'_>) -> InputOutcome {
        let Some(Menu { picker, .. }) = self else { return InputOutcome::PassedOn };
        let outcome = picker.key(press);
        handle_pick(self, outcome, scope.out);
        InputOutcome::for_text_input(press, &[Context::Picker])
    }

    fn handle_line(&mut self, line: &str, scope: &mut InputContext<'_>) -> InputOutcome {
        let Some(menu) = self else { return InputOutcome::PassedOn };
        let line = line.trim();
        match line.parse::<usize>().ok().map(|number| menu.picker.key_at(number).map(str::to_owned)) {
            Some(Some(key)) => handle_pick(self, PickerOutcome::Taken(key), scope.out),
            Some(None) => scope.out.print("no row has that number"),
            None if line == CLOSE => {
                handle_pick(self, PickerOutcome::Closed, scope.out);
                scope.out.print("list closed");
            }
            None if line == "more" => scope.out.push_intent(ComponentIntent::PrintRows { from_start: false }),
            None => {
                menu.picker.filter_rows(line);
                scope.out.push_intent(ComponentIntent::PrintRows { from_start: true });
            }
        }
        InputOutcome::Handled
    }

    fn handle_paste(&mut self, text: &str, _: &mut InputContext<'_>) -> InputOutcome {
        let Some(Menu { picker, .. }) = self else { return InputOutcome::PassedOn };
        picker.paste(text);
        InputOutcome::Handled
    }

    fn handle_mouse(&mut self, _: MouseAction, _: &mut InputContext<'_>) -> InputOutcome {
        if self.is_some() { InputOutcome::Handled } else { InputOutcome::PassedOn }
    }
}

pub(super) fn session_rows(sessions: &[SessionInfo], shown: Option<&str>, now: SystemTime) -> Vec<PickerRow> {
    sessions.iter().map(|info| session_row(info, shown, now)).collect()
}

fn session_row(info: &SessionInfo, shown: Option<&str>, now: SystemTime) -> PickerRow {
    let text = match session_description(info).lines().next().unwrap_or_default().trim() {
        "" => "(empty)".to_owned(),
        about => about.to_owned(),
    };
    let when = age_of_stamp(now, &info.last.as_ref().unwrap_or(&info.created).0);
    let messages =
        if info.messages == 1 { "1 message".to_owned() } else { format!("{} messages", info.messages) };
    let busy = if info.busy { " · busy" } else { "" };
    let current = shown == Some(info.session.as_str());
    let prefix = if current { "current · " } else { "" };
    PickerRow {
        key: info.session.clone(),
        text,
        detail: format!("{prefix}{messages} · {when}{busy}"),
        current,
        ..PickerRow::default()
    }
}

pub(super) fn tool_row(tool: &ToolInfo) -> PickerRow {
    PickerRow {
        key: tool.name.clone(),
        text: tool.label.clone().unwrap_or_else(|| tool.name.clone()),
        detail: tool.description.lines().next().unwrap_or_default().to_owned(),
        current: tool.active,
        group: tool.extension.as_ref().map_or_else(|| "haft".to_owned(), ToString::to_string),
        ..PickerRow::default()
    }
}

/// Returns the rows of the message tree, indented by the number of branch points above each.
pub(super) fn tree_rows(tree: &TreeData) -> Vec<PickerRow> {
    let mut children: BTreeMap<&str, usize> = BTreeMap::new();
    for parent in tree.entries.iter().filter_map(|entry| entry.parent.as_deref()) {
        *children.entry(parent).or_default() += 1;
    }
    let mut depths: BTreeMap<&str, usize> = BTreeMap::new();
    let mut rows: Vec<PickerRow> = Vec::new();
    let mut current = None;
    for entry in &tree.entries {
        let parent = entry.parent.as_deref();
        let branches = parent.is_some_and(|parent| children.get(parent).is_some_and(|count| *count > 1));
        let depth =
            parent.and_then(|parent| depths.get(parent)).copied().unwrap_or(0) + usize::from(branches);
        depths.insert(&entry.id, depth);
        let role = entry.role.as_deref().unwrap_or_default();
        let is_message = matches!(role, "user" | "assistant") && entry.text.is_some();
        if is_message {
            let mark = if role == "user" { "› " } else { "" };
            rows.push(PickerRow {
                key: entry.id.clone(),
                text: format!("{mark}{}", entry.text.as_deref().unwrap_or_default()),
                detail: entry.label.clone().unwrap_or_default(),
                depth,
                ..PickerRow::default()
            });
        }
        if Some(&entry.id) == tree.leaf.as_ref() {
            current = rows.len().checked_sub(1);
        }
    }
    if let Some(row) = current.and_then(|at| rows.get_mut(at)) {
        row.current = true;
    }
    rows
}
