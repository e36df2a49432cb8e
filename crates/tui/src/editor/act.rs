//! What the keys of the editor do.

use crate::keys::Edit;

use super::kill::Way;
use super::undo::Kind;
use super::{Editor, Last, unit};

/// What came of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "at the first and the last row the key means the history, and where there is no text it may mean to quit"]
pub enum Outcome {
    /// It is done, as far as there was something to do.
    Done,
    /// There is no row above.
    AtTop,
    /// There is no row below.
    AtBottom,
    /// There is no text, and the key quits where there is none.
    Empty,
}

impl Editor {
    /// Does what a key means, in an editor of this width.
    pub fn act(&mut self, action: Edit, width: u16) -> Outcome {
        // What was typed before and after another key are two steps.
        if !matches!(action, Edit::DeleteBack | Edit::DeleteForward | Edit::DeleteOrQuit) {
            self.undo.close();
        }
        if action == Edit::RowUp {
            return self.row_by(width, -1, Outcome::AtTop);
        }
        if action == Edit::RowDown {
            return self.row_by(width, 1, Outcome::AtBottom);
        }
        let nothing_to_delete = action == Edit::DeleteOrQuit && self.is_empty();
        match self.target(action) {
            Some(Target::Move(to)) => {
                self.cursor = to;
                self.moved();
            }
            Some(Target::Delete(to)) => self.delete(to),
            Some(Target::Kill(to)) => self.kill(to),
            None => self.other(action),
        }
        if nothing_to_delete { Outcome::Empty } else { Outcome::Done }
    }

    /// Where the cursor goes, or how far a cut goes from it.
    fn target(&self, action: Edit) -> Option<Target> {
        let (text, at) = (&self.text, self.cursor);
        Some(match action {
            Edit::CharLeft => Target::Move(unit::previous(text, at)),
            Edit::CharRight => Target::Move(unit::next(text, at)),
            Edit::WordLeft => Target::Move(unit::word_start(text, at)),
            Edit::WordRight => Target::Move(unit::word_end(text, at)),
            Edit::LineStart => Target::Move(unit::line_start(text, at)),
            Edit::LineEnd => Target::Move(unit::line_end(text, at)),
            Edit::TextStart => Target::Move(0),
            Edit::TextEnd => Target::Move(text.len()),
            Edit::DeleteBack => Target::Delete(unit::previous(text, at)),
            Edit::DeleteForward | Edit::DeleteOrQuit => Target::Delete(unit::next(text, at)),
            Edit::KillWordBack => Target::Kill(unit::word_start(text, at)),
            Edit::KillWordForward => Target::Kill(unit::word_end(text, at)),
            Edit::KillLineStart => Target::Kill(unit::line_start(text, at)),
            Edit::KillLineEnd => {
                let end = unit::line_end(text, at);
                Target::Kill(if end == at { unit::next(text, at) } else { end })
            }
            Edit::RowUp | Edit::RowDown | Edit::Newline => return None,
            Edit::Yank | Edit::YankPop | Edit::Undo | Edit::Redo => return None,
        })
    }

    fn other(&mut self, action: Edit) {
        match action {
            Edit::Newline => self.type_char('\n'),
            Edit::Yank => {
                let text = self.kills.last().map(str::to_owned);
                self.yank(self.cursor..self.cursor, text);
            }
            Edit::YankPop => {
                let Last::Yanked(put) = self.last.clone() else { return };
                let text = self.kills.before().map(str::to_owned);
                self.yank(put, text);
            }
            Edit::Undo => self.undo(),
            Edit::Redo => self.redo(),
            // They have a target, or are rows.
            Edit::CharLeft
            | Edit::CharRight
            | Edit::WordLeft
            | Edit::WordRight
            | Edit::RowUp
            | Edit::RowDown => {}
            Edit::LineStart | Edit::LineEnd | Edit::TextStart | Edit::TextEnd => {}
            Edit::DeleteBack | Edit::DeleteForward | Edit::DeleteOrQuit => {}
            Edit::KillWordBack | Edit::KillWordForward | Edit::KillLineStart | Edit::KillLineEnd => {}
        }
    }

    fn row_by(&mut self, width: u16, by: isize, beyond: Outcome) -> Outcome {
        let layout = self.layout(width);
        let column = self.column.unwrap_or(layout.column);
        let row = layout.row.checked_add_signed(by);
        let Some(place) = row.and_then(|row| self.laid().place(&layout, row, column)) else { return beyond };
        self.cursor = place;
        self.moved();
        self.column = Some(column);
        Outcome::Done
    }

    fn delete(&mut self, to: usize) {
        let kind = if to < self.cursor { Kind::Back } else { Kind::Forward };
        self.change(self.cursor.min(to)..self.cursor.max(to), "", kind);
        self.moved();
    }

    fn kill(&mut self, to: usize) {
        let joins = self.last == Last::Killed;
        let way = if to < self.cursor { Way::Back } else { Way::Forward };
        let part = self.cursor.min(to)..self.cursor.max(to);
        let Some(cut) = self.text.get(part.clone()).filter(|cut| !cut.is_empty()) else { return };
        self.kills.cut(cut, way, joins);
        self.change(part, "", Kind::Whole);
        self.moved();
        self.last = Last::Killed;
    }

    fn yank(&mut self, place: std::ops::Range<usize>, text: Option<String>) {
        let Some(text) = text else { return };
        let text = if self.one_line { text.replace('\n', " ") } else { text };
        let start = place.start;
        self.change(place, &text, Kind::Whole);
        self.moved();
        self.last = Last::Yanked(start..self.cursor);
    }

    fn undo(&mut self) {
        let Some(change) = self.undo.undo() else { return };
        self.text.replace_range(change.at..change.at + change.inserted.len(), &change.removed);
        self.cursor = change.before;
        self.moved();
    }

    fn redo(&mut self) {
        let Some(change) = self.undo.redo() else { return };
        self.text.replace_range(change.at..change.at + change.removed.len(), &change.inserted);
        self.cursor = change.after;
        self.moved();
    }
}

/// What a key does up to a place.
enum Target {
    Move(usize),
    Delete(usize),
    Kill(usize),
}
