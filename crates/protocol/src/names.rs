//! Rules for names, used by the host and by the SDK, which reports violations earlier.
//!
//! People type names and see them in lists; haft sends them to models and uses them as file names.
//! Names are therefore ASCII, without look-alike letters, text directions, or characters with a
//! meaning for terminals or paths.

use crate::defense::{Defense, is_up};

/// The name of haft itself, where extensions are identified by name. No extension can have it.
pub const HAFT: &str = "haft";

/// True if a command may have this name: letters, digits, `_` and `-`, at most `longest`
/// characters.
///
/// ```
/// use haft_protocol::limits::MAX_NAME;
/// use haft_protocol::names::is_command;
///
/// assert!(is_command("todo-list", MAX_NAME));
/// assert!(!is_command("todo list", MAX_NAME));
/// ```
pub fn is_command(name: &str, longest: usize) -> bool {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    (1..=longest).contains(&name.len()) && plain || !is_up(Defense::Names)
}

/// True if a tool may have this name: the rule of commands, and the first character is a letter.
/// Providers accept no other names.
pub fn is_tool(name: &str, longest: usize) -> bool {
    let letter = name.starts_with(|first: char| first.is_ascii_alphabetic());
    is_command(name, longest) && letter || !is_up(Defense::Names)
}

/// True if an extension may have this name, which its directory and log also have: letters, digits,
/// `.`, `_` and `-`, at most `longest` characters. The first character is a letter or digit.
/// [`HAFT`] is reserved in any case.
pub fn is_extension(name: &str, longest: usize) -> bool {
    (1..=longest).contains(&name.len())
        && !name.eq_ignore_ascii_case(HAFT)
        && name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::MAX_NAME;

    /// Checks the rules for a command, a tool and an extension, in this order.
    #[track_caller]
    fn check(name: &str, expect: (bool, bool, bool)) {
        let got = (is_command(name, MAX_NAME), is_tool(name, MAX_NAME), is_extension(name, MAX_NAME));
        assert_eq!(got, expect, "{name:?}");
    }

    #[test]
    fn accepts_valid_names() {
        check("weather", (true, true, true));
        check("Todo_list-2", (true, true, true));
        check("1st", (true, false, true));
        check("_x", (true, false, false));
        check("-x", (true, false, false));
        check("hello.py", (false, false, true));
        check("a..b", (false, false, true));
        check("haft-tools", (true, true, true));
        check("haft", (true, true, false));
        check("Haft", (true, true, false));
        check(&"x".repeat(MAX_NAME), (true, true, true));
    }

    #[test]
    fn rejects_invalid_names() {
        let long = "x".repeat(10 * 1024);
        let bad = [
            "",
            " ",
            "two words",
            "new\nline",
            "tab\t",
            "nul\0",
            "bell\u{7}",
            "\x1b[31mred",
            "\u{9b}31mred",
            "del\x7f",
            "../../x",
            "..",
            ".hidden",
            "/etc/passwd",
            "a/b",
            "a\\b",
            "C:x",
            "b\u{e4}sh",
            "b\u{430}sh",
            "ba\u{455}h",
            "\u{202e}hsab",
            "bash\u{200b}",
            "\u{5d1}\u{5e9}",
            "\u{ff42}ash",
            "ba\u{301}sh",
            "bash\u{e0041}",
            "$(id)",
            "%n",
            "'",
            "{}",
            &long,
        ];
        for name in bad {
            check(name, (false, false, false));
        }
        // Valid as the name of a directory but not of a tool.
        check("host.exec", (false, false, true));
        check(&"x".repeat(MAX_NAME + 1), (false, false, false));
    }
}
