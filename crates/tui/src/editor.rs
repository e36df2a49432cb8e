//! The editor: a text of several lines, a cursor, and what keys do with them.
//!
//! Long pastes and images are [`Atom`]s: one character for the cursor, the whole thing for who reads the prompt. What can
//! be cut, deleted, moved and undone is the same for them as for letters.
//!
//! Invariants, enforced by `tests/it/editor.rs`: the cursor is in the text and between two graphemes; what is taken back
//! leaves the text as it was; no row is wider than the width; what was folded is sent whole; the text holds no control
//! character but newlines and tabs.

mod atom;
mod kill;
mod layout;
mod paste;
mod undo;
mod unit;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

use atom::{Atoms, clean_after, expand};
use kill::{Kills, Way};
use layout::Laid;
use undo::{Change, Kind, Undo};

use crate::keys::Edit;

pub use atom::Atom;
pub use layout::{Layout, NARROWEST, Piece, PieceKind};
pub use paste::{MOST_CHARACTERS, MOST_LINES, Pasted};
pub use unit::columns;

/// A text that is edited.
#[derive(Debug, Clone, Default)]
pub struct Editor {
    text: String,
    cursor: usize,
    atoms: Atoms,
    undo: Undo,
    kills: Kills,
    /// The column that moving up and down keeps to.
    column: Option<usize>,
    last: Last,
    one_line: bool,
    revision: u64,
}

/// The effect of the last key, as far as the next one continues it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Last {
    #[default]
    Other,
    Killed,
    Yanked(Range<usize>),
}

/// The content of an editor, with its atoms, to be put back into it or another one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Content {
    text: String,
    cursor: usize,
    atoms: BTreeMap<char, Atom>,
}

/// A prompt as it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission {
    /// The text: pastes whole, for each image its label.
    pub text: String,
    /// The images, in the order of their labels in the text.
    pub images: Vec<PathBuf>,
    /// The text as the history keeps it: pastes whole, for each image its path.
    pub kept: String,
    /// The content to put back into the editor when it is cancelled.
    pub content: Content,
}

impl Content {
    /// A text, with the cursor behind it.
    pub fn of_text(text: &str) -> Self {
        let text = clean_after("", text);
        Self { cursor: text.len(), text, atoms: BTreeMap::new() }
    }

    /// True if there is no text.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The prompt it is, blanks around it left out.
    pub fn submission(&self) -> Submission {
        let images = self.text.chars().filter_map(|c| match self.atoms.get(&c) {
            Some(Atom::Image { path, .. }) => Some(path.clone()),
            Some(Atom::Paste { .. }) | None => None,
        });
        Submission {
            text: expand(&self.text, &self.atoms, Atom::sent).trim().to_owned(),
            images: images.collect(),
            kept: expand(&self.text, &self.atoms, Atom::kept).trim_end().to_owned(),
            content: self.clone(),
        }
    }
}

/// The outcome of a key.
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
    /// An editor of prompts, with nothing in it.
    pub fn new() -> Self {
        Self::default()
    }

    /// An editor of a single line: newlines that are put in are spaces, and nothing is folded.
    pub fn one_line() -> Self {
        Self { one_line: true, ..Self::default() }
    }

    /// True if there is no text.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The text with a character of a private plane for each atom; what completion looks at.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where the cursor is in [`text`](Self::text), in bytes.
    pub fn cursor(&self) -> usize {
        self.cursor
    }

    /// Grows with each change of text or cursor; for who keeps a layout.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The text in rows of a width.
    pub fn layout(&self, width: u16) -> Layout {
        self.laid().layout(width, self.cursor)
    }

    /// Returns the pieces of a row of the [`layout`](Self::layout) that was made last.
    pub fn row(&self, layout: &Layout, row: usize) -> Vec<Piece> {
        self.laid().pieces(layout, row)
    }

    /// Returns the content.
    pub fn content(&self) -> Content {
        Content { text: self.text.clone(), cursor: self.cursor, atoms: self.atoms.of(&self.text) }
    }

    /// The prompt as it would be sent. For an editor outside, its `text` is what to edit, and
    /// [`set_edited`](Self::set_edited) takes the result.
    pub fn submission(&self) -> Submission {
        self.content().submission()
    }

    /// Takes the prompt out: the editor is empty, with nothing to take back. What was cut can still be put in.
    pub fn take(&mut self) -> Submission {
        let taken = self.submission();
        self.text.clear();
        self.cursor = 0;
        self.undo = Undo::default();
        self.atoms.keep_those_in(self.kills.texts());
        self.moved();
        taken
    }

    /// Something else in place of all of it, as one step.
    pub fn set(&mut self, content: &Content) {
        let text = self.atoms.adopt(&content.text, &content.atoms);
        let all = 0..self.text.len();
        self.change(all, &text, Kind::Whole);
        // As far as characters became others, they became as long ones.
        self.cursor = unit::boundary(&self.text, content.cursor);
        self.moved();
    }

    /// Text in place of all of it, as one step; the cursor is behind it.
    pub fn set_text(&mut self, text: &str) {
        self.set(&Content::of_text(text));
    }

    /// Takes the text of [`submission`](Self::submission) as it was edited elsewhere. Labels of images that are still
    /// in it are those images.
    pub fn set_edited(&mut self, text: &str) {
        let atoms = self.atoms.of(&self.text);
        let mut edited = clean_after("", text.strip_suffix('\n').unwrap_or(text));
        for (c, atom) in &atoms {
            if matches!(atom, Atom::Image { .. }) {
                edited = edited.replacen(&atom.label(), &c.to_string(), 1);
            }
        }
        self.set(&Content { cursor: edited.len(), text: edited, atoms });
    }

    /// Returns the content that was put before the present one, or all of it where that is not known.
    pub fn came_since(&self, before: &Content) -> Option<Content> {
        let text = match self.text.strip_suffix(before.text.as_str()) {
            Some(came) => came.trim_end_matches('\n'),
            None => self.text.as_str(),
        };
        let atoms = self.atoms.of(text);
        (!text.is_empty()).then(|| Content { cursor: text.len(), text: text.to_owned(), atoms })
    }

    /// Puts other prompts before the text, each apart by an empty line; the cursor stays where it is in the text.
    pub fn put_before<'c>(&mut self, prompts: impl IntoIterator<Item = &'c Content>) {
        let mut before: Vec<String> = Vec::new();
        for prompt in prompts.into_iter().filter(|prompt| !prompt.is_empty()) {
            before.push(self.atoms.adopt(prompt.text.trim(), &prompt.atoms));
        }
        if before.is_empty() {
            return;
        }
        if !self.text.is_empty() {
            before.push(String::new());
        }
        let (before, cursor) = (before.join("\n\n"), self.cursor);
        self.change(0..0, &before, Kind::Whole);
        self.cursor = unit::boundary(&self.text, before.len() + cursor);
        self.moved();
    }

    /// Puts text in at the cursor, as one step: what an extension inserts.
    pub fn insert(&mut self, text: &str) {
        let text = self.fit(text);
        self.change(self.cursor..self.cursor, &text, Kind::Whole);
        self.moved();
    }

    /// A text as if it had been cut here: it can be put in.
    pub fn keep_cut(&mut self, text: &str) {
        self.kills.cut(&clean_after("", text), Way::Forward, false);
    }

    /// A character that was typed.
    pub fn type_char(&mut self, c: char) {
        let text = self.fit(c.encode_utf8(&mut [0; 4]));
        let kind = if c == '\n' { Kind::Whole } else { Kind::Typed };
        self.change(self.cursor..self.cursor, &text, kind);
        self.moved();
    }

    /// Text in place of a part of [`text`](Self::text), as one step; the cursor is behind it. A part that begins or ends
    /// within a grapheme is widened.
    pub fn replace(&mut self, part: Range<usize>, text: &str) {
        let end = unit::boundary(&self.text, part.end);
        let mut start = unit::boundary(&self.text, part.start.min(end));
        if start > part.start {
            start = unit::previous(&self.text, start);
        }
        let text = self.fit_at(start, text);
        self.change(start..end, &text, Kind::Whole);
        self.moved();
    }

    /// Text from outside, as it may stand at the cursor.
    fn fit(&self, text: &str) -> String {
        self.fit_at(self.cursor, text)
    }

    fn fit_at(&self, at: usize, text: &str) -> String {
        let before = self.text.get(unit::previous(&self.text, at)..at).unwrap_or_default();
        let text = clean_after(before, text);
        if self.one_line { text.replace('\n', " ") } else { text }
    }

    fn laid(&self) -> Laid<'_> {
        Laid { text: &self.text, atoms: &self.atoms }
    }

    /// The only place where the text changes. The part begins and ends between two units.
    fn change(&mut self, part: Range<usize>, text: &str, kind: Kind) {
        let Some(removed) = self.text.get(part.clone()).map(str::to_owned) else { return };
        if removed.is_empty() && text.is_empty() {
            return;
        }
        let before = self.cursor;
        self.text.replace_range(part.clone(), text);
        // What is put together may be one grapheme.
        self.cursor = unit::boundary(&self.text, part.start + text.len());
        let (at, inserted, after) = (part.start, text.to_owned(), self.cursor);
        self.undo.record(Change { at, removed, inserted, before, after, kind });
    }

    fn moved(&mut self) {
        self.column = None;
        self.last = Last::Other;
        self.revision += 1;
    }

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

    fn yank(&mut self, place: Range<usize>, text: Option<String>) {
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

/// The effect of a key up to a place.
enum Target {
    Move(usize),
    Delete(usize),
    Kill(usize),
}
