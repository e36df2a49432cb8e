//! The title of the terminal's window.

use crate::clean::CleanLine;

/// The most characters of a title, which a program must not make endless.
const MOST: usize = 200;

/// What the terminal is sent so that its window has this title. Terminals show titles of one line; what else is in it they
/// must not obey, so it is cleaned here, whoever made it.
pub fn title(text: &str) -> String {
    // What is taken out by cleaning takes no room; there is no end to look for it, though.
    let end = text.char_indices().nth(4 * MOST).map_or(text.len(), |(at, _)| at);
    let text = CleanLine::new(text.get(..end).unwrap_or_default());
    let text: String = text.as_str().chars().take(MOST).collect();
    format!("\x1b]2;{text}\x1b\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_one_line_and_no_more() {
        assert_eq!(title("haft – a;b"), "\x1b]2;haft – a;b\x1b\\");
        assert_eq!(title("a\x1b\\\x07b\u{9c}c\nd\u{202e}e"), "\x1b]2;abc d\u{fffd}e\x1b\\");
        assert_eq!(title(&"x".repeat(1000)).len(), MOST + 6);
    }
}
