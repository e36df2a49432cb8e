//! The environment variables of commands.

use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Words of names whose values are usually secrets. A name is split at `_` and other separators, at digits, and
/// between a small and a capital letter.
const SECRET_WORDS: &[&str] = &[
    "AUTH",
    "AUTHORIZATION",
    "BEARER",
    "COOKIE",
    "COOKIES",
    "CREDS",
    "JWT",
    "KEY",
    "KEYS",
    "PASS",
    "PASSCODE",
    "PAT",
];

/// Texts that make a name secret wherever they occur in it.
const SECRET_PARTS: &[&str] = &[
    "ACCESSKEY",
    "APIKEY",
    "CREDENTIAL",
    "PASSPHRASE",
    "PASSWD",
    "PASSWORD",
    "PRIVATEKEY",
    "SECRET",
    "TOKEN",
];

/// A harmless word that contains one of [`SECRET_PARTS`], as in `TOKENIZERS_PARALLELISM`.
const HARMLESS_PART: &str = "TOKENIZ";

/// The beginning of names with the keys of git settings, such as `GIT_CONFIG_KEY_0`. git fails if one is missing.
const GIT_SETTING: &str = "GIT_CONFIG_KEY_";

/// A secret word if it is not the whole name: `PWD` is the working directory, `MYSQL_PWD` a password.
const SECRET_IF_QUALIFIED: &str = "PWD";

/// A variable with the address of a program that uses keys.
const AGENT_ADDRESS: &str = "GPG_AGENT_INFO";

/// True if the value of a variable is usually a secret, by its name or because it is an address with a password.
fn is_secret(name: &OsStr, value: &OsStr) -> bool {
    has_secret_name(&name.to_string_lossy()) || contains_password(&value.to_string_lossy())
}

fn has_secret_name(name: &str) -> bool {
    if name.starts_with(GIT_SETTING) {
        return false;
    }
    let upper = name.to_ascii_uppercase().replace(HARMLESS_PART, "");
    let qualified = |word: &str| word == SECRET_IF_QUALIFIED && upper != SECRET_IF_QUALIFIED;
    upper == AGENT_ADDRESS
        || SECRET_PARTS.iter().any(|part| upper.contains(part))
        || words_in(name).iter().any(|word| SECRET_WORDS.contains(&word.as_str()) || qualified(word))
}

/// Splits a name into words in capital letters.
fn words_in(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_small = false;
    for char in name.chars() {
        let is_letter = char.is_ascii_alphabetic();
        if !is_letter || (char.is_ascii_uppercase() && after_small) {
            words.push(String::new());
        }
        if let (true, Some(word)) = (is_letter, words.last_mut()) {
            word.push(char.to_ascii_uppercase());
        }
        after_small = char.is_ascii_lowercase();
    }
    words
}

/// True if a text contains an address with a password: `scheme://user:password@host`.
fn contains_password(text: &str) -> bool {
    let rests = text.match_indices("://").filter_map(|(at, mark)| text.get(at + mark.len()..));
    rests.filter_map(|rest| rest.split_whitespace().next()?.split_once(':')).any(|(user, rest)| {
        let Some((password, _)) = rest.split_once('@') else { return false };
        // In `host:80/@scope`, the text after the colon is a port.
        let port = password.split_once(['/', '?', '#']).map(|(port, _)| port);
        let is_port = port.is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()));
        !user.contains(['/', '?', '#', '@', '[']) && !password.is_empty() && !is_port
    })
}

/// Returns the secret variables of this process, except the permitted ones.
pub(super) fn secret_variables(permitted: &[OsString]) -> impl Iterator<Item = OsString> {
    let secrets = std::env::vars_os().filter(|(name, value)| is_secret(name, value)).map(|(name, _)| name);
    secrets.filter(|name| !permitted.contains(name))
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

    #[track_caller]
    fn check(variables: &[(&str, &str)], expect: bool) {
        for (name, value) in variables {
            let name = OsStr::new(name);
            assert_eq!(is_secret(name, OsStr::new(value)), expect, "{name:?} = {value:?}");
        }
    }

    #[test]
    fn recognizes_secrets_by_name() {
        let secrets = "ANTHROPIC_API_KEY GITHUB_TOKEN AWS_SECRET_ACCESS_KEY AWS_ACCESS_KEY_ID Db_Password SSH_AUTH_SOCK \
             GPG_AGENT_INFO PGPASSWORD PRIVATE_KEY OPENAI_KEY KEY2 apikey passphrase JWT CREDS MYSECRETS ACCESSKEY \
             DOCKER_AUTH_CONFIG COOKIE dbPass openaiKey MYSQL_PWD SMTP_PASS GH_PAT npm_config_//host/:_authToken";
        check(&secrets.split_whitespace().map(|name| (name, "value")).collect::<Vec<_>>(), true);
        let harmless = "PATH HOME PWD OLDPWD TOKENIZERS_PARALLELISM XAUTHORITY KEYBOARD KEYMAP XKB_DEFAULT_LAYOUT \
             GPG_TTY GIT_AUTHOR_NAME PASSAGE COMPASS SSH_ASKPASS KEYTIMEOUT LESSKEY GIT_CONFIG_KEY_0";
        check(&harmless.split_whitespace().map(|name| (name, "value")).collect::<Vec<_>>(), false);
    }

    #[test]
    fn recognizes_addresses_with_password() {
        let secrets = [
            "postgres://u:pw@host/db",
            "redis://:pw@host",
            "jdbc:postgresql://u:p/w@host/db",
            "http://a http://u:1@host",
        ];
        check(&secrets.map(|value| ("DATABASE_URL", value)), true);
        let harmless = [
            "",
            "ssh://git@host/x",
            "http://host:80/@scope/name",
            "http://host:80",
            "http://[::1]:80/a@b",
            "http://host/a:b@c",
            "user:password@host",
            "http://u:@host",
        ];
        check(&harmless.map(|value| ("DATABASE_URL", value)), false);
    }

    #[cfg(unix)]
    #[test]
    fn recognizes_secrets_with_names_that_are_not_unicode() {
        use std::os::unix::ffi::OsStrExt as _;
        assert!(is_secret(OsStr::from_bytes(b"\xffPASSWORD"), OsStr::new("x")));
    }
}
