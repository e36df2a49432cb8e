//! Text from outside, made fit for the editor.

use haft_core::sanitize::Sanitizer;

use super::atom::is_atom;

/// A text that comes behind another one: lines end with a newline and nothing else, there are no control characters, and
/// no characters that stand for atoms.
///
/// What is before it counts, because a joiner that an emoji needs may come in a key of its own.
pub(super) fn clean_after(before: &str, text: &str) -> String {
    let mut sanitizer = Sanitizer::default();
    sanitizer.push(before);
    let safe = sanitizer.push(&newlines(text));
    safe.chars().map(|c| if is_atom(c) { '\u{fffd}' } else { c }).collect()
}

/// Lines that end as they do elsewhere, with a newline alone.
fn newlines(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}
