//! The panel: its content and its keys. Pure functions.

use haft_sdk::{Panel, PanelKey};

use crate::list::List;

/// The panel's id.
pub(crate) const PANEL: &str = "todos-main";

/// The state of the panel.
#[derive(Debug)]
pub(crate) struct Board {
    pub(crate) list: List,
    cursor: usize,
    /// The new todo while it is typed.
    draft: Option<String>,
    /// True while the panel is open; a closed panel is not drawn.
    open: bool,
}

impl Board {
    pub(crate) fn new(list: List) -> Self {
        Self { list, cursor: 0, draft: None, open: false }
    }

    /// Opens the panel and returns its content.
    pub(crate) fn open(&mut self) -> Panel {
        self.open = true;
        self.panel()
    }

    /// Closes the panel and discards an unfinished todo.
    pub(crate) fn close(&mut self) {
        self.open = false;
        self.draft = None;
    }

    /// Returns the new content of the panel if it is open.
    pub(crate) fn redraw(&self) -> Option<Panel> {
        self.open.then(|| self.panel())
    }

    fn panel(&self) -> Panel {
        let todos = self.list.todos.iter().enumerate();
        let mut lines: Vec<String> = todos.map(|(at, todo)| format!("{} {todo}", self.marker(at))).collect();
        if let Some(draft) = &self.draft {
            lines.push(format!("+ {draft}▏"));
        } else if lines.is_empty() {
            lines.push("nothing to do".to_owned());
        }
        let footer = match self.draft {
            Some(_) => "enter add - esc cancel",
            None => "↑/↓ navigate - a add - x complete - esc close",
        };
        Panel::new(PANEL).title("Todos").lines(lines).footer(footer)
    }

    /// Handles a key. `esc` closes the panel, unless it discards a draft.
    pub(crate) fn key(&mut self, key: &PanelKey) {
        match self.draft.take() {
            Some(draft) => self.draft = self.edit(draft, key),
            None => self.command(key),
        }
    }

    fn marker(&self, at: usize) -> char {
        if at == self.cursor && self.draft.is_none() { '›' } else { ' ' }
    }

    /// Handles a key while a todo is typed, and returns the remaining draft.
    fn edit(&mut self, mut draft: String, key: &PanelKey) -> Option<String> {
        match key.key.as_str() {
            "esc" => return None,
            "enter" if draft.trim().is_empty() => return None,
            "enter" => {
                self.list.add(&draft);
                self.cursor = self.list.todos.len() - 1;
                return None;
            }
            "backspace" => {
                draft.pop();
            }
            "rune" => draft.push_str(key.text.as_deref().unwrap_or_default()),
            _ => {}
        }
        Some(draft)
    }

    fn command(&mut self, key: &PanelKey) {
        match (key.key.as_str(), key.text.as_deref()) {
            ("esc", _) => self.close(),
            ("up", _) => self.cursor = self.cursor.saturating_sub(1),
            ("down", _) => self.cursor = (self.cursor + 1).min(self.list.todos.len().saturating_sub(1)),
            ("enter", _) | ("rune", Some("x")) => self.list.toggle(self.cursor),
            ("rune", Some("a")) => self.draft = Some(String::new()),
            _ => {}
        }
    }
}
