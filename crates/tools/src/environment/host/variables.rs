//! The environment variables of commands.

use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Endings of names whose values are usually secrets.
const SECRET_ENDINGS: &[&str] = &[
    "_ACCESS_KEY",
    "_ACCESS_KEY_ID",
    "_API_KEY",
    "_APIKEY",
    "_AUTH",
    "_AUTH_TOKEN",
    "_CREDENTIALS",
    "_PASS",
    "_PASSPHRASE",
    "_PASSWD",
    "_PASSWORD",
    "_PAT",
    "_PRIVATE_KEY",
    "_SECRET",
    "_SECRET_KEY",
    "_SECRETS",
    "_SESSION_TOKEN",
    "_TOKEN",
];

/// Whole names of variables with secrets, and of sockets that give access to keys.
const SECRET_NAMES: &[&str] =
    &["API_KEY", "MYSQL_PWD", "PASSWORD", "SECRET", "SSH_AUTH_SOCK", "GPG_AGENT_INFO", "TOKEN"];

/// True if the value of a variable is usually a secret, by its name.
pub(super) fn is_secret(name: &OsStr) -> bool {
    let Some(name) = name.to_str().map(str::to_ascii_uppercase) else { return false };
    SECRET_NAMES.contains(&name.as_str()) || SECRET_ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// Returns the secret variables of this process, except the permitted ones.
pub(super) fn secret_variables(permitted: &[OsString]) -> impl Iterator<Item = OsString> {
    let names = std::env::vars_os().map(|(name, _)| name);
    names.filter(|name| is_secret(name) && !permitted.contains(name))
}

/// Marks the commands of tools, so that haft refuses to change trust, approvals and extensions for them.
const TOOL_MARK: (&str, &str) = (haft_launch::TOOL_VARIABLE, "1");

/// Variables that prevent programs from waiting for a person.
const UNATTENDED: &[(&str, &str)] = &[
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("GIT_ASKPASS", "false"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("MANPAGER", "cat"),
    ("PAGER", "cat"),
    ("SSH_ASKPASS", "false"),
    ("SSH_ASKPASS_REQUIRE", "never"),
    ("SYSTEMD_PAGER", "cat"),
    ("TERM", "dumb"),
];

/// Variables that name the editor that a program opens.
const EDITORS: &[&str] = &["EDITOR", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "VISUAL"];

/// Returns the variables that mark commands and keep them from waiting for a person. `editor` is a program that fails and says why.
pub(super) fn unattended_variables(editor: Option<&Path>) -> Vec<(OsString, OsString)> {
    let fixed = UNATTENDED
        .iter()
        .chain([&TOOL_MARK])
        .map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let editor =
        editor.into_iter().flat_map(|editor| EDITORS.iter().map(move |name| (name.into(), editor.into())));
    fixed.chain(editor).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognizes_secrets_by_name() {
        for name in
            ["ANTHROPIC_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "Db_Password", "SSH_AUTH_SOCK"]
        {
            assert!(is_secret(OsStr::new(name)), "{name}");
        }
        for name in ["PATH", "HOME", "TOKENIZERS_PARALLELISM", "XAUTHORITY", "KEYBOARD", "AUTHOR", "PASSAGE"]
        {
            assert!(!is_secret(OsStr::new(name)), "{name}");
        }
    }
}
