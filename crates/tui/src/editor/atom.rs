//! Atoms: parts of the text that are one character for the cursor and represent more.
//!
//! Each atom is a private-use character in the text, so moving, cutting and undoing work on atoms without extra code.
//! [`clean_after`] removes those characters from text from outside.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_core::sanitize::{Sanitizer, sanitize_line};
use unicode_segmentation::UnicodeSegmentation as _;

/// The first of the characters that represent atoms.
const FIRST: char = '\u{100000}';
const LAST: char = '\u{10fffd}';

/// The longest file name in a label, in characters.
const LONGEST_NAME: usize = 40;

pub(super) fn is_atom(c: char) -> bool {
    (FIRST..=LAST).contains(&c)
}

/// A part of the text that is shown as a label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditorAtom {
    /// A long pasted text.
    Paste {
        /// Counted from 1.
        number: usize,
        /// The text.
        text: Arc<str>,
    },
    /// An attached image.
    Image {
        /// Counted from 1.
        number: usize,
        /// The path of the file.
        path: PathBuf,
    },
}

impl EditorAtom {
    /// Returns the label, for example `[paste #1: 120 lines]`.
    pub fn label(&self) -> String {
        match self {
            Self::Paste { number, text } => match text.lines().count() {
                0 | 1 => format!("[paste #{number}: {} characters]", text.chars().count()),
                lines => format!("[paste #{number}: {lines} lines]"),
            },
            Self::Image { number, path } => format!("[image #{number}: {}]", display_name(path)),
        }
    }

    pub(super) fn prompt_text(&self) -> String {
        match self {
            Self::Paste { text, .. } => text.to_string(),
            Self::Image { .. } => self.label(),
        }
    }

    pub(super) fn history_text(&self) -> String {
        match self {
            Self::Paste { text, .. } => text.to_string(),
            Self::Image { path, .. } => sanitize_line(&path.to_string_lossy()),
        }
    }
}

fn display_name(path: &Path) -> String {
    let name = path.file_name().map_or_else(|| path.to_string_lossy(), |name| name.to_string_lossy());
    let name = sanitize_line(&name);
    let mut graphemes = name.graphemes(true);
    let short: String = graphemes.by_ref().take(LONGEST_NAME).collect();
    if graphemes.next().is_some() { short + "…" } else { short }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct AtomTable {
    known: BTreeMap<char, EditorAtom>,
    pastes: usize,
    images: usize,
}

impl AtomTable {
    pub(super) fn get(&self, c: char) -> Option<&EditorAtom> {
        self.known.get(&c)
    }

    /// Returns the character for a long text. `None` if all characters are in use.
    pub(super) fn add_paste(&mut self, text: &str) -> Option<char> {
        let c = self.add(EditorAtom::Paste { number: self.pastes + 1, text: text.into() })?;
        self.pastes += 1;
        Some(c)
    }

    /// Returns the character for an image. `None` if all characters are in use.
    pub(super) fn add_image(&mut self, path: PathBuf) -> Option<char> {
        let c = self.add(EditorAtom::Image { number: self.images + 1, path })?;
        self.images += 1;
        Some(c)
    }

    fn add(&mut self, atom: EditorAtom) -> Option<char> {
        let c = (FIRST..=LAST).find(|c| !self.known.contains_key(c))?;
        self.known.insert(c, atom);
        Some(c)
    }

    /// Adopts an older text with its atoms. An atom whose character is used for something else gets a new character.
    pub(super) fn adopt_text(&mut self, text: &str, atoms: &BTreeMap<char, EditorAtom>) -> String {
        let adopted = text.chars().filter_map(|c| {
            let Some(atom) = atoms.get(&c) else { return (!is_atom(c)).then_some(c) };
            match self.known.get(&c) {
                Some(known) if known == atom => Some(c),
                Some(_) => self.add(atom.clone()),
                None => {
                    self.known.insert(c, atom.clone());
                    Some(c)
                }
            }
        });
        adopted.collect()
    }

    pub(super) fn atoms_in(&self, text: &str) -> BTreeMap<char, EditorAtom> {
        let chars = text.chars().filter(|c| is_atom(*c));
        chars.filter_map(|c| Some((c, self.known.get(&c)?.clone()))).collect()
    }

    pub(super) fn retain_used_in<'t>(&mut self, texts: impl Iterator<Item = &'t str>) {
        let mut kept = BTreeMap::new();
        texts.for_each(|text| kept.extend(self.atoms_in(text)));
        self.known = kept;
    }
}

/// Replaces each atom in a text.
pub(super) fn expand_atoms(
    text: &str,
    atoms: &BTreeMap<char, EditorAtom>,
    with: impl Fn(&EditorAtom) -> String,
) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match atoms.get(&c) {
            Some(atom) => out.push_str(&with(atom)),
            None => out.push(c),
        }
    }
    out
}

/// Sanitizes a text that follows another one. Lines end with a newline only; control characters and the characters of
/// atoms are removed.
///
/// The text before it matters, because a joiner inside an emoji may arrive as a separate key.
pub(super) fn clean_after(before: &str, text: &str) -> String {
    let mut sanitizer = Sanitizer::default();
    sanitizer.push(before);
    let safe = sanitizer.push(&normalize_newlines(text));
    safe.chars().map(|c| if is_atom(c) { '\u{fffd}' } else { c }).collect()
}

/// Converts all line ends to newlines.
fn normalize_newlines(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}
