//! The person's own editor.

use std::io;
use std::process::Command;

use crate::token::VARIABLES as TOKEN_VARIABLES;

/// Runs an editor until it is closed, in the foreground as haft is: in a group of its own it could not read a
/// key. Its exit code; none where a signal ended it.
///
/// # Errors
/// Why it cannot be started.
#[expect(clippy::disallowed_methods, reason = "the editor has the terminal, and is waited for")]
pub(super) fn run(words: &[String]) -> io::Result<Option<i32>> {
    let (program, args) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    command.args(args);
    TOKEN_VARIABLES.iter().for_each(|name| _ = command.env_remove(name));
    Ok(command.status()?.code())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn an_editor_has_its_words() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("text.md").display().to_string();
        let words = |script: &str| ["sh", "-c", script, &file].map(str::to_owned);
        assert_eq!(run(&words("printf edited >\"$0\"")).unwrap(), Some(0));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "edited");
        assert_eq!(run(&words("exit 3")).unwrap(), Some(3));
        assert_eq!(run(&words("kill -9 $$")).unwrap(), None);
        assert!(run(&["no-such-editor".to_owned()]).is_err());
        assert!(run(&[]).is_err());
    }
}
