//! Diffs of a change, for the model and for the user.

use std::path::Path;

use haft_protocol::RawJson;
use haft_protocol::content::FileDiff;
use serde::Serialize;
use similar::{ChangeTag, TextDiff};

use crate::timeouts;

/// The maximum size of a diff in the details of a result, in bytes.
const MAX_SHOWN: usize = 64 * 1024;

/// The difference between two texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Diff {
    /// The unified diff with three lines of context and the file names.
    pub(crate) unified: String,
    added: usize,
    removed: usize,
}

/// The form of a diff in the details of a result.
#[derive(Serialize)]
struct FileChangeDetails {
    diff: FileDiff,
}

impl Diff {
    /// Compares an old text, if any, with a new one.
    pub(crate) fn new(shown: &str, old: Option<&str>, new: &str) -> Self {
        let [before, after] = without_common_marks(old, new);
        let name = shown.replace(char::is_control, "\u{fffd}");
        let (mut from, to) = match Path::new(shown).is_absolute() {
            true => (name.clone(), name),
            false => (format!("a/{name}"), format!("b/{name}")),
        };
        if old.is_none() {
            from = "/dev/null".to_owned();
        }
        let diff = TextDiff::configure().timeout(timeouts::DIFF).diff_lines(before.as_str(), after.as_str());
        let lines = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
        Self {
            added: lines(ChangeTag::Insert),
            removed: lines(ChangeTag::Delete),
            unified: diff.unified_diff().header(&from, &to).to_string(),
        }
    }

    /// Returns the removed and added lines with their signs, without their places.
    pub(crate) fn changed_lines(&self) -> Vec<&str> {
        // The first two lines are the names of the file.
        self.unified.split('\n').skip(2).filter(|line| line.starts_with(['+', '-'])).collect()
    }

    /// Returns the diff for people and programs.
    pub(crate) fn to_file_diff(&self, path: &str) -> FileDiff {
        let cut = self.unified.len() > MAX_SHOWN;
        let kept = self.unified.get(..self.unified.floor_char_boundary(MAX_SHOWN)).unwrap_or_default();
        let unified = match kept.rsplit_once('\n') {
            Some((lines, _)) if cut => lines,
            _ => kept,
        };
        FileDiff::new(path.to_owned(), unified.to_owned(), self.added as u64, self.removed as u64)
            .with_cut(cut)
    }

    pub(crate) fn details(&self, path: &str) -> Option<RawJson> {
        RawJson::from_value(&FileChangeDetails { diff: self.to_file_diff(path) }).ok()
    }
}

/// Returns both texts without carriage returns and byte order marks, which would only distract the reader of the diff.
/// Keeps them if the change is about them: if one text has others than the other one, or both kinds of line ends.
fn without_common_marks(old: Option<&str>, new: &str) -> [String; 2] {
    const MARK: char = '\u{feff}';
    let mut texts = [old.unwrap_or_default(), new];
    if let [Some(before), Some(after)] = texts.map(|text| text.strip_prefix(MARK)) {
        texts = [before, after];
    }
    let has_only_crlf = |text: &str| text.matches('\n').count() == text.matches("\r\n").count();
    match texts.into_iter().all(has_only_crlf) {
        true => texts.map(|text| text.replace("\r\n", "\n")),
        false => texts.map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(old: Option<&str>, new: &str, expect: [&str; 2]) {
        assert_eq!(without_common_marks(old, new), expect);
    }

    #[test]
    fn shows_line_ends_only_if_they_change() {
        check(Some("a\r\nb\r\n"), "a\r\n", ["a\nb\n", "a\n"]);
        check(Some("a\r\n"), "a\n", ["a\r\n", "a\n"]);
        check(Some("a\n"), "a\r\n", ["a\n", "a\r\n"]);
        check(Some("a\r\nb\n"), "a\nb\r\n", ["a\r\nb\n", "a\nb\r\n"]);
        check(None, "a\r\n", ["", "a\n"]);
        check(Some("\u{feff}a"), "\u{feff}b", ["a", "b"]);
        check(Some("\u{feff}a"), "a", ["\u{feff}a", "a"]);
    }

    #[test]
    fn path_cannot_add_lines() {
        let diff = Diff::new("a\n+evil", Some("x\n"), "y\n");
        assert_eq!(diff.unified, "--- a/a\u{fffd}+evil\n+++ b/a\u{fffd}+evil\n@@ -1 +1 @@\n-x\n+y\n");
    }
}
