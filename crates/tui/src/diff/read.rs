//! Unified diffs, line by line. How many lines a part has is said at its beginning, so that a removed line `-- a` is
//! not taken for the name of a file.

use haft_core::sanitize::sanitize;

use super::{DiffLine, Kind};
use crate::clean::Clean;

/// What `@@ -1,4 +1,5 @@ fn main()` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    old: Place,
    new: Place,
    within: String,
}

/// Lines of one side.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Place {
    /// The number of the next one.
    next: usize,
    /// How many are to come.
    left: usize,
}

impl Part {
    pub(super) fn of(line: &str) -> Option<Self> {
        let (places, within) = line.strip_prefix("@@ -")?.split_once(" @@")?;
        let (old, new) = places.split_once(" +")?;
        Some(Self { old: Place::of(old)?, new: Place::of(new)?, within: within.trim().to_owned() })
    }

    fn is_over(&self) -> bool {
        self.old.left == 0 && self.new.left == 0
    }

    /// One of its lines.
    fn line(&mut self, line: &str) -> Option<DiffLine> {
        let mut chars = line.chars();
        let (kind, number) = match chars.next() {
            Some('+') => (Kind::Added, self.new.take()?),
            Some('-') => (Kind::Removed, self.old.take()?),
            // Some programs leave out the blank of an empty line.
            Some(' ') | None => {
                self.old.take()?;
                (Kind::Context, self.new.take()?)
            }
            Some('\\') => return Some(diff_line(Kind::Note, None, line)),
            Some(_) => return None,
        };
        Some(diff_line(kind, Some(number), chars.as_str()))
    }
}

impl Place {
    fn of(text: &str) -> Option<Self> {
        let (next, left) = text.split_once(',').unwrap_or((text, "1"));
        Some(Self { next: next.parse().ok()?, left: left.parse().ok()? })
    }

    fn take(&mut self) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        let number = self.next;
        self.next = self.next.saturating_add(1);
        Some(number)
    }
}

pub(super) fn lines(outside: &str) -> Vec<DiffLine> {
    // First, because colours may stand before the signs; tabs count from behind the sign.
    let text = sanitize(outside);
    let mut part: Option<Part> = None;
    let mut lines = Vec::new();
    for line in text.lines() {
        let within = part.as_mut().filter(|part| !part.is_over() || line.starts_with('\\'));
        if let Some(found) = within.and_then(|part| part.line(line)) {
            lines.push(found);
        } else if let Some(begun) = Part::of(line) {
            lines.push(diff_line(Kind::Part, None, &begun.within));
            part = Some(begun);
        } else {
            part = None;
            lines.extend(outside_of_parts(line));
        }
    }
    lines
}

/// Returns a line outside of parts. The names of files are left out: the path says the same.
fn outside_of_parts(line: &str) -> Option<DiffLine> {
    const HEADERS: &[&str] = &[
        "--- ",
        "+++ ",
        "diff ",
        "index ",
        "new file",
        "deleted file",
        "rename ",
        "similarity ",
        "old mode",
        "new mode",
        "Binary files",
    ];
    if HEADERS.iter().any(|header| line.starts_with(header)) {
        return None;
    }
    let mut chars = line.chars();
    Some(match chars.next() {
        Some('+') => diff_line(Kind::Added, None, chars.as_str()),
        Some('-') => diff_line(Kind::Removed, None, chars.as_str()),
        Some(' ') => diff_line(Kind::Context, None, chars.as_str()),
        _ => diff_line(Kind::Context, None, line),
    })
}

fn diff_line(kind: Kind, number: Option<usize>, text: &str) -> DiffLine {
    DiffLine { kind, number, text: Clean::new(text) }
}
