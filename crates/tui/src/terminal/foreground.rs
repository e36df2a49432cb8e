//! Shell commands of the person that get the terminal.

use std::path::Path;

/// Runs the shell `$0` with the command `$1`, and waits until the person has read the output. An interrupt is meant
/// for the command.
const SCRIPT: &str = r#"trap : INT
"$0" -c "$1"
status=$?
printf '\n[exit status %s; press enter to return to haft] ' "$status"
read -r _
exit "$status""#;

/// Returns the words that run a shell command in the foreground, with the shell of the tool `bash`.
pub(super) fn foreground_words(command: &str) -> Vec<String> {
    if cfg!(windows) {
        return ["cmd", "/C", command].map(str::to_owned).to_vec();
    }
    let bash = "/bin/bash";
    let shell = if Path::new(bash).exists() { bash } else { "/bin/sh" };
    ["/bin/sh", "-c", SCRIPT, shell, command].map(str::to_owned).to_vec()
}
