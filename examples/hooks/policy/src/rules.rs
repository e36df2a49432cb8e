//! Detects denied shell commands. Pure functions.

/// A kind of denied command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// Recursive, forced removal, in any spelling of its flags.
    RemoveAll,
    /// Becoming root.
    Root,
    /// Overwriting commits that others have pushed.
    ForcePush,
}

impl Rule {
    /// Returns the reason for the model.
    pub fn refusal(self) -> String {
        let (what, instead) = match self {
            Self::RemoveAll => ("rm -rf", "remove single files"),
            Self::Root => ("sudo", "work with the rights you have"),
            Self::ForcePush => ("git push --force", "push without force"),
        };
        format!("{what} is refused here; {instead}")
    }
}

/// Returns the first rule that a shell command violates.
pub fn broken_by(command: &str) -> Option<Rule> {
    // Quotes and backslashes hide words from this check but not from the shell.
    let bare: String = command.chars().filter(|letter| !matches!(letter, '"' | '\'' | '\\')).collect();
    let separators = [';', '|', '&', '\n', '(', ')', '{', '}', '`', '$'];
    bare.split(separators).find_map(|part| broken_by_words(&part.split_whitespace().collect::<Vec<_>>()))
}

fn broken_by_words(words: &[&str]) -> Option<Rule> {
    let has = |short: &[char], long: &str| {
        words.iter().any(|word| {
            let flags = word.strip_prefix('-').filter(|flags| !flags.starts_with('-'));
            *word == long || flags.is_some_and(|flags| flags.contains(short))
        })
    };
    let runs = |name: &str| words.iter().any(|word| word.rsplit('/').next() == Some(name));
    if runs("rm") && has(&['r', 'R'], "--recursive") && has(&['f'], "--force") {
        Some(Rule::RemoveAll)
    } else if runs("sudo") {
        Some(Rule::Root)
    } else if runs("git") && words.contains(&"push") && has(&['f'], "--force") {
        Some(Rule::ForcePush)
    } else {
        None
    }
}
