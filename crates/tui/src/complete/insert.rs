//! What is put in for a candidate.

use super::{Accepted, Candidate, Kind, Wanted};

/// What to put in, with what parts it from what comes next.
pub(super) fn accepted(wanted: &Wanted, candidate: &Candidate, text: &str) -> Accepted {
    let behind = text.get(wanted.range.end..).unwrap_or_default();
    let blank = if behind.starts_with(char::is_whitespace) { "" } else { " " };
    let (text, complete) = match &wanted.kind {
        Kind::Command if candidate.hint.is_empty() => (format!("/{}", candidate.text), true),
        Kind::Command => (format!("/{}{blank}", candidate.text), false),
        Kind::Argument { .. } => (format!("{}{blank}", candidate.text), false),
        Kind::File { quoted } => (file(&candidate.text, *quoted, blank), false),
    };
    Accepted { range: wanted.range.clone(), text, complete }
}

/// A path, in quotes where it needs some. A directory is left open, for what is in it.
fn file(path: &str, quoted: bool, blank: &str) -> String {
    let quoted = quoted || path.contains(char::is_whitespace);
    match (quoted, path.ends_with('/')) {
        (false, true) => format!("@{path}"),
        (false, false) => format!("@{path}{blank}"),
        (true, true) => format!("@\"{path}"),
        (true, false) => format!("@\"{path}\"{blank}"),
    }
}
