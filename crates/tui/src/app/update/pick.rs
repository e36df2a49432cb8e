//! Lists to pick from: what is in them, and what becomes of what is picked.

use haft_protocol::rpc::{EntryInfo, MoveTo, SessionInfo, SetModel, SetName, SetTools, ToolInfo, TreeData};

use super::super::dialogs::Purpose as Asked;
use super::super::known::about;
use super::super::overlay::{Overlay, Purpose};
use super::super::pending::Pending;
use super::super::state::State;
use super::super::{Ask, SettingRow, settings};
use crate::dialog::{Question, Wanted};
use crate::keys::Chord;
use crate::picker::{Can, Picked, Row};

impl State {
    pub(super) fn picker_key(&mut self, chord: Chord) {
        let Some(Overlay::Picker(picker, _)) = &mut self.overlay else { return };
        let picked = picker.key(chord, &self.keymap);
        self.picker_said(picked);
    }

    /// What came of what was typed at a list.
    pub(in crate::app) fn picker_said(&mut self, picked: Picked) {
        let Some(Overlay::Picker(_, purpose)) = &self.overlay else { return };
        match picked {
            Picked::Open => {}
            Picked::Moved(key) if *purpose == Purpose::Theme => self.themes.preview(&key),
            Picked::Moved(_) => {}
            Picked::Taken(key) => {
                let purpose = purpose.clone();
                self.picked(purpose, &key);
            }
            Picked::Rename(key, name) => self.rename(key, name),
            Picked::Delete(key) => self.ask(Ask::Delete { session: key }),
            Picked::Closed => {
                let sessions = matches!(purpose, Purpose::Session(_));
                self.overlay = None;
                self.themes.end_preview();
                if sessions {
                    self.picked_session();
                }
            }
        }
    }

    /// Whoever has a session open names it: haft here, or the program on the disk.
    fn rename(&mut self, session: String, name: String) {
        let is_open = match &self.overlay {
            Some(Overlay::Picker(_, Purpose::Session(sessions))) => {
                sessions.iter().any(|info| info.session == session && info.open)
            }
            Some(_) | None => false,
        };
        let shown = self.session.id.as_deref() == Some(session.as_str());
        if !is_open && !shown {
            self.ask(Ask::Rename { session, name });
            return;
        }
        let given = Some(name.clone()).filter(|name| !name.is_empty());
        let pending = if shown { Pending::Named(given.clone()) } else { Pending::Quiet };
        self.send_to(SetName { name }, Some(session.clone()), pending);
        self.renamed(&session, given);
    }

    /// A session has this name now.
    pub(super) fn renamed(&mut self, session: &str, name: Option<String>) {
        if let Some(Overlay::Picker(picker, Purpose::Session(sessions))) = &mut self.overlay {
            for info in sessions.iter_mut().filter(|info| info.session == session) {
                info.name.clone_from(&name);
            }
            let shown = self.session.id.as_deref();
            picker.set_rows(sessions.iter().map(|info| session_row(info, shown)).collect());
        }
    }

    fn picked(&mut self, purpose: Purpose, key: &str) {
        if !matches!(purpose, Purpose::Tools(_)) {
            self.overlay = None;
        }
        match purpose {
            Purpose::Model => self.send(SetModel { model: key.to_owned() }, Pending::Model),
            Purpose::Thinking => self.run("thinking", key),
            Purpose::Session(_) => self.run("resume", key),
            Purpose::Tree(entries) => self.move_to(&entries, key),
            Purpose::Tools(_) => self.toggle_tool(key),
            Purpose::Extensions => self.pick_what(key),
            Purpose::Extension(name) if key == "show" => self.show_extension(&name),
            Purpose::Extension(name) => self.run("reload-ext", &name),
            Purpose::Skills => self.write(&format!("/{key} ")),
            Purpose::Settings(rows) => {
                if let Some(row) = rows.iter().find(|row| row.name == key) {
                    self.pick_value(row);
                }
            }
            Purpose::Value(name) => self.ask(Ask::Set { name, value: key.to_owned() }),
            Purpose::Theme => {
                self.themes.choose(key);
                self.ask(Ask::Set { name: settings::THEME.to_owned(), value: key.to_owned() });
            }
            Purpose::Login => self.run("login", key),
            Purpose::Logout => self.run("logout", key),
        }
    }

    pub(in crate::app) fn pick(&mut self, title: &str, rows: Vec<Row>, can: Can, purpose: Purpose) {
        self.lines.lists += 1;
        self.overlay = Some(Overlay::picker(title, rows, can, purpose));
    }

    pub(super) fn pick_model(&mut self) {
        let models = self.known.models.as_deref().unwrap_or_default();
        let rows = models.iter().map(|model| {
            let window = match model.context_window {
                0 => String::new(),
                window => format!("{}k", window / 1000),
            };
            let name = model.name.clone().unwrap_or_default();
            let parts = [name, window].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>();
            Row {
                key: format!("{}/{}", model.provider, model.id),
                text: model.id.clone(),
                detail: parts.join(" · "),
                current: (&model.provider, &model.id) == (&self.session.provider, &self.session.model),
                group: model.provider.clone(),
                ..Row::default()
            }
        });
        let rows = rows.collect();
        self.pick("Model", rows, Can::default(), Purpose::Model);
    }

    pub(super) fn pick_session(&mut self) {
        let sessions = self.known.sessions.clone().unwrap_or_default();
        let shown = self.session.id.as_deref();
        let Some(other) = sessions.iter().find(|info| Some(info.session.as_str()) != shown) else {
            self.info("there is no other session in this directory");
            return self.picked_session();
        };
        let other = other.session.clone();
        let rows = self.session_rows(&sessions);
        let can = Can { rename: true, delete: true };
        self.pick("Sessions", rows, can, Purpose::Session(sessions));
        if let Some(Overlay::Picker(picker, _)) = &mut self.overlay {
            picker.choose(&other);
        }
    }

    /// The list of sessions that is open shows those there are.
    pub(super) fn refresh_sessions(&mut self) {
        let Some(now) = self.known.sessions.clone() else { return };
        let rows = self.session_rows(&now);
        if let Some(Overlay::Picker(picker, Purpose::Session(sessions))) = &mut self.overlay {
            picker.set_rows(rows);
            *sessions = now;
        }
    }

    fn session_rows(&self, sessions: &[SessionInfo]) -> Vec<Row> {
        sessions.iter().map(|info| session_row(info, self.session.id.as_deref())).collect()
    }

    pub(super) fn pick_entry(&mut self, tree: TreeData) {
        let rows = tree_rows(&tree);
        if rows.is_empty() {
            self.info("nothing was said yet");
            return;
        }
        self.pick("Go on from", rows, Can::default(), Purpose::Tree(tree.entries));
    }

    /// Goes on from an entry; what the person said there is to be said anew.
    fn move_to(&mut self, entries: &[EntryInfo], key: &str) {
        let Some(entry) = entries.iter().find(|entry| entry.id == key) else { return };
        let before = (entry.role.as_deref() == Some("user")).then_some(true);
        self.send(MoveTo { entry: Some(entry.id.clone()), before }, Pending::Moved);
    }

    pub(super) fn pick_tools(&mut self) {
        let tools = self.known.tools.clone().unwrap_or_default();
        let rows = tools.iter().map(tool_row).collect();
        self.pick(
            "Tools: enter offers one to the model, or does not",
            rows,
            Can::default(),
            Purpose::Tools(tools),
        );
    }

    pub(super) fn refresh_tools(&mut self) {
        let tools = self.known.tools.clone().unwrap_or_default();
        match &mut self.overlay {
            Some(Overlay::Picker(picker, Purpose::Tools(_))) => {
                self.lines.lists += 1;
                picker.set_rows(tools.iter().map(tool_row).collect());
            }
            Some(_) | None => {
                let active = tools.iter().filter(|tool| tool.active).map(|tool| tool.name.as_str());
                let active = active.collect::<Vec<_>>().join(", ");
                self.info(format!("the model is offered: {active}"));
            }
        }
    }

    /// Offers a tool, or does not any more.
    pub(super) fn toggle_tool(&mut self, name: &str) {
        let tools = self.known.tools.as_deref().unwrap_or_default();
        if !tools.iter().any(|tool| tool.name == name) {
            self.error(format!("there is no tool {name}; /tools shows them all"));
            return;
        }
        let offered = tools.iter().filter(|tool| tool.active != (tool.name == name));
        let offered = offered.map(|tool| tool.name.clone()).collect();
        self.send(SetTools { tools: Some(offered) }, Pending::SetTools);
    }

    pub(super) fn pick_extension(&mut self) {
        let rows: Vec<Row> = self
            .session
            .extensions
            .iter()
            .map(|info| Row {
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
                ..Row::default()
            })
            .collect();
        if rows.is_empty() {
            self.info("there are no extensions");
            return;
        }
        self.pick("Extensions", rows, Can::default(), Purpose::Extensions);
    }

    fn pick_what(&mut self, name: &str) {
        let row =
            |key: &str, text: &str| Row { key: key.to_owned(), text: text.to_owned(), ..Row::default() };
        let rows = vec![row("reload", "Start it again"), row("show", "Show how it is, and what it brings")];
        self.pick(name, rows, Can::default(), Purpose::Extension(name.to_owned()));
    }

    /// Asks what a setting shall be.
    pub(super) fn pick_value(&mut self, row: &SettingRow) {
        if row.name == settings::THEME {
            self.run("theme", "");
        } else if row.choices.is_empty() {
            let question = Question {
                owner: None,
                wanted: Wanted::Input { secret: false },
                title: row.name.clone(),
                message: format!("It is {} ({}). {}", row.value, row.origin, row.about),
                call: None,
                grants: false,
                within: None,
                default: None,
            };
            self.ask_person(question, Asked::Setting { name: row.name.clone() });
        } else {
            let rows = row.choices.iter().cloned().map(|choice| Row {
                key: choice.clone(),
                current: choice == row.value,
                text: choice,
                ..Row::default()
            });
            let rows = rows.collect();
            self.pick(&row.name, rows, Can::default(), Purpose::Value(row.name.clone()));
        }
    }
}

/// A session, in a list; `shown` is the one that is seen behind the list.
fn session_row(info: &SessionInfo, shown: Option<&str>) -> Row {
    let text = match about(info).lines().next().unwrap_or_default().trim() {
        "" => "(nothing said)".to_owned(),
        about => about.to_owned(),
    };
    let when = info.last.as_ref().unwrap_or(&info.created);
    let when = when.0.get(..16).unwrap_or(&when.0).replace('T', " ");
    let messages =
        if info.messages == 1 { "1 message".to_owned() } else { format!("{} messages", info.messages) };
    let busy = if info.busy { " · at work" } else { "" };
    let current = shown == Some(info.session.as_str());
    let this = if current { "this one · " } else { "" };
    Row {
        key: info.session.clone(),
        text,
        detail: format!("{this}{messages} · {when}{busy}"),
        current,
        ..Row::default()
    }
}

fn tool_row(tool: &ToolInfo) -> Row {
    Row {
        key: tool.name.clone(),
        text: tool.name.clone(),
        detail: tool.description.lines().next().unwrap_or_default().to_owned(),
        current: tool.active,
        group: tool.extension.as_ref().map_or_else(|| "haft".to_owned(), ToString::to_string),
        ..Row::default()
    }
}

/// What was said, each as deep as the branches that lead to it.
fn tree_rows(tree: &TreeData) -> Vec<Row> {
    use std::collections::BTreeMap;

    let mut children: BTreeMap<&str, usize> = BTreeMap::new();
    for parent in tree.entries.iter().filter_map(|entry| entry.parent.as_deref()) {
        *children.entry(parent).or_default() += 1;
    }
    let mut depths: BTreeMap<&str, usize> = BTreeMap::new();
    let mut rows: Vec<Row> = Vec::new();
    let mut current = None;
    for entry in &tree.entries {
        let parent = entry.parent.as_deref();
        let branches = parent.is_some_and(|parent| children.get(parent).is_some_and(|count| *count > 1));
        let depth =
            parent.and_then(|parent| depths.get(parent)).copied().unwrap_or(0) + usize::from(branches);
        depths.insert(&entry.id, depth);
        let role = entry.role.as_deref().unwrap_or_default();
        let said = matches!(role, "user" | "assistant") && entry.text.is_some();
        if said {
            let mark = if role == "user" { "› " } else { "" };
            rows.push(Row {
                key: entry.id.clone(),
                text: format!("{mark}{}", entry.text.as_deref().unwrap_or_default()),
                detail: entry.label.clone().unwrap_or_default(),
                depth,
                ..Row::default()
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
