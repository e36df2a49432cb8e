//! Detects dangerous shell commands. Pure functions.

/// A pattern that the extension blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Danger {
    /// Recursive, forced removal, in any spelling of its flags.
    RemoveAll,
    /// Becoming root.
    Root,
    /// Writing to a file or device with `dd`.
    RawWrite,
    /// Making a file system.
    Format,
    /// A function that calls itself twice without end.
    ForkBomb,
    /// Write permission for all users on everything.
    OpenAll,
}

impl Danger {
    /// Returns the usual name of the pattern.
    pub fn name(self) -> &'static str {
        match self {
            Self::RemoveAll => "rm -rf",
            Self::Root => "sudo",
            Self::RawWrite => "dd of=",
            Self::Format => "mkfs",
            Self::ForkBomb => "fork bomb",
            Self::OpenAll => "chmod -R 777",
        }
    }
}

/// Returns the first dangerous pattern in a shell command.
pub fn danger_in(command: &str) -> Option<Danger> {
    if command.split_whitespace().collect::<String>().contains("(){:|:&};:") {
        return Some(Danger::ForkBomb);
    }
    // Quotes and backslashes hide words from this check but not from the shell.
    let bare: String = command.chars().filter(|letter| !matches!(letter, '"' | '\'' | '\\')).collect();
    let separators = [';', '|', '&', '\n', '(', ')', '{', '}', '`', '$'];
    bare.split(separators).find_map(|part| danger_in_words(&part.split_whitespace().collect::<Vec<_>>()))
}

fn danger_in_words(words: &[&str]) -> Option<Danger> {
    words.iter().enumerate().find_map(|(at, word)| {
        let args = words.get(at + 1..).unwrap_or_default();
        let first = words.iter().take(at).all(|before| is_prefix(before));
        match word.rsplit('/').next().unwrap_or(word) {
            "rm" if has_flag(args, 'r', "--recursive") && has_flag(args, 'f', "--force") => {
                Some(Danger::RemoveAll)
            }
            "sudo" | "doas" if first => Some(Danger::Root),
            "dd" if args.iter().any(|arg| arg.starts_with("of=")) => Some(Danger::RawWrite),
            program if first && (program == "mkfs" || program.starts_with("mkfs.")) => Some(Danger::Format),
            "chmod" if has_flag(args, 'r', "--recursive") && args.iter().any(|arg| opens_all(arg)) => {
                Some(Danger::OpenAll)
            }
            _ => None,
        }
    })
}

/// True if a command may follow this word: an assignment, a flag or a program that starts another.
fn is_prefix(word: &str) -> bool {
    let starters =
        ["env", "exec", "command", "nohup", "time", "xargs", "nice", "bash", "sh", "then", "do", "else", "!"];
    word.contains('=') || word.starts_with('-') || starters.contains(&word)
}

/// True if a flag is present: `-r`, `-R`, `-rf`, `--recursive`. `rm` accepts both cases of the
/// letter, `chmod` only one of them.
fn has_flag(args: &[&str], short: char, long: &str) -> bool {
    args.iter().any(|arg| {
        let is_short = arg.starts_with('-') && !arg.starts_with("--");
        *arg == long || is_short && arg.chars().any(|letter| letter.eq_ignore_ascii_case(&short))
    })
}

fn opens_all(mode: &str) -> bool {
    matches!(mode, "777" | "0777" | "a+rwx" | "a=rwx" | "ugo+rwx")
}
