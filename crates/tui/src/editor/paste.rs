//! Pasted text: short text, long text that is folded, and paths of images.

use std::path::{Path, PathBuf};

use super::Editor;
use super::undo::ChangeKind;

/// The maximum number of lines that are pasted without folding.
pub const MOST_LINES: usize = 10;

/// The maximum number of characters that are pasted without folding.
pub const MOST_CHARACTERS: usize = 1000;

/// The file name extensions of images that models can read.
const IMAGES: &[&str] = &["png", "jpg", "jpeg", "gif", "webp"];

/// The outcome of a paste.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PasteOutcome {
    /// The paste was inserted as text.
    Text,
    /// The paste was folded into one atom.
    Folded,
    /// The paste was inserted as text and may be paths of images. Once the files are known to exist,
    /// [`fold_images`](Editor::fold_images) turns the paths into images.
    Images {
        /// The inserted text.
        text: String,
        /// The paths.
        paths: Vec<PathBuf>,
    },
}

impl Editor {
    /// Inserts a paste, as one step. `may_be_image` is called for paths with the extension of an image.
    pub fn paste(&mut self, text: &str, may_be_image: impl Fn(&Path) -> bool) -> PasteOutcome {
        let text = self.sanitize_for_cursor(text);
        if self.one_line {
            self.insert_text(&text);
            return PasteOutcome::Text;
        }
        if let Some(paths) = parse_image_paths(&text, may_be_image) {
            self.insert_text(&text);
            return PasteOutcome::Images { text, paths };
        }
        match is_long_text(&text).then(|| self.atoms.add_paste(&text)).flatten() {
            Some(atom) => {
                self.insert_text(&atom.to_string());
                PasteOutcome::Folded
            }
            None => {
                self.insert_text(&text);
                PasteOutcome::Text
            }
        }
    }

    /// Replaces pasted paths that are still in the text with images, as one step. Returns true if they were replaced.
    pub fn fold_images(&mut self, text: &str, paths: Vec<PathBuf>) -> bool {
        let before = self.text.get(..self.cursor).unwrap_or_default();
        let Some(at) = before.rfind(text).or_else(|| self.text.find(text)) else { return false };
        let atoms = paths.into_iter().map(|path| Some(format!("{} ", self.atoms.add_image(path)?)));
        let Some(atoms) = atoms.collect::<Option<String>>() else { return false };
        let (cursor, end) = (self.cursor, at + text.len());
        // Text typed next to it may have joined its first or last character.
        if [at, end].iter().any(|edge| super::unit::next_boundary(&self.text, *edge) != *edge) {
            return false;
        }
        self.undo.close_step();
        self.replace_range(at..end, &atoms, ChangeKind::Whole);
        // A cursor that moved on keeps its place.
        let behind = cursor.checked_sub(end).map(|behind| at + atoms.len() + behind);
        let place = if cursor <= at { Some(cursor) } else { behind };
        self.cursor = super::unit::next_boundary(&self.text, place.unwrap_or(self.cursor));
        self.mark_changed();
        true
    }

    fn insert_text(&mut self, text: &str) {
        self.undo.close_step();
        self.replace_range(self.cursor..self.cursor, text, ChangeKind::Whole);
        self.mark_changed();
    }
}

/// True if a text is folded.
pub(super) fn is_long_text(text: &str) -> bool {
    text.lines().count() > MOST_LINES || text.chars().count() > MOST_CHARACTERS
}

fn parse_image_paths(text: &str, may_be_image: impl Fn(&Path) -> bool) -> Option<Vec<PathBuf>> {
    let is_one = |path: &Path| {
        let ends = path.extension().and_then(|ends| ends.to_str());
        ends.is_some_and(|ends| IMAGES.iter().any(|image| image.eq_ignore_ascii_case(ends)))
            && may_be_image(path)
    };
    let text = text.trim();
    // A path may contain unquoted blanks.
    let whole = || (!text.contains('\n')).then(|| PathBuf::from(text)).filter(|path| is_one(path));
    let several = parse_paths(text).filter(|paths| paths.iter().all(|path| is_one(path)));
    several.or_else(|| whole().map(|path| vec![path]))
}

/// Parses several paths as file managers and shells write them: quoted, with backslashes, or as URLs. `None` for
/// other text.
fn parse_paths(text: &str) -> Option<Vec<PathBuf>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            // On Windows, backslashes separate path components.
            (None, '\\') if chars.peek().is_some_and(|next| !next.is_alphanumeric()) => {
                word.get_or_insert_default().extend(chars.next());
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    let paths: Option<Vec<PathBuf>> = words.iter().map(|word| parse_path(word)).collect();
    paths.filter(|paths| !paths.is_empty() && quote.is_none())
}

fn parse_path(word: &str) -> Option<PathBuf> {
    let Some(address) = word.strip_prefix("file://") else { return Some(word.into()) };
    let mut bytes = Vec::new();
    let mut rest = address.strip_prefix("localhost").unwrap_or(address).bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok().filter(|path| path.starts_with('/')).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &[&str]) {
        let expect = expect.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(parse_paths(text).unwrap_or_default(), expect, "{text}");
    }

    #[test]
    fn parses_paths_of_file_managers() {
        check("/a/b.png", &["/a/b.png"]);
        check("'/a/b c.png' /d.png", &["/a/b c.png", "/d.png"]);
        check(r"/a/b\ c.png", &["/a/b c.png"]);
        check("file:///a/b%20c.png\nfile://localhost/d.png", &["/a/b c.png", "/d.png"]);
        check("'/a.png", &[]);
        check("file:///a%zz.png", &[]);
        check(" ", &[]);
        check(r"C:\pictures\a.png", &[r"C:\pictures\a.png"]);
    }
}
