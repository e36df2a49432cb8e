//! Changes of the text, for undo and redo.

use std::collections::VecDeque;

/// The maximum number of steps.
const MOST_STEPS: usize = 1000;

/// The maximum size of the steps, in bytes of text.
const MOST_BYTES: usize = 8 * 1024 * 1024;

/// One change: at a position, one text replaced another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TextChange {
    pub(super) at: usize,
    pub(super) removed: String,
    pub(super) inserted: String,
    /// The position of the cursor before and after.
    pub(super) before: usize,
    pub(super) after: usize,
    pub(super) kind: ChangeKind,
}

/// The kind of a change, which may join its neighbors in one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChangeKind {
    /// A typed character. A step is a word with the blanks after it.
    Typed,
    /// A deletion before the cursor.
    Back,
    /// A deletion after the cursor.
    Forward,
    /// A step of its own.
    Whole,
}

/// The steps.
#[derive(Debug, Clone, Default)]
pub(super) struct UndoHistory {
    done: VecDeque<TextChange>,
    undone: Vec<TextChange>,
    bytes: usize,
    /// True if the next change must begin a new step.
    closed: bool,
}

impl TextChange {
    fn bytes(&self) -> usize {
        self.removed.len() + self.inserted.len()
    }

    /// Joins a change that continues this one. Returns it unchanged otherwise.
    fn join(&mut self, next: TextChange) -> Option<TextChange> {
        let joins = self.kind == next.kind && self.after == next.before;
        match next.kind {
            ChangeKind::Typed if joins && next.removed.is_empty() && self.continues_with(&next.inserted) => {
                self.inserted.push_str(&next.inserted);
            }
            ChangeKind::Back
                if joins && next.inserted.is_empty() && next.at + next.removed.len() == self.at =>
            {
                self.removed.insert_str(0, &next.removed);
                self.at = next.at;
            }
            ChangeKind::Forward if joins && next.inserted.is_empty() && next.at == self.at => {
                self.removed.push_str(&next.removed);
            }
            ChangeKind::Typed | ChangeKind::Back | ChangeKind::Forward | ChangeKind::Whole => {
                return Some(next);
            }
        }
        self.after = next.after;
        None
    }

    fn continues_with(&self, typed: &str) -> bool {
        let blank_before = self.inserted.ends_with(char::is_whitespace);
        self.at + self.inserted.len() == self.after
            && (!blank_before || typed.starts_with(char::is_whitespace))
    }
}

impl UndoHistory {
    pub(super) fn record(&mut self, change: TextChange) {
        self.undone.clear();
        let closed = std::mem::take(&mut self.closed);
        self.bytes += change.bytes();
        let alone = match self.done.back_mut() {
            Some(last) if !closed => last.join(change),
            _ => Some(change),
        };
        self.done.extend(alone);
        while self.done.len() > MOST_STEPS || (self.bytes > MOST_BYTES && self.done.len() > 1) {
            let oldest = self.done.pop_front();
            self.bytes -= oldest.map_or(0, |oldest| oldest.bytes());
        }
    }

    /// Makes the next change a step of its own.
    pub(super) fn close_step(&mut self) {
        self.closed = true;
    }

    pub(super) fn undo(&mut self) -> Option<TextChange> {
        let change = self.done.pop_back()?;
        self.bytes -= change.bytes();
        self.undone.push(change.clone());
        self.closed = true;
        Some(change)
    }

    pub(super) fn redo(&mut self) -> Option<TextChange> {
        let change = self.undone.pop()?;
        self.bytes += change.bytes();
        self.done.push_back(change.clone());
        self.closed = true;
        Some(change)
    }
}
