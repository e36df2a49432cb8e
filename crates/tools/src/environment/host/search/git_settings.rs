//! The user's ignore file for all repositories of git. Its path comes from git's settings, which haft reads with the
//! same limits as ignore files.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::ignore_file::read_ignore_file;

/// Reads environment variables. An empty variable counts as absent.
type VariableLookup<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// Returns the path of the user's ignore file, which may be missing.
pub(super) fn user_ignore_file() -> Option<PathBuf> {
    let user_home = std::env::home_dir();
    find_ignore_file(user_home.as_deref(), &|name| std::env::var_os(name).filter(|value| !value.is_empty()))
}

/// The order is that of git: the user's settings, those of the machine, the default.
fn find_ignore_file(user_home: Option<&Path>, variables: VariableLookup<'_>) -> Option<PathBuf> {
    let config_home = variables("XDG_CONFIG_HOME").map(PathBuf::from);
    let config_home = config_home.or_else(|| Some(user_home?.join(".config")));
    let settings = match variables("GIT_CONFIG_GLOBAL") {
        Some(file) => [Some(file.into()), None],
        None => [
            user_home.map(|user_home| user_home.join(".gitconfig")),
            config_home.as_ref().map(|config_home| config_home.join("git/config")),
        ],
    };
    let machine = variables("GIT_CONFIG_SYSTEM").map_or_else(|| "/etc/gitconfig".into(), PathBuf::from);
    let named = settings.into_iter().flatten().chain([machine]).find_map(|file| {
        let text = read_ignore_file(&file, None).ok()?;
        text.lines().filter_map(excludes_file).next_back().map(str::to_owned)
    });
    match named {
        Some(named) => match named.strip_prefix("~/") {
            Some(rest) => Some(user_home?.join(rest)),
            None => Some(named.into()),
        },
        None => config_home.map(|config_home| config_home.join("git/ignore")),
    }
}

/// Returns the value of a line of git's settings that sets `core.excludesFile`. No other section has such a key.
fn excludes_file(line: &str) -> Option<&str> {
    let (key, value) = line.split_once('=')?;
    // A section may be on the same line as its first key.
    let key = key.rsplit(']').next()?.trim();
    let value = value.trim().trim_matches('"').trim();
    (key.eq_ignore_ascii_case("excludesfile") && !value.is_empty()).then_some(value)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::limits::MAX_IGNORE_FILE;

    struct UserHome(tempfile::TempDir);

    impl UserHome {
        fn new(files: &[(&str, &str)]) -> Self {
            let user_home = Self(tempfile::tempdir().unwrap());
            for (name, text) in files {
                let path = user_home.0.path().join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            user_home
        }

        /// Values of variables are paths in the home directory.
        #[track_caller]
        fn check(&self, variables: &[(&str, &str)], expect: &str) {
            let root = self.0.path();
            let value = |name: &str| {
                let system = [("GIT_CONFIG_SYSTEM", "system")];
                let set = variables.iter().chain(&system).find(|(variable, _)| *variable == name);
                set.map(|(_, value)| root.join(value).into_os_string())
            };
            let found = find_ignore_file(Some(root), &value);
            assert_eq!(found, Some(root.join(expect)));
        }
    }

    #[test]
    fn finds_ignore_file_in_the_order_of_git() {
        let settings = "[core]\n\texcludesFile = ~/rules\n";
        UserHome::new(&[]).check(&[], ".config/git/ignore");
        UserHome::new(&[]).check(&[("XDG_CONFIG_HOME", "xdg")], "xdg/git/ignore");
        UserHome::new(&[(".gitconfig", settings)]).check(&[], "rules");
        UserHome::new(&[(".config/git/config", "[core] excludesfile=\"~/rules\"")]).check(&[], "rules");
        UserHome::new(&[("system", settings)]).check(&[], "rules");
        UserHome::new(&[("other", "[user]\nname = x\n"), (".gitconfig", settings)])
            .check(&[("GIT_CONFIG_GLOBAL", "other")], ".config/git/ignore");
    }

    #[test]
    fn settings_are_read_with_limits() {
        let long = format!("[core]\nexcludesFile = ~/rules\n{}", "#\n".repeat(MAX_IGNORE_FILE));
        UserHome::new(&[(".gitconfig", &long)]).check(&[], ".config/git/ignore");
        #[cfg(unix)]
        {
            let user_home = UserHome::new(&[]);
            std::os::unix::fs::symlink("/dev/zero", user_home.0.path().join(".gitconfig")).unwrap();
            user_home.check(&[], ".config/git/ignore");
        }
    }
}
