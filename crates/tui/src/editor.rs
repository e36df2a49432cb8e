//! The editor: a text of several lines, a cursor, and the effects of keys.
//!
//! Long pastes and images are [`EditorAtom`]s: one character for the cursor, the whole text for the reader of the
//! prompt. Cutting, deleting, moving and undoing work on atoms as on letters.
//!
//! Invariants, enforced by `tests/it/editor.rs`:
//!
//! - The cursor is in the text and between two graphemes.
//! - Undo restores the previous text.
//! - No row is wider than the width.
//! - A folded paste is sent whole.
//! - The text holds no control characters but newlines and tabs.

mod atom;
mod kill_ring;
mod layout;
mod paste;
mod undo;
mod unit;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

use atom::{AtomTable, clean_after, expand_atoms};
use kill_ring::{KillDirection, KillRing};
use layout::TextWithAtoms;
use undo::{ChangeKind, TextChange, UndoHistory};

use crate::keys::Edit;

pub use atom::EditorAtom;
pub use layout::{EditorLayout, NARROWEST, PieceKind, RowPiece};
use paste::is_long_text;
pub use paste::{MOST_CHARACTERS, MOST_LINES, PasteOutcome};
pub use unit::columns;

/// An editable text.
#[derive(Debug, Clone, Default)]
pub struct Editor {
    text: String,
    cursor: usize,
    atoms: AtomTable,
    undo: UndoHistory,
    kills: KillRing,
    /// The column that vertical movement keeps.
    column: Option<usize>,
    last: LastEdit,
    one_line: bool,
    revision: u64,
}

/// The effect of the last key, if the next key can continue it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum LastEdit {
    #[default]
    Other,
    Killed,
    Yanked(Range<usize>),
}

/// The content of an editor with its atoms, to be restored in an editor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EditorContent {
    text: String,
    cursor: usize,
    atoms: BTreeMap<char, EditorAtom>,
}

/// A prompt to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission {
    /// The text, with whole pastes and a label for each image.
    pub text: String,
    /// The images, in the order of their labels in the text.
    pub images: Vec<PathBuf>,
    /// The text for the history, with whole pastes and the path of each image.
    pub history_text: String,
    /// The content to restore when the prompt is cancelled.
    pub content: EditorContent,
}

impl EditorContent {
    /// Makes content of a text, with the cursor at the end.
    pub fn from_text(text: &str) -> Self {
        let text = clean_after("", text);
        Self { cursor: text.len(), text, atoms: BTreeMap::new() }
    }

    /// Makes content of an earlier prompt. As in a paste, a long text is folded, but for its first line.
    pub fn from_prompt(prompt: &str) -> Self {
        let content = Self::from_text(prompt);
        let first_line = content.text.find('\n').map_or(content.text.len(), |end| end + 1);
        let (line, rest) = content.text.split_at(first_line);
        let (kept, long) = if is_long_text(line) { ("", content.text.as_str()) } else { (line, rest) };
        let mut atoms = AtomTable::default();
        let Some(atom) = is_long_text(long).then(|| atoms.add_paste(long)).flatten() else { return content };
        let text = format!("{kept}{atom}");
        Self { cursor: text.len(), atoms: atoms.atoms_in(&text), text }
    }

    /// True if there is no text.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns the prompt, without surrounding blanks.
    pub fn submission(&self) -> Submission {
        let images = self.text.chars().filter_map(|c| match self.atoms.get(&c) {
            Some(EditorAtom::Image { path, .. }) => Some(path.clone()),
            Some(EditorAtom::Paste { .. }) | None => None,
        });
        Submission {
            text: expand_atoms(&self.text, &self.atoms, EditorAtom::prompt_text).trim().to_owned(),
            images: images.collect(),
            history_text: expand_atoms(&self.text, &self.atoms, EditorAtom::history_text)
                .trim_end()
                .to_owned(),
            content: self.clone(),
        }
    }
}

/// The outcome of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "at the first and the last row the key means the history, and where there is no text it may mean to quit"]
pub enum EditOutcome {
    /// The key was handled.
    Done,
    /// There is no row above.
    AtTop,
    /// There is no row below.
    AtBottom,
    /// The text is empty, and the key quits on empty text.
    Empty,
}

impl Editor {
    /// Makes an empty editor.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a single-line editor. Inserted newlines become spaces, and nothing is folded.
    pub fn one_line() -> Self {
        Self { one_line: true, ..Self::default() }
    }

    /// True if there is no text.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns the text with a private-use character for each atom, for completion.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the position of the cursor in [`text`](Self::text), in bytes.
    pub fn cursor(&self) -> usize {
        self.cursor
    }

    /// Returns a number that grows with each change of text or cursor, to validate cached layouts.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Lays out the text in rows of a width.
    pub fn layout(&self, width: u16) -> EditorLayout {
        self.text_with_atoms().layout(width, self.cursor)
    }

    /// Returns the pieces of a row of the latest [`layout`](Self::layout).
    pub fn row_pieces(&self, layout: &EditorLayout, row: usize) -> Vec<RowPiece> {
        self.text_with_atoms().row_pieces(layout, row)
    }

    /// Returns the content.
    pub fn content(&self) -> EditorContent {
        EditorContent { text: self.text.clone(), cursor: self.cursor, atoms: self.atoms.atoms_in(&self.text) }
    }

    /// Returns the prompt as it would be sent. An external editor edits its `text`, and
    /// [`set_edited`](Self::set_edited) takes the result.
    pub fn submission(&self) -> Submission {
        self.content().submission()
    }

    /// Takes the prompt out. The editor is empty afterwards, without undo steps. Cut text can still be pasted.
    pub fn take(&mut self) -> Submission {
        let taken = self.submission();
        self.text.clear();
        self.cursor = 0;
        self.undo = UndoHistory::default();
        self.atoms.retain_used_in(self.kills.texts());
        self.mark_changed();
        taken
    }

    /// Replaces the whole content, as one step.
    pub fn set(&mut self, content: &EditorContent) {
        let text = self.atoms.adopt_text(&content.text, &content.atoms);
        let all = 0..self.text.len();
        self.replace_range(all, &text, ChangeKind::Whole);
        // Replaced characters keep their length.
        self.cursor = unit::next_boundary(&self.text, content.cursor);
        self.mark_changed();
    }

    /// Replaces the whole text, as one step. The cursor is at the end.
    pub fn set_text(&mut self, text: &str) {
        self.set(&EditorContent::from_text(text));
    }

    /// Takes the text of [`submission`](Self::submission) after an external edit. Labels that remain keep their
    /// images.
    pub fn set_edited(&mut self, text: &str) {
        let atoms = self.atoms.atoms_in(&self.text);
        let mut edited = clean_after("", text.strip_suffix('\n').unwrap_or(text));
        for (c, atom) in &atoms {
            if matches!(atom, EditorAtom::Image { .. }) {
                edited = edited.replacen(&atom.label(), &c.to_string(), 1);
            }
        }
        self.set(&EditorContent { cursor: edited.len(), text: edited, atoms });
    }

    /// Returns the content that was inserted before the old content, or the whole content if that is unknown.
    pub fn content_added_since(&self, before: &EditorContent) -> Option<EditorContent> {
        let text = match self.text.strip_suffix(before.text.as_str()) {
            Some(came) => came.trim_end_matches('\n'),
            None => self.text.as_str(),
        };
        let atoms = self.atoms.atoms_in(text);
        (!text.is_empty()).then(|| EditorContent { cursor: text.len(), text: text.to_owned(), atoms })
    }

    /// Inserts other prompts before the text, separated by empty lines. The cursor keeps its place in the text.
    pub fn prepend_prompts<'c>(&mut self, prompts: impl IntoIterator<Item = &'c EditorContent>) {
        let mut before: Vec<String> = Vec::new();
        for prompt in prompts.into_iter().filter(|prompt| !prompt.is_empty()) {
            before.push(self.atoms.adopt_text(prompt.text.trim(), &prompt.atoms));
        }
        if before.is_empty() {
            return;
        }
        if !self.text.is_empty() {
            before.push(String::new());
        }
        let (before, cursor) = (before.join("\n\n"), self.cursor);
        self.replace_range(0..0, &before, ChangeKind::Whole);
        self.cursor = unit::next_boundary(&self.text, before.len() + cursor);
        self.mark_changed();
    }

    /// Inserts text at the cursor, as one step, for an extension.
    pub fn insert(&mut self, text: &str) {
        let text = self.sanitize_for_cursor(text);
        self.replace_range(self.cursor..self.cursor, &text, ChangeKind::Whole);
        self.mark_changed();
    }

    /// Adds a text to the kill ring, as if it had been cut here.
    pub fn push_kill(&mut self, text: &str) {
        self.kills.record_cut(&clean_after("", text), KillDirection::Forward, false);
    }

    /// Inserts a typed character.
    pub fn type_char(&mut self, c: char) {
        let text = self.sanitize_for_cursor(c.encode_utf8(&mut [0; 4]));
        let kind = if c == '\n' { ChangeKind::Whole } else { ChangeKind::Typed };
        self.replace_range(self.cursor..self.cursor, &text, kind);
        self.mark_changed();
    }

    /// Replaces a part of [`text`](Self::text), as one step. The cursor is behind the new text. A range that splits a
    /// grapheme is widened.
    pub fn replace(&mut self, part: Range<usize>, text: &str) {
        let end = unit::next_boundary(&self.text, part.end);
        let mut start = unit::next_boundary(&self.text, part.start.min(end));
        if start > part.start {
            start = unit::previous(&self.text, start);
        }
        let text = self.sanitize_at(start, text);
        self.replace_range(start..end, &text, ChangeKind::Whole);
        self.mark_changed();
    }

    /// Sanitizes text from outside for insertion at the cursor.
    fn sanitize_for_cursor(&self, text: &str) -> String {
        self.sanitize_at(self.cursor, text)
    }

    fn sanitize_at(&self, at: usize, text: &str) -> String {
        let before = self.text.get(unit::previous(&self.text, at)..at).unwrap_or_default();
        let text = clean_after(before, text);
        if self.one_line { text.replace('\n', " ") } else { text }
    }

    fn text_with_atoms(&self) -> TextWithAtoms<'_> {
        TextWithAtoms { text: &self.text, atoms: &self.atoms }
    }

    /// Replaces a range. This is the only place where the text changes. The range begins and ends between two units.
    fn replace_range(&mut self, part: Range<usize>, text: &str, kind: ChangeKind) {
        let Some(removed) = self.text.get(part.clone()).map(str::to_owned) else { return };
        if removed.is_empty() && text.is_empty() {
            return;
        }
        let before = self.cursor;
        self.text.replace_range(part.clone(), text);
        // The joined text may form one grapheme.
        self.cursor = unit::next_boundary(&self.text, part.start + text.len());
        let (at, inserted, after) = (part.start, text.to_owned(), self.cursor);
        self.undo.record(TextChange { at, removed, inserted, before, after, kind });
    }

    fn mark_changed(&mut self) {
        self.column = None;
        self.last = LastEdit::Other;
        self.revision += 1;
    }

    /// Applies an edit action, in an editor of this width.
    pub fn apply_edit(&mut self, action: Edit, width: u16) -> EditOutcome {
        // Text typed before and after another key belongs to two steps.
        if !matches!(action, Edit::DeleteBack | Edit::DeleteForward | Edit::DeleteOrQuit) {
            self.undo.close_step();
        }
        if action == Edit::RowUp {
            return self.move_by_rows(width, -1, EditOutcome::AtTop);
        }
        if action == Edit::RowDown {
            return self.move_by_rows(width, 1, EditOutcome::AtBottom);
        }
        let nothing_to_delete = action == Edit::DeleteOrQuit && self.is_empty();
        match self.edit_target(action) {
            Some(EditTarget::Move(to)) => {
                self.cursor = to;
                self.mark_changed();
            }
            Some(EditTarget::Delete(to)) => self.delete(to),
            Some(EditTarget::Kill(to)) => self.kill(to),
            None => self.apply_untargeted_edit(action),
        }
        if nothing_to_delete { EditOutcome::Empty } else { EditOutcome::Done }
    }

    fn edit_target(&self, action: Edit) -> Option<EditTarget> {
        let (text, at) = (&self.text, self.cursor);
        Some(match action {
            Edit::CharLeft => EditTarget::Move(unit::previous(text, at)),
            Edit::CharRight => EditTarget::Move(unit::next(text, at)),
            Edit::WordLeft => EditTarget::Move(unit::word_start(text, at)),
            Edit::WordRight => EditTarget::Move(unit::word_end(text, at)),
            Edit::LineStart => EditTarget::Move(unit::line_start(text, at)),
            Edit::LineEnd => EditTarget::Move(unit::line_end(text, at)),
            Edit::TextStart => EditTarget::Move(0),
            Edit::TextEnd => EditTarget::Move(text.len()),
            Edit::DeleteBack => EditTarget::Delete(unit::previous(text, at)),
            Edit::DeleteForward | Edit::DeleteOrQuit => EditTarget::Delete(unit::next(text, at)),
            Edit::KillWordBack => EditTarget::Kill(unit::word_start(text, at)),
            Edit::KillWordForward => EditTarget::Kill(unit::word_end(text, at)),
            Edit::KillLineStart => EditTarget::Kill(unit::line_start(text, at)),
            Edit::KillLineEnd => {
                let end = unit::line_end(text, at);
                EditTarget::Kill(if end == at { unit::next(text, at) } else { end })
            }
            Edit::RowUp | Edit::RowDown | Edit::Newline => return None,
            Edit::Yank | Edit::YankPop | Edit::Undo | Edit::Redo => return None,
        })
    }

    fn apply_untargeted_edit(&mut self, action: Edit) {
        match action {
            Edit::Newline => self.type_char('\n'),
            Edit::Yank => {
                let text = self.kills.latest().map(str::to_owned);
                self.yank(self.cursor..self.cursor, text);
            }
            Edit::YankPop => {
                let LastEdit::Yanked(put) = self.last.clone() else { return };
                let text = self.kills.next_older().map(str::to_owned);
                self.yank(put, text);
            }
            Edit::Undo => self.undo(),
            Edit::Redo => self.redo(),
            // These actions have a target or move by rows.
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

    fn move_by_rows(&mut self, width: u16, by: isize, beyond: EditOutcome) -> EditOutcome {
        let layout = self.layout(width);
        let column = self.column.unwrap_or(layout.column);
        let row = layout.row.checked_add_signed(by);
        let Some(place) = row.and_then(|row| self.text_with_atoms().offset_at(&layout, row, column)) else {
            return beyond;
        };
        self.cursor = place;
        self.mark_changed();
        self.column = Some(column);
        EditOutcome::Done
    }

    fn delete(&mut self, to: usize) {
        let kind = if to < self.cursor { ChangeKind::Back } else { ChangeKind::Forward };
        self.replace_range(self.cursor.min(to)..self.cursor.max(to), "", kind);
        self.mark_changed();
    }

    fn kill(&mut self, to: usize) {
        let joins = self.last == LastEdit::Killed;
        let way = if to < self.cursor { KillDirection::Back } else { KillDirection::Forward };
        let part = self.cursor.min(to)..self.cursor.max(to);
        let Some(cut) = self.text.get(part.clone()).filter(|cut| !cut.is_empty()) else { return };
        self.kills.record_cut(cut, way, joins);
        self.replace_range(part, "", ChangeKind::Whole);
        self.mark_changed();
        self.last = LastEdit::Killed;
    }

    fn yank(&mut self, place: Range<usize>, text: Option<String>) {
        let Some(text) = text else { return };
        let text = if self.one_line { text.replace('\n', " ") } else { text };
        let start = place.start;
        self.replace_range(place, &text, ChangeKind::Whole);
        self.mark_changed();
        self.last = LastEdit::Yanked(start..self.cursor);
    }

    fn undo(&mut self) {
        let Some(change) = self.undo.undo() else { return };
        self.text.replace_range(change.at..change.at + change.inserted.len(), &change.removed);
        self.cursor = change.before;
        self.mark_changed();
    }

    fn redo(&mut self) {
        let Some(change) = self.undo.redo() else { return };
        self.text.replace_range(change.at..change.at + change.removed.len(), &change.inserted);
        self.cursor = change.after;
        self.mark_changed();
    }
}

/// The range of an action: from the cursor to a target.
enum EditTarget {
    Move(usize),
    Delete(usize),
    Kill(usize),
}
