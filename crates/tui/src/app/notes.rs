//! Notes of extensions.

use std::collections::VecDeque;

use haft_protocol::event::NoteLevel;

/// The maximum number of notes that are kept.
const MOST: usize = 50;

#[derive(Debug)]
pub(super) struct ExtensionNote {
    pub(super) owner: String,
    pub(super) level: NoteLevel,
    pub(super) text: String,
}

/// The notes of extensions, newest last.
#[derive(Debug, Default)]
pub(super) struct ExtensionNotes {
    notes: VecDeque<ExtensionNote>,
    count: u64,
}

impl ExtensionNotes {
    pub(super) fn push(&mut self, note: ExtensionNote) {
        self.count += 1;
        self.notes.push_back(note);
        if self.notes.len() > MOST {
            self.notes.pop_front();
        }
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &ExtensionNote> {
        self.notes.iter()
    }

    pub(super) fn clear(&mut self) {
        self.notes.clear();
    }

    pub(super) fn clear_owner(&mut self, owner: &str) {
        self.notes.retain(|note| note.owner != owner);
    }
}
