//! `$HAFT_HOME`: the directory of all files that haft keeps.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The directory for haft's files. Asking for a path creates nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
}

/// The directory could not be determined.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HomeError {
    /// `HAFT_HOME` is not set and the system reports no home directory.
    #[error("no home directory found; set HAFT_HOME to the directory for haft's files")]
    NoHome,
    /// `HAFT_HOME` is relative and there is no current directory to resolve it against.
    #[error(
        "cannot resolve the relative HAFT_HOME {path:?}: the current directory cannot be read; use an absolute path"
    )]
    NoCurrentDirectory {
        /// The value of `HAFT_HOME`.
        path: PathBuf,
    },
    /// The directory, or a directory above it, is a file.
    #[error(
        "cannot use {} as the home directory: {} is not a directory; set HAFT_HOME to a directory",
        root.display(),
        file.display()
    )]
    NotDirectory {
        /// The directory for haft's files.
        root: PathBuf,
        /// The file.
        file: PathBuf,
    },
}

impl Home {
    /// Returns the directory for this user: `HAFT_HOME`, or the system's usual directory for the state of programs.
    ///
    /// # Errors
    /// [`HomeError`] when the directory cannot be determined.
    pub fn locate() -> Result<Self, HomeError> {
        Self::locate_with(|name| std::env::var_os(name), etcetera::home_dir().ok())?.without_file_above()
    }

    /// Same as [`locate`](Self::locate), with a given environment and home directory.
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

    /// Returns the home, unless it cannot be a directory.
    fn without_file_above(self) -> Result<Self, HomeError> {
        let existing = self.root.ancestors().find_map(|dir| Some((dir, dir.metadata().ok()?)));
        match existing {
            Some((file, metadata)) if !metadata.is_dir() => {
                Err(HomeError::NotDirectory { file: file.to_owned(), root: self.root.clone() })
            }
            _ => Ok(self),
        }
    }

    /// Returns a home at the given directory.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The directory itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The user's settings; see [`ConfigFile`](crate::ConfigFile).
    pub fn config_file(&self) -> PathBuf {
        self.root.join("config.toml")
    }

    /// The user's API keys; see [`AuthFile`](crate::AuthFile).
    pub fn auth_file(&self) -> PathBuf {
        self.root.join("auth.json")
    }

    /// The directory of installed extensions, one subdirectory each.
    pub fn extensions_dir(&self) -> PathBuf {
        self.root.join("extensions")
    }

    /// The directory of the extensions' own files, one subdirectory each. The code is elsewhere, so that an update can
    /// replace it and keep these files.
    pub fn data_dir(&self) -> PathBuf {
        self.root.join("data")
    }

    /// The directory of state that is kept between runs and may be deleted.
    pub fn state_dir(&self) -> PathBuf {
        self.root.join("state")
    }

    /// The directory of complete tool results that were too long for the model, which can read them there. Files older
    /// than a week may be deleted.
    pub fn results_dir(&self) -> PathBuf {
        self.root.join("results")
    }

    /// The directory of log files: haft's own and one for each extension.
    pub fn logs_dir(&self) -> PathBuf {
        self.root.join("logs")
    }

    /// The log file of haft.
    pub fn log_file(&self) -> PathBuf {
        self.logs_dir().join("haft.log")
    }

    /// The directory of recorded sessions.
    pub fn sessions_dir(&self) -> PathBuf {
        self.root.join("sessions")
    }

    /// The directory of the user's skills.
    pub fn skills_dir(&self) -> PathBuf {
        self.root.join("skills")
    }

    pub(crate) fn prompts_dir(&self) -> PathBuf {
        self.root.join("prompts")
    }

    /// The user's context file for every agent; see [`ContextFiles`](crate::ContextFiles).
    pub(crate) fn context_file(&self) -> PathBuf {
        self.root.join("AGENTS.md")
    }

    /// The history of prompts.
    pub fn history_file(&self) -> PathBuf {
        self.root.join("history.jsonl")
    }

    /// The key bindings of the interactive mode.
    pub fn keybindings_file(&self) -> PathBuf {
        self.root.join("keybindings.toml")
    }

    /// The directory of the user's themes.
    pub fn themes_dir(&self) -> PathBuf {
        self.root.join("themes")
    }

    pub(crate) fn system_prompt_file(&self) -> PathBuf {
        self.root.join("SYSTEM.md")
    }

    /// Models in addition to the built-in list.
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
    // The XDG specification requires relative paths in the variable to be ignored.
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
    fn locates_home_by_environment_and_system_rules() {
        check(&[("HAFT_HOME", "/h"), ("XDG_STATE_HOME", "/x")], Some("/u"), Some("/h"));
        check(&[("XDG_STATE_HOME", "/x")], Some("/u"), Some("/x/haft"));
        check(&[("XDG_STATE_HOME", "relative")], Some("/u"), Some("/u/.local/state/haft"));
        check(&[("HAFT_HOME", ""), ("XDG_STATE_HOME", "")], Some("/u"), Some("/u/.local/state/haft"));
        check(&[], None, None);
    }

    #[test]
    fn rejects_home_at_or_below_file() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "").unwrap();
        for root in [file.clone(), file.join("haft")] {
            let error = Home::at(&root).without_file_above().unwrap_err();
            assert_eq!(error, HomeError::NotDirectory { root, file: file.clone() });
        }
        for root in [dir.path().to_owned(), dir.path().join("new/haft")] {
            assert_eq!(Home::at(&root).without_file_above(), Ok(Home::at(root)));
        }
    }

    #[test]
    fn relative_home_becomes_absolute() {
        let home = Home::locate_with(|name| (name == "HAFT_HOME").then(|| "here".into()), None).unwrap();
        assert!(home.root().is_absolute());
        assert!(home.root().ends_with("here"));
    }
}
