//! Diffs of a change, for the model and for the user.

use std::path::Path;

use haft_protocol::RawJson;
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
struct FileChangeDetails<'a> {
    diff: SerializedDiff<'a>,
}

#[derive(Serialize)]
struct SerializedDiff<'a> {
    path: &'a str,
    unified: &'a str,
    /// The number of added lines.
    added: usize,
    /// The number of removed lines.
    removed: usize,
    /// True if `unified` is only the beginning.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    cut: bool,
}

impl Diff {
    /// Compares an old text, if any, with a new one.
    pub(crate) fn new(shown: &str, old: Option<&str>, new: &str) -> Self {
        // Carriage returns and the byte order mark would only distract the reader of the diff.
        let [before, after] = [old.unwrap_or_default(), new]
            .map(|text| text.trim_start_matches('\u{feff}').replace("\r\n", "\n"));
        let (mut from, to) = match Path::new(shown).is_absolute() {
            true => (shown.to_owned(), shown.to_owned()),
            false => (format!("a/{shown}"), format!("b/{shown}")),
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

    pub(crate) fn details(&self, path: &str) -> Option<RawJson> {
        let cut = self.unified.len() > MAX_SHOWN;
        let kept = self.unified.get(..self.unified.floor_char_boundary(MAX_SHOWN)).unwrap_or_default();
        let unified = match kept.rsplit_once('\n') {
            Some((lines, _)) if cut => lines,
            _ => kept,
        };
        let (added, removed) = (self.added, self.removed);
        RawJson::from_value(&FileChangeDetails {
            diff: SerializedDiff { path, unified, added, removed, cut },
        })
        .ok()
    }
}
