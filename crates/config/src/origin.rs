//! Origins of settings: a flag, an environment variable, or a line of a file.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// The origin of a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingOrigin {
    /// This flag.
    Flag(&'static str),
    /// This environment variable.
    Env(&'static str),
    /// The user's `config.toml`, or a trusted project's.
    File {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
    },
    /// The default.
    Default,
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) | Self::Env(name) => f.write_str(name),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Default => f.write_str("default"),
        }
    }
}

/// A value and its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcedValue<T> {
    /// The value.
    pub value: T,
    /// Its origin.
    pub origin: SettingOrigin,
}

/// The locations of the keys of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyLocations {
    path: PathBuf,
    /// The line of each key, counted from 1. Keys include their tables.
    lines: BTreeMap<String, usize>,
}

/// The owner of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The user.
    User,
    /// The project.
    Project,
}

impl KeyLocations {
    /// Returns the locations of the keys of the file at `path`.
    pub(crate) fn new(path: &Path, lines: BTreeMap<String, usize>) -> Self {
        Self { path: path.into(), lines }
    }

    pub(crate) fn origin(&self, key: &str) -> SettingOrigin {
        SettingOrigin::File { path: self.path.clone(), line: self.line(key) }
    }

    pub(crate) fn line(&self, key: &str) -> usize {
        self.lines.get(key).copied().unwrap_or(1)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
