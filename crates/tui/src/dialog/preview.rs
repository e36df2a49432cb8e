//! The change that a yes allows, as a diff in place of the arguments.
//!
//! Invariant: a diff replaces the arguments only if it is complete. Its characters are escaped like those of arguments, so
//! that none stays invisible. Enforced by `tests/it/dialog/preview.rs`.

use haft_protocol::content::{CallPreview, FileDiff};

use super::Question;
use super::call::{ArgumentRow, LineMark, escape_invisible, escape_line};
use crate::diff::{DiffLineKind, UnifiedLine, parse_unified};

impl Question {
    /// Returns the diff to show in place of the arguments.
    pub(super) fn whole_diff(&self) -> Option<&FileDiff> {
        match &self.preview {
            Some(CallPreview::Diff(diff)) if !diff.cut && !diff.unified.is_empty() => Some(diff),
            Some(CallPreview::Diff(_) | CallPreview::Error(_)) | None => None,
        }
    }

    /// Returns the reason why the arguments are shown in place of a diff, if a diff was to be expected.
    pub(super) fn missing_diff_note(&self) -> Option<String> {
        match self.preview.as_ref()? {
            CallPreview::Error(reason) => Some(format!("No diff: {reason}")),
            CallPreview::Diff(diff) if diff.cut => {
                Some(format!("The diff is too long: {}", diff_title(diff)))
            }
            CallPreview::Diff(diff) if diff.unified.is_empty() => {
                Some(format!("The diff is empty: {}", diff_title(diff)))
            }
            CallPreview::Diff(_) => None,
        }
    }
}

/// Formats the title of a diff, for example `src/lib.rs +3 −1`.
pub(super) fn diff_title(diff: &FileDiff) -> String {
    format!("{} +{} −{}", escape_invisible(&diff.path), diff.added, diff.removed)
}

/// Returns the lines of a diff with their numbers.
pub(super) fn diff_rows(diff: &FileDiff) -> Vec<ArgumentRow> {
    let lines = parse_unified(&diff.unified);
    let most = lines.iter().filter_map(|line| line.number).max();
    let digits = most.map_or(0, |most| most.to_string().len());
    let begins_file = |(at, line): &(usize, &UnifiedLine<'_>)| {
        *at == 0 && line.kind == DiffLineKind::Part && line.text.is_empty()
    };
    let shown = lines.iter().enumerate().filter(|line| !begins_file(line));
    shown.map(|(_, line)| diff_row(line, digits)).collect()
}

fn diff_row(UnifiedLine { kind, number, text }: &UnifiedLine<'_>, digits: usize) -> ArgumentRow {
    let mark = match kind {
        DiffLineKind::Part => {
            let text = format!("⋯ {}", escape_line(text));
            return ArgumentRow { text: text.trim_end().to_owned(), ..ArgumentRow::default() };
        }
        DiffLineKind::Added => LineMark::Added,
        DiffLineKind::Removed => LineMark::Removed,
        DiffLineKind::Note | DiffLineKind::Context => LineMark::Context,
    };
    let number = number.map(|number| number.to_string()).unwrap_or_default();
    let gutter = if digits == 0 { String::new() } else { format!("{number:>digits$} ") };
    ArgumentRow { gutter, mark, text: escape_line(text), indent: 0 }
}
