//! The list and its file.

use std::path::Path;
use std::{fmt, fs, io};

use serde::{Deserialize, Serialize};

/// A todo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Todo {
    pub(crate) text: String,
    pub(crate) done: bool,
}

/// All todos, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct List {
    pub(crate) todos: Vec<Todo>,
}

impl List {
    /// Reads the list. A missing file is an empty list; a broken file is an error, so that it is
    /// never overwritten.
    pub(crate) fn load(file: &Path) -> io::Result<Self> {
        match fs::read(file) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    /// Replaces the whole file, so that a crash leaves either the old or the new list.
    pub(crate) fn save(&self, file: &Path) -> io::Result<()> {
        let fresh = file.with_extension("json.new");
        fs::write(&fresh, serde_json::to_vec_pretty(self)?)?;
        fs::rename(&fresh, file)
    }

    pub(crate) fn add(&mut self, text: &str) {
        self.todos.push(Todo { text: text.trim().to_owned(), done: false });
    }

    /// Marks a todo as done, by its number counted from 1. Returns true if it exists.
    pub(crate) fn complete(&mut self, number: usize) -> bool {
        let todo = number.checked_sub(1).and_then(|at| self.todos.get_mut(at));
        todo.map(|todo| todo.done = true).is_some()
    }

    /// Returns the number of open todos.
    pub(crate) fn open(&self) -> usize {
        self.todos.iter().filter(|todo| !todo.done).count()
    }

    /// Toggles a todo between done and open.
    pub(crate) fn toggle(&mut self, at: usize) {
        if let Some(todo) = self.todos.get_mut(at) {
            todo.done = !todo.done;
        }
    }
}

impl fmt::Display for Todo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", if self.done { '✓' } else { '□' }, self.text)
    }
}

impl fmt::Display for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.todos.is_empty() {
            return f.write_str("nothing to do");
        }
        let lines = self.todos.iter().enumerate().map(|(at, todo)| format!("{}. {todo}", at + 1));
        f.write_str(&lines.collect::<Vec<_>>().join("\n"))
    }
}
