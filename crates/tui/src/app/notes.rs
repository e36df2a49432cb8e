//! What extensions note.

use std::collections::VecDeque;

use haft_protocol::event::Level;

/// How many notes are kept.
const MOST: usize = 50;

/// A note of an extension.
#[derive(Debug)]
pub(super) struct Note {
    pub(super) owner: String,
    pub(super) level: Level,
    pub(super) text: String,
}

/// The notes of extensions, newest last.
#[derive(Debug, Default)]
pub(super) struct Notes(VecDeque<Note>);

impl Notes {
    pub(super) fn push(&mut self, note: Note) {
        self.0.push_back(note);
        if self.0.len() > MOST {
            self.0.pop_front();
        }
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Note> {
        self.0.iter()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn clear_of(&mut self, owner: &str) {
        self.0.retain(|note| note.owner != owner);
    }
}
