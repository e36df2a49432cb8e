//! The table as documentation.

use std::fmt::Write as _;

use super::{ACTIONS, Section};

/// The table as Markdown: for each section what it is for, and a row for each action.
pub fn markdown() -> String {
    let mut out = String::new();
    for section in Section::ALL {
        let about = section.about().split_whitespace().collect::<Vec<_>>().join(" ");
        // Writing to a string does not fail.
        let _ =
            write!(out, "### `{}`\n\n{about}\n\n| action | keys | does |\n|---|---|---|\n", section.prefix());
        for entry in ACTIONS.iter().filter(|entry| entry.section == *section) {
            let keys = entry.keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(" ");
            let kept = if entry.fixed { " (kept)" } else { "" };
            let _ = writeln!(out, "| `{}` | {keys}{kept} | {} |", entry.name, entry.help);
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_action_has_a_row() {
        let text = markdown();
        assert!(ACTIONS.iter().all(|entry| text.contains(entry.name)));
        assert!(text.lines().filter(|line| line.starts_with('|')).all(|line| line.matches('|').count() == 4));
        insta::assert_snapshot!(text.split("\n### ").last().unwrap(), @"
        `panel`

        While an extension's panel has the keyboard; every other key goes to the extension.

        | action | keys | does |
        |---|---|---|
        | `panel.close` | `esc` `ctrl+c` (kept) | Closes the panel. |
        ");
    }
}
