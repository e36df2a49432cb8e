//! Texts for the terminal itself: its clipboard (OSC 52, which works over ssh, too) and the title of its window.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::clean::CleanLine;

/// The most bytes of base64 that are sent: terminals take 100,000 or so, and some cut without a word.
const MOST: usize = 100_000;

/// Returns the text that puts this text on the terminal's clipboard; the error is for the person.
///
/// tmux takes it from programs only with its option `set-clipboard` `on`, and hands it on wrapped only with
/// `allow-passthrough` `on`. Neither can be asked about, and what is off is left out. So tmux is sent both.
///
/// # Errors
/// When the text is longer than terminals take.
pub fn clipboard_sequence(text: &str, tmux: bool) -> Result<String, String> {
    let coded = STANDARD.encode(text);
    if coded.len() > MOST {
        let most = MOST / 4 * 3 / 1024;
        return Err(format!(
            "The text is longer than {most} KiB, the limit of the terminal's clipboard; write it to a file with /export."
        ));
    }
    let plain = format!("\x1b]52;c;{coded}\x1b\\");
    // Inside, each escape is written twice.
    let wrapped = if tmux { format!("\x1bPtmux;\x1b\x1b]52;c;{coded}\x07\x1b\\") } else { String::new() };
    Ok(plain + &wrapped)
}

/// The most characters of a title, which a program must not make endless.
const LONGEST_TITLE: usize = 200;

/// Returns the text that sets the title of the terminal's window. Terminals show titles of one line; what else is in it
/// they must not obey, so it is cleaned here, whoever made it.
pub fn title_sequence(text: &str) -> String {
    // What is taken out by cleaning takes no room; there is no end to look for it, though.
    let end = text.char_indices().nth(4 * LONGEST_TITLE).map_or(text.len(), |(at, _)| at);
    let text = CleanLine::new(text.get(..end).unwrap_or_default());
    let text: String = text.as_str().chars().take(LONGEST_TITLE).collect();
    format!("\x1b]2;{text}\x1b\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_sent_as_base64() {
        assert_eq!(clipboard_sequence("hé\n", false).unwrap(), "\x1b]52;c;aMOpCg==\x1b\\");
        assert_eq!(clipboard_sequence("", false).unwrap(), "\x1b]52;c;\x1b\\");
        let both = "\x1b]52;c;aGk=\x1b\\\x1bPtmux;\x1b\x1b]52;c;aGk=\x07\x1b\\";
        assert_eq!(clipboard_sequence("hi", true).unwrap(), both);
    }

    #[test]
    fn text_that_is_too_long_is_not_cut() {
        assert!(clipboard_sequence(&"x".repeat(75_000), false).is_ok());
        let error = clipboard_sequence(&"x".repeat(75_001), false).unwrap_err();
        assert!(error.contains("is longer than the 73 KiB that the terminal's clipboard takes"), "{error}");
    }

    #[test]
    fn a_title_is_one_line_and_no_more() {
        assert_eq!(title_sequence("haft – a;b"), "\x1b]2;haft – a;b\x1b\\");
        assert_eq!(title_sequence("a\x1b\\\x07b\u{9c}c\nd\u{202e}e"), "\x1b]2;abc d\u{fffd}e\x1b\\");
        assert_eq!(title_sequence(&"x".repeat(1000)).len(), LONGEST_TITLE + 6);
    }
}
