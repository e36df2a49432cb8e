//! Recognizes in the output of a command that the sandbox blocked it.

use std::path::{Path, PathBuf};

use crate::environment::{AccessKind, Environment, ToolSandbox};

/// Lines at the end of the output that are searched for messages.
const LINES: usize = 50;

/// Messages about a read-only file system. Inside the sandbox, all files outside of the workspace are on one.
const READ_ONLY: &[&str] = &["Read-only file system", "EROFS"];

/// The message about a protected path, which a command cannot replace or remove.
const BUSY: &str = "Device or resource busy";

/// The terminal, which commands never have, not even outside of the sandbox.
const TERMINAL: &str = "/dev/tty";

/// Messages about missing permissions, which have other causes as well.
const DENIED: &[&str] = &["Permission denied", "Operation not permitted", "EACCES", "EPERM"];

/// Messages about a network that cannot be reached.
const UNREACHABLE: &[&str] = &[
    "Could not resolve host",
    "Couldn't resolve host",
    "EAI_AGAIN",
    "ENETUNREACH",
    "Name or service not known",
    "Network is unreachable",
    "Temporary failure in name resolution",
    "failed to lookup address information",
    "getaddrinfo",
];

/// Returns the note for the model about what the sandbox blocked; `None` if it blocked nothing, as far as the output
/// of a failed command shows.
pub(super) async fn blocked_note(environment: &dyn Environment, output: &str) -> Option<String> {
    let sandbox = environment.sandbox()?;
    let lines = || output.lines().rev().take(LINES);
    let mentions = |texts: &[&str]| lines().any(|line| texts.iter().any(|text| line.contains(text)));
    let what = if mentions(READ_ONLY) && sandbox.read_only {
        "write, which the sandbox level read-only permits only in $TMPDIR".to_owned()
    } else if mentions(READ_ONLY) {
        "write outside of the workspace, or to a protected path".to_owned()
    } else if mentions(&[BUSY]) {
        "write to a protected path".to_owned()
    } else if !sandbox.network && mentions(UNREACHABLE) {
        "use of the network".to_owned()
    } else {
        let path = denied_path(environment, lines().flat_map(denied_paths_in)).await?;
        format!("access to {}", path.display())
    };
    Some(format!("blocked by the sandbox: {what}; {}", next_step(sandbox)))
}

fn next_step(sandbox: &ToolSandbox) -> String {
    let writable: Vec<_> = sandbox.write.iter().map(|path| path.display().to_string()).collect();
    let places = if writable.is_empty() { String::new() } else { format!("{} and ", writable.join(", ")) };
    format!("commands can write to {places}$TMPDIR; to ask the user for this command, pass outside_sandbox")
}

/// Returns the first of the paths that the sandbox denies.
async fn denied_path(environment: &dyn Environment, paths: impl Iterator<Item = &str>) -> Option<PathBuf> {
    for path in paths.map(Path::new) {
        if environment.check_access(path, AccessKind::Write).await.is_err() {
            return Some(path.to_owned());
        }
    }
    None
}

/// Returns the absolute paths of which a message about missing permissions can speak.
fn denied_paths_in(line: &str) -> impl Iterator<Item = &str> {
    let is_denial = DENIED.iter().any(|text| line.contains(text));
    // The path at the beginning is the program that reports, unless the message follows it directly.
    let line = line.trim_start();
    let is_program = line.starts_with('/')
        && !line.split_once(": ").is_some_and(|(_, rest)| DENIED.iter().any(|text| rest.starts_with(text)));
    let paths = paths_in(line).filter(move |_| is_denial).skip(usize::from(is_program));
    paths.filter(|path| *path != TERMINAL)
}

/// Returns the absolute paths in a message.
fn paths_in(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split(|char: char| char.is_whitespace() || "'\"`:,()".contains(char));
    words.filter(|word| word.starts_with('/') && word.len() > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, paths: &[&str]) {
        assert_eq!(denied_paths_in(line).collect::<Vec<_>>(), paths, "{line}");
    }

    #[test]
    fn finds_the_denied_paths_of_a_message() {
        check("/bin/bash: line 1: /etc/x: Permission denied", &["/etc/x"]);
        check("bash: line 1: /etc/x: Permission denied", &["/etc/x"]);
        check("/etc/x: Permission denied", &["/etc/x"]);
        check("mv: cannot move '/a' to '/b': Operation not permitted", &["/a", "/b"]);
        check("PermissionError: [Errno 13] Permission denied: '/etc/x'", &["/etc/x"]);
        check("Error: EACCES: permission denied, open '/etc/x'", &["/etc/x"]);
    }

    #[test]
    fn finds_no_path_that_was_not_denied() {
        check("/usr/bin/ld: cannot open output file a: Permission denied", &[]);
        check("/bin/bash: line 1: /dev/tty: Permission denied", &[]);
        check("cat: /etc/x: No such file or directory", &[]);
    }
}
