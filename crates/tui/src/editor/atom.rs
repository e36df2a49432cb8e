//! Atoms: pieces of the text that are one character for the cursor and stand for more.
//!
//! In the text each is a character of a private plane, so that whatever moves, cuts and undoes text does the same with
//! them. Text from outside never has those characters: [`clean_after`] takes them out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_core::sanitize::{Sanitizer, sanitize_line};
use unicode_segmentation::UnicodeSegmentation as _;

/// The characters that stand for atoms.
const FIRST: char = '\u{100000}';
const LAST: char = '\u{10fffd}';

/// The longest file name that is shown, in characters.
const LONGEST_NAME: usize = 40;

pub(super) fn is_atom(c: char) -> bool {
    (FIRST..=LAST).contains(&c)
}

/// A part of the text that is shown by a label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditorAtom {
    /// A long text that was pasted.
    Paste {
        /// Counted from 1.
        number: usize,
        /// The text.
        text: Arc<str>,
    },
    /// An image that goes along.
    Image {
        /// Counted from 1.
        number: usize,
        /// Where it lies.
        path: PathBuf,
    },
}

impl EditorAtom {
    /// Returns the label in its place: `[paste #1: 120 lines]`.
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

    /// The character for a long text. None when there are none left.
    pub(super) fn add_paste(&mut self, text: &str) -> Option<char> {
        let c = self.add(EditorAtom::Paste { number: self.pastes + 1, text: text.into() })?;
        self.pastes += 1;
        Some(c)
    }

    /// The character for an image. None when there are none left.
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

    /// A text of another time with its atoms. One whose character means something else by now gets another.
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

/// A text with something else for each of its atoms.
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

/// A text that comes behind another one: lines end with a newline and nothing else, there are no control characters, and
/// no characters that stand for atoms.
///
/// What is before it counts, because a joiner that an emoji needs may come in a key of its own.
pub(super) fn clean_after(before: &str, text: &str) -> String {
    let mut sanitizer = Sanitizer::default();
    sanitizer.push(before);
    let safe = sanitizer.push(&normalize_newlines(text));
    safe.chars().map(|c| if is_atom(c) { '\u{fffd}' } else { c }).collect()
}

/// Lines that end as they do elsewhere, with a newline alone.
fn normalize_newlines(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}
