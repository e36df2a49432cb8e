//! Environment variables of an extension: only listed names of haft's own environment are passed on.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use haft_protocol::defense::{Defense, is_up};
use haft_protocol::ids::ExtensionName;

/// Passed to every extension: the locations of programs, files and certificates, and the locale.
const PASSED: &[&str] = &[
    "HOME",
    "LANG",
    "LANGUAGE",
    "LOGNAME",
    "PATH",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TEMP",
    "TMP",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_DIRS",
    "XDG_CONFIG_HOME",
    "XDG_DATA_DIRS",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
];

/// Prefixes of names that are also passed.
const PASSED_PREFIXES: &[&str] = &["LC_"];

/// Addresses of proxies: passed to every extension without the user name and the password in them. An extension that
/// was granted one of them gets all of it.
const PROXIES: &[&str] = &[
    "ALL_PROXY",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "all_proxy",
    "https_proxy",
    "http_proxy",
    "no_proxy",
];

/// Variables that programs on Windows need.
const PASSED_ON_WINDOWS: &[&str] = &[
    "ALLUSERSPROFILE",
    "APPDATA",
    "COMMONPROGRAMFILES",
    "COMMONPROGRAMFILES(X86)",
    "COMPUTERNAME",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "NUMBER_OF_PROCESSORS",
    "OS",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "PROGRAMW6432",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "USERDOMAIN",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
];

/// Never passed on, even if the user names them: they make programs run other code.
const REFUSED: &[&str] = &[
    "BASHOPTS",
    "BASH_ENV",
    "CLASSPATH",
    "ENV",
    "IFS",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "NODE_OPTIONS",
    "NODE_PATH",
    "PERL5DB",
    "PERL5LIB",
    "PERL5OPT",
    "PERLLIB",
    "PROMPT_COMMAND",
    "PS4",
    "RUBYLIB",
    "RUBYOPT",
    "SHELLOPTS",
    "_JAVA_OPTIONS",
];

/// Prefixes of names that are also never passed on.
const REFUSED_PREFIXES: &[&str] = &["DYLD_", "GIT_", "LD_", "PYTHON"];

/// Set for extensions of a project. An interpreter's cache beside the code would run at the next start, so it would
/// change the trusted files and end the project's trust.
pub const FOR_PROJECTS: &[(&str, &str)] = &[("PYTHONDONTWRITEBYTECODE", "1")];

/// The environment of extensions. Keys, tokens and all other variables that are neither listed here nor granted do
/// not reach an extension.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExtensionEnv {
    /// The variables that the user grants to single extensions, by the extension's name; see [`check_grant`].
    pub granted: BTreeMap<ExtensionName, Vec<String>>,
    /// Variables that are set for every extension.
    pub set: Vec<(String, String)>,
    /// Names that are never passed on, not even to process hooks or with a grant.
    pub withheld: Vec<String>,
}

/// The reason why a variable cannot be granted to an extension.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GrantError {
    /// The variable makes an interpreter or the loader run other code.
    #[error("{name} cannot be granted: it could make the extension run other code")]
    Refused {
        /// The name.
        name: String,
    },
    /// The text is not the name of a variable.
    #[error(
        "{name:?} is not the name of a variable; name each variable in full, without a pattern and without \
        a value"
    )]
    NoName {
        /// The text as given.
        name: String,
    },
    /// Every extension has the variable already.
    #[error("{name} is already passed to every extension, as far as its sandbox allows; remove it")]
    Given {
        /// The name.
        name: String,
    },
}

pub(crate) fn check_requested(name: &str) -> Result<(), GrantError> {
    check_grant(name)?;
    match is_among(name, PASSED, PASSED_PREFIXES) || is_same_name(name, "TERM") {
        true => Err(GrantError::Given { name: name.to_owned() }),
        false => Ok(()),
    }
}

/// Checks that a user can grant this variable to an extension.
///
/// # Errors
/// [`GrantError`] with the reason.
pub fn check_grant(name: &str) -> Result<(), GrantError> {
    let plain = |char: char| char.is_ascii_alphanumeric() || "_()-.".contains(char);
    if name.is_empty() || !name.chars().all(plain) {
        return Err(GrantError::NoName { name: name.to_owned() });
    }
    match is_among(name, REFUSED, REFUSED_PREFIXES) && is_up(Defense::RefusedVariables) {
        true => Err(GrantError::Refused { name: name.to_owned() }),
        false => Ok(()),
    }
}

impl ExtensionEnv {
    /// Returns the variables of this program's environment that child processes may get.
    pub fn inheritable_variables(
        &self,
        own: impl Iterator<Item = (OsString, OsString)>,
    ) -> impl Iterator<Item = (OsString, OsString)> {
        let is = |name: &OsStr, other: &String| name.to_str().is_some_and(|name| is_same_name(name, other));
        own.filter(move |(name, _)| !self.withheld.iter().any(|other| is(name, other)))
    }

    /// Returns the complete environment of an extension with these grants. `own` is this program's environment.
    pub fn variables_for<'a>(
        &self,
        granted: impl Iterator<Item = &'a String>,
        own: impl Iterator<Item = (OsString, OsString)>,
    ) -> Vec<(OsString, OsString)> {
        let granted: Vec<&String> = granted.collect();
        let own = self.inheritable_variables(own);
        let mut env: Vec<_> = own
            .filter_map(|(name, value)| match is_passed_on(&name, &granted) {
                true => Some((name, value)),
                false if is_among(name.to_str()?, PROXIES, &[]) => {
                    let address = without_credentials(value.to_str()?);
                    Some((name, address.into()))
                }
                false => None,
            })
            .collect();
        let set = self.set.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in std::iter::once(("TERM", "dumb")).chain(set) {
            env.retain(|(other, _)| other != name);
            env.push((name.into(), value.into()));
        }
        env
    }
}

/// Returns an environment with the variables that are set for one process hook.
pub fn merge_variables(
    own: impl Iterator<Item = (OsString, OsString)>,
    set: &BTreeMap<String, String>,
) -> Vec<(OsString, OsString)> {
    let is_set =
        |name: &OsStr| set.keys().any(|other| name.to_str().is_some_and(|name| is_same_name(other, name)));
    let mut env: Vec<_> = own.filter(|(name, _)| !is_set(name)).collect();
    env.extend(set.iter().map(|(name, value)| (name.into(), value.into())));
    env
}

/// Returns the address of a proxy without the user name and the password. A password that is not encoded may contain
/// any character, so everything between the scheme and the last `@` is removed.
fn without_credentials(address: &str) -> String {
    let Some((_, server)) = address.rsplit_once('@') else { return address.to_owned() };
    match address.split_once("://") {
        Some((scheme, _)) if scheme.chars().all(|char| char.is_ascii_alphanumeric()) => {
            format!("{scheme}://{server}")
        }
        _ => server.to_owned(),
    }
}

fn is_passed_on(name: &OsStr, granted: &[&String]) -> bool {
    if !is_up(Defense::EnvironmentList) {
        return true;
    }
    // A name that is not Unicode is in no list.
    let Some(name) = name.to_str() else { return false };
    is_among(name, PASSED, PASSED_PREFIXES)
        || (cfg!(windows) && is_among(name, PASSED_ON_WINDOWS, &[]))
        || (granted.iter().any(|granted| is_same_name(granted, name)) && check_grant(name).is_ok())
}

fn is_among(name: &str, names: &[&str], prefixes: &[&str]) -> bool {
    let begins = |prefix: &&str| name.get(..prefix.len()).is_some_and(|start| is_same_name(start, prefix));
    names.iter().any(|other| is_same_name(other, name)) || prefixes.iter().any(begins)
}

/// Compares names: case counts, except on Windows.
fn is_same_name(one: &str, other: &str) -> bool {
    if cfg!(windows) { one.eq_ignore_ascii_case(other) } else { one == other }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks which of these variables an extension with these grants gets.
    #[track_caller]
    fn check(own: &[&str], granted: &[&str], expect: &[&str]) {
        let granted: Vec<String> = granted.iter().map(|&name| name.to_owned()).collect();
        let own = own.iter().map(|&name| (name.into(), "own".into()));
        let seen = ExtensionEnv::default().variables_for(granted.iter(), own).into_iter();
        let seen = seen.filter(|(_, value)| value == "own");
        assert_eq!(seen.map(|(name, _)| name).collect::<Vec<_>>(), expect);
    }

    #[test]
    fn passes_only_listed_and_granted_variables() {
        check(
            &["PATH", "HOME", "LC_ALL", "LC_TIME", "XDG_CACHE_HOME", "TZ"],
            &[],
            &["PATH", "HOME", "LC_ALL", "LC_TIME", "XDG_CACHE_HOME", "TZ"],
        );
        check(&["OPENAI_API_KEY", "GITHUB_TOKEN", "HAFT_API_KEY", "HAFT_HOME", "SSH_AUTH_SOCK"], &[], &[]);
        check(&["PATHS", "XDG_SECRET", "L", "LC", "TERM", ""], &[], &[]);
        check(&["WEATHER_TOKEN", "OTHER_TOKEN"], &["WEATHER_TOKEN"], &["WEATHER_TOKEN"]);
        check(&["OPENAI_API_KEY"], &["OPENAI_API_KEY"], &["OPENAI_API_KEY"]);
        check(&["WEATHER_TOKEN"], &["WEATHER_*", "*"], &[]);
    }

    #[test]
    fn passes_addresses_of_proxies_without_credentials() {
        let get = |name: &str, value: &str, granted: &[String]| {
            let own = std::iter::once((name.into(), value.into()));
            let env = ExtensionEnv::default().variables_for(granted.iter(), own);
            env.into_iter().find(|(other, _)| other == name).map(|(_, value)| value.into_string().unwrap())
        };
        let names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"];
        for name in names.iter().flat_map(|name| [(*name).to_owned(), name.to_lowercase()]) {
            for (value, expect) in [
                ("http://proxy:3128", "http://proxy:3128"),
                ("http://me:secret@proxy:3128/", "http://proxy:3128/"),
                ("socks5h://me:se/cr@et@proxy", "socks5h://proxy"),
                ("me:secret@proxy:3128", "proxy:3128"),
                ("me:s://ecret@proxy:3128", "proxy:3128"),
                ("me@x:s://ecret@proxy:3128", "proxy:3128"),
                ("localhost,.example.com,10.0.0.0/8", "localhost,.example.com,10.0.0.0/8"),
                ("", ""),
            ] {
                assert_eq!(get(&name, value, &[]).as_deref(), Some(expect), "{name}={value}");
            }
            let granted = [name.clone()];
            let whole = "http://me:secret@proxy:3128";
            assert_eq!(get(&name, whole, &granted).as_deref(), Some(whole));
            check_requested(&name).unwrap();
        }
        assert_eq!(get("FTP_PROXY", "http://proxy", &[]), None);
    }

    #[test]
    fn never_passes_variables_that_run_other_code() {
        let names = [
            "LD_PRELOAD",
            "DYLD_INSERT_LIBRARIES",
            "NODE_OPTIONS",
            "PYTHONPATH",
            "PYTHONSTARTUP",
            "BASH_ENV",
        ];
        check(&names, &names, &[]);
        for name in names {
            assert_eq!(check_grant(name), Err(GrantError::Refused { name: name.into() }));
        }
        for name in ["", "A*", "A=b", "A B", "$A"] {
            assert_eq!(check_grant(name), Err(GrantError::NoName { name: name.into() }));
        }
        check_grant("WEATHER_TOKEN").unwrap();
    }

    #[test]
    fn process_hook_gets_its_own_variables() {
        let own = [("OPENAI_API_KEY", "k"), ("MODE", "own")].map(|(name, value)| (name.into(), value.into()));
        let set = BTreeMap::from([("MODE".to_owned(), "set".to_owned())]);
        let expect: Vec<(OsString, OsString)> =
            vec![("OPENAI_API_KEY".into(), "k".into()), ("MODE".into(), "set".into())];
        assert_eq!(merge_variables(own.into_iter(), &set), expect);
    }

    #[test]
    fn withheld_variables_reach_no_process() {
        let env = ExtensionEnv { withheld: vec!["TOKEN".into()], ..ExtensionEnv::default() };
        let own = || ["TOKEN", "TOKENS", "PATH"].into_iter().map(|name| (name.into(), "own".into()));
        let names = |env: Vec<(OsString, OsString)>| -> Vec<OsString> {
            env.into_iter().filter(|(_, value)| value == "own").map(|(name, _)| name).collect()
        };
        assert_eq!(names(env.inheritable_variables(own()).collect()), ["TOKENS", "PATH"]);
        let granted = ["TOKEN".to_owned(), "TOKENS".to_owned()];
        assert_eq!(names(env.variables_for(granted.iter(), own())), ["TOKENS", "PATH"]);
    }

    #[test]
    fn set_variables_reach_every_extension() {
        let env = ExtensionEnv {
            granted: BTreeMap::new(),
            set: vec![("TERM".into(), "x".into()), ("PATH".into(), "/set".into())],
            withheld: Vec::new(),
        };
        let own = [("TOKEN", "t"), ("PATH", "/own")].map(|(name, value)| (name.into(), value.into()));
        let expect: Vec<(OsString, OsString)> =
            vec![("TERM".into(), "x".into()), ("PATH".into(), "/set".into())];
        assert_eq!(env.variables_for(std::iter::empty(), own.into_iter()), expect);
    }
}
