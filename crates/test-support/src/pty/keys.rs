//! Bytes of a legacy terminal for keys.

/// Returns the bytes of a key: a character, or a name such as `enter`, `shift+tab`, `ctrl+o`, `alt+enter`.
///
/// # Panics
/// Panics if the key is unknown.
#[track_caller]
pub fn key(name: &str) -> Vec<u8> {
    if let Some(rest) = name.strip_prefix("alt+") {
        return [b"\x1b".to_vec(), key(rest)].concat();
    }
    if let Some(&[letter]) = name.strip_prefix("ctrl+").map(str::as_bytes) {
        return vec![letter & 0x1f];
    }
    let sent = match name {
        "enter" => "\r",
        "esc" => "\x1b",
        "tab" => "\t",
        "shift+tab" => "\x1b[Z",
        "backspace" => "\x7f",
        "delete" => "\x1b[3~",
        "space" => " ",
        "up" => "\x1b[A",
        "down" => "\x1b[B",
        "right" => "\x1b[C",
        "left" => "\x1b[D",
        "home" => "\x1b[H",
        "end" => "\x1b[F",
        "pageup" => "\x1b[5~",
        "pagedown" => "\x1b[6~",
        "f1" => "\x1bOP",
        character if character.chars().count() == 1 => character,
        other => panic!("unknown key {other:?}; see crates/test-support/src/pty/keys.rs"),
    };
    sent.as_bytes().to_vec()
}
