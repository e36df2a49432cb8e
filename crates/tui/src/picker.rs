//! Lists to pick from.
//!
//! What is typed narrows the list at once. A list of groups keeps them together, those of the best rows first; a tree
//! keeps its order. Rows are matched when what is typed changes, and drawing costs what is on the screen.

mod key;
mod list;
mod spoken;
mod tree;
mod view;

use std::fmt;

use list::List;

use crate::clean::CleanLine;
use crate::field::Field;

/// A row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Row {
    /// What it stands for, for whoever opened the list.
    pub key: String,
    /// What is searched, and shown first. From outside.
    pub text: String,
    /// What is shown behind it, muted.
    pub detail: String,
    /// How deep it lies in a tree.
    pub depth: usize,
    /// Whether it is what counts now: it is marked.
    pub current: bool,
    /// A heading before it, when it differs from that of the row before: where it comes from.
    pub group: String,
}

/// What a list can do beside picking.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Can {
    /// Rows can be given other names.
    pub rename: bool,
    /// Rows can be deleted, after a question.
    pub delete: bool,
}

/// A list to pick from.
pub struct Picker {
    title: CleanLine,
    can: Can,
    filter: Field,
    list: List,
    mode: Mode,
    /// The first line that is shown.
    top: usize,
    /// How many lines were shown.
    shown: usize,
}

/// What is done with the chosen row.
#[derive(Debug)]
enum Mode {
    /// It is picked, while the filter is typed.
    Pick,
    /// It is given another name.
    Rename(Box<Field>),
    /// It is asked whether to delete it.
    Delete,
}

/// What came of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Picked {
    /// Nothing yet.
    Open,
    /// Another row is chosen: for lists that show at once what a row would do.
    Moved(String),
    /// This row is taken, by its key.
    Taken(String),
    /// This row is to have another name.
    Rename(String, String),
    /// This row's thing is to be deleted; the question was answered with yes.
    Delete(String),
    /// Nothing is picked.
    Closed,
}

impl Picker {
    /// A list with a title, the rows in order; the current one is chosen.
    pub fn new(title: &str, rows: Vec<Row>, can: Can) -> Self {
        let list = List::new(rows);
        let (title, filter) = (CleanLine::new(title), Field::line("", false));
        Self { title, can, filter, list, mode: Mode::Pick, top: 0, shown: 0 }
    }

    /// Other rows; what is typed and chosen stays as far as it can.
    pub fn set_rows(&mut self, rows: Vec<Row>) {
        let before = self.list.chosen().map(|row| row.key.clone());
        self.list.set_rows(rows);
        if self.list.chosen().map(|row| &row.key) != before.as_ref() {
            self.mode = Mode::Pick;
        }
    }

    /// The row of that key is chosen, in the place of the current one.
    pub fn choose(&mut self, key: &str) {
        self.list.choose_key(Some(key));
    }

    /// The chosen row.
    pub fn chosen(&self) -> Option<&Row> {
        self.list.chosen()
    }
}

impl fmt::Debug for Picker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { title, can, mode, .. } = self;
        let debug = &mut f.debug_struct("Picker");
        debug.field("title", title).field("can", can).field("mode", mode).finish_non_exhaustive()
    }
}
