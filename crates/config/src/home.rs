//! `$HAFT_HOME`: one directory for everything that haft keeps.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The directory that haft keeps its files in. Nothing is created by asking for a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
}

/// No directory could be found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HomeError {
    /// Neither `HAFT_HOME` nor the system says where.
    #[error("no home directory found; set HAFT_HOME to the directory that haft shall keep its files in")]
    NoHome,
    /// `HAFT_HOME` is relative and there is no current directory to resolve it against.
    #[error(
        "HAFT_HOME is the relative path {path:?} and the current directory cannot be read; make it absolute"
    )]
    NoCurrentDirectory {
        /// The value of `HAFT_HOME`.
        path: PathBuf,
    },
}

impl Home {
    /// The directory for this user: `HAFT_HOME`, or the place where programs of this system keep their state.
    ///
    /// # Errors
    /// [`HomeError`] when there is no home directory either.
    pub fn locate() -> Result<Self, HomeError> {
        Self::locate_with(|name| std::env::var_os(name), etcetera::home_dir().ok())
    }

    /// As [`locate`](Self::locate), with the environment and the user's home directory given.
    fn locate_with(
        var: impl Fn(&str) -> Option<OsString>,
        user_home: Option<PathBuf>,
    ) -> Result<Self, HomeError> {
        let var = |name: &str| var(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some(path) = var("HAFT_HOME") {
            let root = std::path::absolute(&path).map_err(|_| HomeError::NoCurrentDirectory { path })?;
            return Ok(Self { root });
        }
        default_root(&var, user_home).map(|root| Self { root }).ok_or(HomeError::NoHome)
    }

    /// The given directory.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The directory itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The user's settings, [`ConfigFile`](crate::ConfigFile).
    pub fn config_file(&self) -> PathBuf {
        self.root.join("config.toml")
    }

    /// The user's keys, [`AuthFile`](crate::AuthFile).
    pub fn auth_file(&self) -> PathBuf {
        self.root.join("auth.json")
    }

    /// Installed extensions, one directory each.
    pub fn extensions_dir(&self) -> PathBuf {
        self.root.join("extensions")
    }

    /// One directory for each extension's own files. It is not the directory of its code, so that a new
    /// version can replace the code and keep what the extension wrote.
    pub fn data_dir(&self) -> PathBuf {
        self.root.join("data")
    }

    /// Returns the directory of state that haft keeps between runs and can do without.
    pub fn state_dir(&self) -> PathBuf {
        self.root.join("state")
    }

    /// Returns the directory of results that were too long for a model, whole, for it to read. Files that are older
    /// than a week may go.
    pub fn results_dir(&self) -> PathBuf {
        self.root.join("results")
    }

    /// Log files: haft's own and one for each extension.
    pub fn logs_dir(&self) -> PathBuf {
        self.root.join("logs")
    }

    /// haft's own log.
    pub fn log_file(&self) -> PathBuf {
        self.logs_dir().join("haft.log")
    }

    /// Recorded sessions.
    pub fn sessions_dir(&self) -> PathBuf {
        self.root.join("sessions")
    }

    /// Skills of the user.
    pub fn skills_dir(&self) -> PathBuf {
        self.root.join("skills")
    }

    pub(crate) fn prompts_dir(&self) -> PathBuf {
        self.root.join("prompts")
    }

    /// Returns the user's context file for every agent, see [`ContextFiles`](crate::ContextFiles).
    pub(crate) fn context_file(&self) -> PathBuf {
        self.root.join("AGENTS.md")
    }

    /// The prompts of before.
    pub fn history_file(&self) -> PathBuf {
        self.root.join("history.jsonl")
    }

    /// Which keys do what in the interactive mode.
    pub fn keybindings_file(&self) -> PathBuf {
        self.root.join("keybindings.toml")
    }

    /// Themes of the user.
    pub fn themes_dir(&self) -> PathBuf {
        self.root.join("themes")
    }

    pub(crate) fn system_prompt_file(&self) -> PathBuf {
        self.root.join("SYSTEM.md")
    }

    /// Models beside the built-in list.
    pub fn models_file(&self) -> PathBuf {
        self.root.join("models.json")
    }

    /// The projects that the user trusts.
    pub fn trust_file(&self) -> PathBuf {
        self.root.join("trust.json")
    }
}

#[cfg(windows)]
fn default_root(var: &dyn Fn(&str) -> Option<PathBuf>, user_home: Option<PathBuf>) -> Option<PathBuf> {
    let local = var("LOCALAPPDATA").or_else(|| user_home.map(|home| home.join("AppData").join("Local")))?;
    Some(local.join("haft"))
}

#[cfg(target_os = "macos")]
fn default_root(_: &dyn Fn(&str) -> Option<PathBuf>, user_home: Option<PathBuf>) -> Option<PathBuf> {
    user_home.map(|home| home.join("Library").join("Application Support").join("haft"))
}

#[cfg(not(any(windows, target_os = "macos")))]
fn default_root(var: &dyn Fn(&str) -> Option<PathBuf>, user_home: Option<PathBuf>) -> Option<PathBuf> {
    // The XDG rules say that a relative path in the variable is to be ignored.
    let state = var("XDG_STATE_HOME").filter(|path| path.is_absolute());
    let state = state.or_else(|| user_home.map(|home| home.join(".local").join("state")))?;
    Some(state.join("haft"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(vars: &[(&str, &str)], user_home: Option<&str>, expect: Option<&str>) {
        let var = |name: &str| vars.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into());
        let got = Home::locate_with(var, user_home.map(PathBuf::from)).ok();
        assert_eq!(got, expect.map(Home::at), "{vars:?}");
    }

    #[test]
    #[cfg(not(any(windows, target_os = "macos")))]
    fn is_found_by_the_rules_of_the_system() {
        check(&[("HAFT_HOME", "/h"), ("XDG_STATE_HOME", "/x")], Some("/u"), Some("/h"));
        check(&[("XDG_STATE_HOME", "/x")], Some("/u"), Some("/x/haft"));
        check(&[("XDG_STATE_HOME", "relative")], Some("/u"), Some("/u/.local/state/haft"));
        check(&[("HAFT_HOME", ""), ("XDG_STATE_HOME", "")], Some("/u"), Some("/u/.local/state/haft"));
        check(&[], None, None);
    }

    #[test]
    fn a_relative_home_becomes_absolute() {
        let home = Home::locate_with(|name| (name == "HAFT_HOME").then(|| "here".into()), None).unwrap();
        assert!(home.root().is_absolute());
        assert!(home.root().ends_with("here"));
    }
}
