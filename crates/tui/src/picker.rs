//! Lists to pick from.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use crate::keys::{Chord, Keymap};
use crate::look::Look;

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
#[derive(Debug)]
pub struct Picker {}

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
    pub fn new(_title: &str, _rows: Vec<Row>, _can: Can) -> Self {
        Self {}
    }
    /// Other rows; what is typed and chosen stays as far as it can.
    pub fn set_rows(&mut self, _rows: Vec<Row>) {}
    /// A key.
    pub fn key(&mut self, _chord: Chord, _keys: &Keymap) -> Picked {
        Picked::Closed
    }
    /// Text that was pasted.
    pub fn paste(&mut self, _text: &str) {}
    /// Draws it into the whole area, and says where the terminal's cursor stands.
    pub fn draw(&mut self, _area: Rect, _buffer: &mut Buffer, _look: &Look) -> Option<(u16, u16)> {
        None
    }
}
