//! Lists to pick from: what is in them, and what becomes of what is picked.

use haft_protocol::rpc::{EntryInfo, MoveTo, SetModel, SetName, SetTools, TreeData};

use super::super::dialogs::Purpose as Asked;
use super::super::menu::{Menu, Purpose, session_rows, tool_row, tree_rows};
use super::super::pending::Pending;
use super::super::state::State;
use super::super::{Ask, SettingRow, settings};
use crate::dialog::{Question, Wanted};
use crate::picker::{Can, Row};

impl State {
    /// A list was closed, and nothing picked.
    pub(in crate::app) fn menu_closed(&mut self, purpose: &Purpose) {
        self.themes.end_preview();
        if matches!(purpose, Purpose::Session(_)) {
            self.picked_session();
        }
    }

    /// Whoever has a session open names it: haft here, or the program on the disk.
    pub(in crate::app) fn rename(&mut self, session: String, name: String, is_open: bool) {
        let shown = self.out.shows(&session);
        if !is_open && !shown {
            self.out.ask(Ask::Rename { session, name });
            return;
        }
        let given = Some(name.clone()).filter(|name| !name.is_empty());
        let pending = if shown { Pending::Named(given.clone()) } else { Pending::Quiet };
        self.out.send_to(SetName { name }, Some(session.clone()), pending);
        self.renamed(&session, given);
    }

    /// A session has this name now.
    pub(super) fn renamed(&mut self, session: &str, name: Option<String>) {
        if let Some(menu) = &mut self.menu {
            menu.renamed(session, name.as_deref(), self.out.session());
        }
    }

    pub(in crate::app) fn picked(&mut self, purpose: Purpose, key: &str) {
        match purpose {
            Purpose::Model => self.out.send(SetModel { model: key.to_owned() }, Pending::Model),
            Purpose::Thinking => self.run("thinking", key),
            Purpose::Session(_) => self.run("resume", key),
            Purpose::Tree(entries) => self.move_to(&entries, key),
            Purpose::Tools => self.toggle_tool(key),
            Purpose::Extensions => self.pick_what(key),
            Purpose::Extension(name) if key == "show" => self.show_extension(&name),
            Purpose::Extension(name) => self.run("reload-ext", &name),
            Purpose::Skills => self.composer.write(&format!("/{key} ")),
            Purpose::Settings(rows) => {
                if let Some(row) = rows.iter().find(|row| row.name == key) {
                    self.pick_value(row);
                }
            }
            Purpose::Value(name) => self.out.ask(Ask::Set { name, value: key.to_owned() }),
            Purpose::Theme => {
                self.themes.choose(key);
                self.out.ask(Ask::Set { name: settings::THEME.to_owned(), value: key.to_owned() });
            }
            Purpose::Login => self.run("login", key),
            Purpose::Logout => self.run("logout", key),
        }
    }

    pub(in crate::app) fn pick(&mut self, title: &str, rows: Vec<Row>, can: Can, purpose: Purpose) {
        self.lines.list_changed();
        (self.menu, self.page) = (Some(Menu::new(title, rows, can, purpose)), None);
    }

    pub(super) fn pick_model(&mut self) {
        let models = self.composer.known().models.as_deref().unwrap_or_default();
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
        let sessions = self.composer.known().sessions.clone().unwrap_or_default();
        let shown = self.out.session();
        let Some(other) = sessions.iter().find(|info| Some(info.session.as_str()) != shown) else {
            self.info("there is no other session in this directory");
            return self.picked_session();
        };
        let other = other.session.clone();
        let rows = session_rows(&sessions, shown);
        let can = Can { rename: true, delete: true };
        self.pick("Sessions", rows, can, Purpose::Session(sessions));
        if let Some(menu) = &mut self.menu {
            menu.choose(&other);
        }
    }

    /// The list of sessions that is open shows those there are.
    pub(super) fn refresh_sessions(&mut self) {
        if let (Some(now), Some(menu)) = (&self.composer.known().sessions, &mut self.menu) {
            menu.show_sessions(now, self.out.session());
        }
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
        self.out.send(MoveTo { entry: Some(entry.id.clone()), before }, Pending::Moved);
    }

    pub(super) fn pick_tools(&mut self) {
        let tools = self.composer.known().tools.as_deref().unwrap_or_default();
        let rows = tools.iter().map(tool_row).collect();
        self.pick("Tools: enter offers one to the model, or does not", rows, Can::default(), Purpose::Tools);
    }

    pub(super) fn refresh_tools(&mut self) {
        let tools = self.composer.known().tools.as_deref().unwrap_or_default();
        if self.menu.as_mut().is_some_and(|menu| menu.show_tools(tools)) {
            self.lines.list_changed();
            return;
        }
        let active = tools.iter().filter(|tool| tool.active).map(|tool| tool.name.as_str());
        let active = active.collect::<Vec<_>>().join(", ");
        self.info(format!("the model is offered: {active}"));
    }

    /// Offers a tool, or does not any more.
    pub(super) fn toggle_tool(&mut self, name: &str) {
        let tools = self.composer.known().tools.as_deref().unwrap_or_default();
        if !tools.iter().any(|tool| tool.name == name) {
            self.error(format!("there is no tool {name}; /tools shows them all"));
            return;
        }
        let offered = tools.iter().filter(|tool| tool.active != (tool.name == name));
        let offered = offered.map(|tool| tool.name.clone()).collect();
        self.out.send(SetTools { tools: Some(offered) }, Pending::SetTools);
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
