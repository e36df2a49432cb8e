//! The editor: a text of several lines, a cursor, and what keys do with them.
//!
//! Long pastes and images are [`Atom`]s: one character for the cursor, the whole thing for who reads the prompt. What can
//! be cut, deleted, moved and undone is the same for them as for letters.
//!
//! Invariants, enforced by `tests/it/editor.rs`: the cursor is in the text and between two graphemes; what is taken back
//! leaves the text as it was; no row is wider than the width; what was folded is sent whole; the text holds no control
//! character but newlines and tabs.

mod act;
mod atom;
mod clean;
mod kill;
mod layout;
mod paste;
mod undo;
mod unit;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

use atom::{Atoms, expand};
use clean::clean_after;
use kill::Kills;
use layout::Laid;
use undo::{Change, Kind, Undo};

pub use act::Outcome;
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

/// What the last key did, as far as the next one goes on with it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Last {
    #[default]
    Other,
    Killed,
    Yanked(Range<usize>),
}

/// What an editor held, with its atoms, to be put back into it or another one.
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
    /// What to put back into the editor when it is taken back.
    pub content: Content,
}

impl Content {
    /// A text, with the cursor behind it.
    pub fn of_text(text: &str) -> Self {
        let text = clean_after("", text);
        Self { cursor: text.len(), text, atoms: BTreeMap::new() }
    }

    /// Whether there is no text.
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

impl Editor {
    /// An editor of prompts, with nothing in it.
    pub fn new() -> Self {
        Self::default()
    }

    /// An editor of a single line: newlines that are put in are spaces, and nothing is folded.
    pub fn one_line() -> Self {
        Self { one_line: true, ..Self::default() }
    }

    /// Whether there is no text.
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

    /// What is shown of a row of the [`layout`](Self::layout) that was made last.
    pub fn row(&self, layout: &Layout, row: usize) -> Vec<Piece> {
        self.laid().pieces(layout, row)
    }

    /// What it holds.
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

    /// What came of the text of [`submission`](Self::submission) elsewhere. Labels of images that are still in it are
    /// those images.
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

    /// What was put before what stood here, or all of it where it is not known what that is.
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
        self.kills.cut(&clean_after("", text), kill::Way::Forward, false);
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

    /// Whatever comes next has nothing to do with what was.
    fn moved(&mut self) {
        self.column = None;
        self.last = Last::Other;
        self.revision += 1;
    }
}
