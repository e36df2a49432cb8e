//! Lists to pick from.
//!
//! Typing filters the list immediately. A grouped list keeps its groups together, ordered by their best rows; a tree
//! keeps its order. Matching happens when the filter changes, and the cost of drawing depends only on the visible
//! rows.

mod list;
mod view;

use std::fmt;

use list::PickerList;

use crate::clean::CleanLine;
use crate::field::TextField;
use crate::keys::{Action, Confirm, Context, Dialog, KeyPress};

/// A row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PickerRow {
    /// The key of the row, for the owner of the list.
    pub key: String,
    /// The main text, which is searched. From outside.
    pub text: String,
    /// The muted text behind it.
    pub detail: String,
    /// The depth in a tree.
    pub depth: usize,
    /// True for the current value, which is marked.
    pub current: bool,
    /// The heading, for example the source. It is shown when it differs from the previous row's.
    pub group: String,
}

/// The optional features of a list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PickerAbilities {
    /// Rows can be renamed.
    pub rename: bool,
    /// Rows can be deleted, after a confirmation.
    pub delete: bool,
}

/// A list to pick from.
pub struct Picker {
    title: CleanLine,
    can: PickerAbilities,
    filter: TextField,
    list: PickerList,
    mode: PickerMode,
    /// The first visible line.
    top: usize,
    shown: usize,
}

/// The mode of the chosen row.
#[derive(Debug)]
enum PickerMode {
    /// Picking, while the filter is typed.
    Pick,
    /// Renaming.
    Rename(Box<TextField>),
    Delete,
}

/// The outcome of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PickerOutcome {
    /// No result yet.
    Open,
    /// Another row is chosen, for lists that preview the chosen row.
    Moved(String),
    /// The row with this key is picked.
    Taken(String),
    /// The row with this key gets this name.
    Rename(String, String),
    /// The row with this key is deleted; the person confirmed it.
    Delete(String),
    /// The list was closed without a pick.
    Closed,
}

impl Picker {
    /// Makes a list with a title and rows in order. The current row is chosen.
    pub fn new(title: &str, rows: Vec<PickerRow>, can: PickerAbilities) -> Self {
        let list = PickerList::new(rows);
        let (title, filter) = (CleanLine::new(title), TextField::single_line("", false));
        Self { title, can, filter, list, mode: PickerMode::Pick, top: 0, shown: 0 }
    }

    /// Replaces the rows. Filter and choice are kept if possible.
    pub fn set_rows(&mut self, rows: Vec<PickerRow>) {
        let before = self.list.chosen_row().map(|row| row.key.clone());
        self.list.set_rows(rows);
        if self.list.chosen_row().map(|row| &row.key) != before.as_ref() {
            self.mode = PickerMode::Pick;
        }
    }

    /// Chooses the row with this key instead of the current one.
    pub fn choose_by_key(&mut self, key: &str) {
        self.list.choose_key(Some(key));
    }

    /// Returns the chosen row.
    pub fn chosen_row(&self) -> Option<&PickerRow> {
        self.list.chosen_row()
    }

    /// Handles a key.
    pub fn key(&mut self, press: &KeyPress) -> PickerOutcome {
        match self.mode {
            PickerMode::Pick => self.handle_pick_key(press),
            PickerMode::Rename(_) => self.handle_rename_key(press),
            PickerMode::Delete => {
                self.mode = PickerMode::Pick;
                let yes = press.action(Context::Confirm) == Some(Action::Confirm(Confirm::Yes));
                self.chosen_key().filter(|_| yes).map_or(PickerOutcome::Open, PickerOutcome::Delete)
            }
        }
    }

    /// Handles pasted text.
    pub fn paste(&mut self, text: &str) {
        match &mut self.mode {
            PickerMode::Pick => {
                self.filter.paste(text);
                self.list.set_query(self.filter.editor.text());
            }
            PickerMode::Rename(field) => field.paste(text),
            PickerMode::Delete => {}
        }
    }

    fn handle_pick_key(&mut self, press: &KeyPress) -> PickerOutcome {
        use crate::keys::Picker as Key;
        let before = self.chosen_key();
        let page = isize::try_from(self.shown.saturating_sub(1).max(1)).unwrap_or(isize::MAX);
        let action = press.action(Context::Picker);
        match action {
            Some(Action::Picker(key)) => match key {
                Key::Next => self.list.next(),
                Key::Previous => self.list.previous(),
                Key::PageDown => self.list.move_by(page),
                Key::PageUp => self.list.move_by(-page),
                Key::First => self.list.move_by(isize::MIN),
                Key::Last => self.list.move_by(isize::MAX),
                Key::Accept => return before.map_or(PickerOutcome::Open, PickerOutcome::Taken),
                Key::Rename => self.begin_rename(),
                Key::Delete if self.can.delete && before.is_some() => self.mode = PickerMode::Delete,
                // These lists have no marked rows.
                Key::Delete | Key::Toggle => {}
                Key::Close => return PickerOutcome::Closed,
            },
            other => {
                self.filter.key(press.chord(), other);
                self.list.set_query(self.filter.editor.text());
            }
        }
        self.chosen_key()
            .filter(|now| before.as_ref() != Some(now))
            .map_or(PickerOutcome::Open, PickerOutcome::Moved)
    }

    fn begin_rename(&mut self) {
        if let Some(row) = self.list.chosen_row().filter(|_| self.can.rename) {
            self.mode = PickerMode::Rename(Box::new(TextField::single_line(&row.text, false)));
        }
    }

    fn handle_rename_key(&mut self, press: &KeyPress) -> PickerOutcome {
        let PickerMode::Rename(field) = &mut self.mode else { return PickerOutcome::Open };
        let action = press.action(Context::Dialog);
        match action {
            Some(Action::Dialog(Dialog::Accept)) => {
                let name = field.editor.text().trim().to_owned();
                self.mode = PickerMode::Pick;
                self.chosen_key().map_or(PickerOutcome::Open, |key| PickerOutcome::Rename(key, name))
            }
            Some(Action::Dialog(Dialog::Close)) => {
                self.mode = PickerMode::Pick;
                PickerOutcome::Open
            }
            other => {
                field.key(press.chord(), other);
                PickerOutcome::Open
            }
        }
    }

    fn chosen_key(&self) -> Option<String> {
        self.list.chosen_row().map(|row| row.key.clone())
    }

    /// Returns the title.
    pub fn title(&self) -> &CleanLine {
        &self.title
    }

    /// Returns the number of rows that match the filter.
    pub fn match_count(&self) -> usize {
        self.list.match_counts().0
    }

    /// Filters the rows by a text.
    pub fn filter_rows(&mut self, text: &str) {
        self.list.set_query(text);
    }

    /// Returns numbered rows from an index, counted from 0.
    pub fn numbered_rows(&self, from: usize, most: usize) -> Vec<CleanLine> {
        let places = (from..self.match_count()).take(most);
        let rows = places.filter_map(|place| {
            let (row, shown, _) = self.list.row(place)?;
            let indent = CleanLine::from_repeated_char(' ', 2 * row.depth);
            let said = match shown.text.as_str().strip_prefix("› ") {
                Some(said) => format!("you: {said}"),
                None => shown.text.to_string(),
            };
            let mut text = format!("{indent}{}: {said}", place + 1);
            for more in [&shown.detail, &shown.group] {
                if more.columns() > 0 {
                    text.push_str(", ");
                    text.push_str(&more.as_str().replace(" · ", ", "));
                }
            }
            if row.current {
                text.push_str(", current");
            }
            Some(CleanLine::new(&text))
        });
        rows.collect()
    }

    /// Returns the key of the row with a number.
    pub fn key_at(&self, number: usize) -> Option<&str> {
        let (row, ..) = self.list.row(number.checked_sub(1)?)?;
        Some(&row.key)
    }
}

impl fmt::Debug for Picker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { title, can, mode, .. } = self;
        let debug = &mut f.debug_struct("Picker");
        debug.field("title", title).field("can", can).field("mode", mode).finish_non_exhaustive()
    }
}
