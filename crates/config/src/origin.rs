//! Where settings come from: a flag, a variable, or a line of somebody's file.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// Where a setting came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingOrigin {
    /// This flag of this run.
    Flag(&'static str),
    /// This environment variable.
    Env(&'static str),
    /// The user's `config.toml`, or a trusted project's.
    File {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
    },
    /// Nobody set it.
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

/// A value and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcedValue<T> {
    /// The value.
    pub value: T,
    /// Its origin.
    pub origin: SettingOrigin,
}

/// Where the keys of a file stand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyLocations {
    path: PathBuf,
    /// Lines counted from 1, by the key with its tables.
    lines: BTreeMap<String, usize>,
}

/// The owner of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The user's.
    User,
    /// The project's.
    Project,
}

impl KeyLocations {
    /// The keys of the file at `path`, with the lines they stand in.
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
