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

/// Names under which models and other agents know the built-in tools, in lower case: a built-in tool
/// and its aliases.
pub const TOOL_ALIASES: &[(&str, &[&str])] = &[
    (
        "bash",
        &[
            "exec",
            "exec_command",
            "execute_command",
            "local_shell",
            "run_command",
            "run_shell_command",
            "run_terminal_cmd",
            "sh",
            "shell",
            "shell_command",
            "terminal",
        ],
    ),
    ("edit", &["edit_file", "multiedit", "replace", "search_replace", "str_replace", "str_replace_editor"]),
    ("find", &["file_search", "find_files", "glob"]),
    ("grep", &["grep_search", "ripgrep", "search_file_content", "search_files"]),
    ("ls", &["list", "list_dir", "list_directory", "list_files"]),
    ("read", &["cat", "open_file", "read_file", "view", "view_file"]),
    ("write", &["create_file", "write_file", "write_to_file"]),
];

/// Returns the names of the tools that an entry of a filter selects, in lower case: the entry itself
/// and, for an alias, the built-in tool. Every filter of tools uses this function, so that no filter
/// misses calls because of a spelling.
///
/// ```
/// use haft_protocol::names::selected_tools;
///
/// assert!(selected_tools("Bash").eq(["bash"]));
/// assert!(selected_tools("Shell").eq(["shell", "bash"]));
/// ```
pub fn selected_tools(entry: &str) -> impl Iterator<Item = String> {
    let entry = entry.to_ascii_lowercase();
    let known = TOOL_ALIASES.iter().find(|(_, aliases)| aliases.contains(&&*entry));
    let tool = known.filter(|_| is_up(Defense::ToolAliases)).map(|(tool, _)| (*tool).to_owned());
    std::iter::once(entry).chain(tool)
}

/// The entry of a list of tools that means every tool.
pub const ALL_TOOLS: &str = "*";

/// True if a list of tools, such as `tools.approve`, contains this tool.
pub fn lists_tool(entries: &[String], tool: &str) -> bool {
    entries.iter().any(|entry| entry == ALL_TOOLS || selects_tool(entry, tool))
}

/// Returns the entries of a list of tools that none of these tools has.
pub fn unknown_tools<'a>(entries: &[String], tools: impl Iterator<Item = &'a str> + Clone) -> Vec<String> {
    let is_known =
        |entry: &&String| *entry == ALL_TOOLS || tools.clone().any(|tool| selects_tool(entry, tool));
    entries.iter().filter(|entry| !is_known(entry)).cloned().collect()
}

/// True if an entry of a filter selects this tool.
pub fn selects_tool(entry: &str, tool: &str) -> bool {
    selected_tools(entry).any(|selected| selected.eq_ignore_ascii_case(tool))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::MAX_NAME;

    #[test]
    fn filter_selects_tools_by_name_and_alias() {
        for entry in ["bash", "Bash", "SHELL", "run_shell_command"] {
            assert!(selects_tool(entry, "bash") && !selects_tool(entry, "read"), "{entry}");
        }
        assert!(selects_tool("shell", "Shell"), "a tool of an extension");
        assert!(!selects_tool("bash", "shell"), "only an entry can be an alias");
        assert!(!selects_tool("", "bash") && !selects_tool("bas", "bash"));
    }

    #[test]
    fn star_lists_every_tool() {
        let lists = |entries: &[&str], tool: &str| {
            lists_tool(&entries.iter().map(|entry| (*entry).to_owned()).collect::<Vec<_>>(), tool)
        };
        assert!(lists(&["*"], "todo") && lists(&["read", "Shell"], "bash"));
        assert!(!lists(&[], "bash") && !lists(&["read"], "bash"));
        let entries = ["*", "Shell", "rm", "READ"].map(str::to_owned);
        assert_eq!(unknown_tools(&entries, ["bash", "read"].into_iter()), ["rm"]);
    }

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
