//! Sequences for the terminal itself: its clipboard (OSC 52, which also works over ssh), the window title, and desktop
//! notifications (OSC 9).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::clean::CleanLine;

/// The maximum size in bytes of base64: terminals accept about 100,000, and some truncate without an error.
const MOST: usize = 100_000;

/// Returns the sequence that copies a text to the terminal's clipboard. The error is shown to the person.
///
/// tmux accepts the sequence only with its option `set-clipboard` `on`, and forwards a wrapped sequence only with
/// `allow-passthrough` `on`. Neither can be queried, and a disabled one is ignored. So tmux receives both.
///
/// # Errors
/// When the text is longer than terminals accept.
pub fn clipboard_sequence(text: &str, tmux: bool) -> Result<String, String> {
    let coded = STANDARD.encode(text);
    if coded.len() > MOST {
        let most = MOST / 4 * 3 / 1024;
        return Err(format!(
            "The text is longer than {most} KiB, the limit of the terminal's clipboard; write it to a file with /export."
        ));
    }
    let plain = format!("\x1b]52;c;{coded}\x1b\\");
    // Escapes are doubled inside the wrapper.
    let wrapped = if tmux { format!("\x1bPtmux;\x1b\x1b]52;c;{coded}\x07\x1b\\") } else { String::new() };
    Ok(plain + &wrapped)
}

/// The maximum number of characters of a title.
const LONGEST_TITLE: usize = 200;

/// Returns the sequence that sets the window title. A title is one line without control sequences, so every title is
/// sanitized here.
pub fn title_sequence(text: &str) -> String {
    format!("\x1b]2;{}\x1b\\", short_line(text))
}

/// Returns the sequence that shows a desktop notification. Terminals without notifications ignore it. tmux passes a
/// wrapped sequence on with `allow-passthrough` `on`.
pub(super) fn notification_sequence(text: &str, tmux: bool) -> String {
    let text = short_line(text);
    match tmux {
        true => format!("\x1bPtmux;\x1b\x1b]9;{text}\x07\x1b\\"),
        false => format!("\x1b]9;{text}\x1b\\"),
    }
}

fn short_line(text: &str) -> String {
    // Removed characters need no room, but the scan must be bounded.
    let end = text.char_indices().nth(4 * LONGEST_TITLE).map_or(text.len(), |(at, _)| at);
    let text = CleanLine::new(text.get(..end).unwrap_or_default());
    text.as_str().chars().take(LONGEST_TITLE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodes_clipboard_text_as_base64() {
        assert_eq!(clipboard_sequence("hé\n", false).unwrap(), "\x1b]52;c;aMOpCg==\x1b\\");
        assert_eq!(clipboard_sequence("", false).unwrap(), "\x1b]52;c;\x1b\\");
        let both = "\x1b]52;c;aGk=\x1b\\\x1bPtmux;\x1b\x1b]52;c;aGk=\x07\x1b\\";
        assert_eq!(clipboard_sequence("hi", true).unwrap(), both);
    }

    #[test]
    fn rejects_too_long_clipboard_text() {
        assert!(clipboard_sequence(&"x".repeat(75_000), false).is_ok());
        let error = clipboard_sequence(&"x".repeat(75_001), false).unwrap_err();
        assert!(error.contains("is longer than 73 KiB, the limit of the terminal's clipboard"), "{error}");
    }

    #[test]
    fn notification_is_one_sanitized_line() {
        assert_eq!(notification_sequence("haft: a\nb\x07", false), "\x1b]9;haft: a b\x1b\\");
        assert_eq!(notification_sequence("done", true), "\x1bPtmux;\x1b\x1b]9;done\x07\x1b\\");
    }

    #[test]
    fn title_is_one_sanitized_line() {
        assert_eq!(title_sequence("haft – a;b"), "\x1b]2;haft – a;b\x1b\\");
        assert_eq!(title_sequence("a\x1b\\\x07b\u{9c}c\nd\u{202e}e"), "\x1b]2;abc d\u{fffd}e\x1b\\");
        assert_eq!(title_sequence(&"x".repeat(1000)).len(), LONGEST_TITLE + 6);
    }
}
