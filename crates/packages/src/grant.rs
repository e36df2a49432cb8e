//! The grant of a sandbox: the files, programs and network peers that an extension may use.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use haft_launch::sandbox::{ConfinementLevel, NetworkAccess};
use serde::Serialize;

/// The user's grants to an extension, in addition to the defaults: read and execute its own directory, its
/// interpreter and the system's programs, and write to its data directory.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SandboxGrant {
    /// The level, which decides by which means the sandbox is enforced.
    pub level: ConfinementLevel,
    /// The paths that it may read.
    pub read: Vec<GrantedPath>,
    /// The paths that it may read and change.
    pub write: Vec<GrantedPath>,
    /// The paths that it may read and execute.
    pub exec: Vec<GrantedPath>,
    /// The other programs that it may start.
    pub programs: ExecPermission,
    /// The network peers that it may connect to.
    pub net: NetworkAccess,
}

/// The programs that a process may start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ExecPermission {
    /// Only itself and its interpreter.
    #[default]
    None,
    /// Also programs in its own directory.
    Own,
    /// Also the system's programs.
    Any,
}

/// A file, or a directory with its content.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct GrantedPath {
    base: PathBase,
    /// Absolute if the base is the root, otherwise relative to the base.
    path: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum PathBase {
    Root,
    Workspace,
    Data,
}

/// The error for a text that is not a path for a grant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} {why}; use an absolute path, or a path that begins with ~/, $WORKSPACE or $DATA")]
pub struct PathError {
    text: String,
    why: &'static str,
}

impl PathError {
    /// Returns the reason without the text and without the next step, such as `is not absolute`.
    pub fn reason(&self) -> &str {
        self.why
    }
}

impl SandboxGrant {
    /// Returns a grant with only the defaults.
    pub fn new(level: ConfinementLevel) -> Self {
        let (read, write, exec) = (Vec::new(), Vec::new(), Vec::new());
        Self { level, read, write, exec, programs: ExecPermission::Any, net: NetworkAccess::None }
    }
}

impl ExecPermission {
    pub(crate) const ALL: &'static [Self] = &[Self::None, Self::Own, Self::Any];

    /// Returns the value in a manifest.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Own => "own",
            Self::Any => "any",
        }
    }
}

/// Formats the grant for the log.
impl fmt::Display for SandboxGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (level, net, programs) = (self.level, net_name(self.net), self.programs.name());
        write!(f, "runs in a sandbox of level {level}, network {net}, programs {programs}")
    }
}

impl GrantedPath {
    /// Parses a path as the user writes it: absolute, or beginning with `~` for `home`, `$WORKSPACE` for the agent's
    /// directory, or `$DATA` for the extension's data directory.
    ///
    /// # Errors
    /// If the path is relative, contains `..`, or needs a home directory and there is none.
    pub fn parse(text: &str, home: Option<&Path>) -> Result<Self, PathError> {
        let error = |why| PathError { text: text.to_owned(), why };
        let mut parts = Path::new(text).components();
        let first = parts.next().ok_or_else(|| error("is empty"))?;
        let below: PathBuf = parts.collect();
        let (base, path) = match first {
            Component::RootDir | Component::Prefix(_) => {
                (PathBase::Root, Path::new(text).components().collect())
            }
            Component::Normal(word) if word == "~" => {
                let home = home.ok_or_else(|| error("needs a home directory, but none is set"))?;
                (PathBase::Root, join_paths(home, &below))
            }
            Component::Normal(word) if word == "$WORKSPACE" => (PathBase::Workspace, below),
            Component::Normal(word) if word == "$DATA" => (PathBase::Data, below),
            Component::Normal(_) | Component::CurDir | Component::ParentDir => {
                return Err(error("is not absolute"));
            }
        };
        if path.components().any(|part| part == Component::ParentDir) {
            return Err(error("contains `..`"));
        }
        Ok(Self { base, path })
    }

    pub(crate) fn covers(&self, other: &Self) -> bool {
        let is_everything = self.base == PathBase::Root && self.path == Path::new("/");
        is_everything || (self.base == other.base && other.path.starts_with(&self.path))
    }

    /// True if the path is in the extension's own data, which every extension may change.
    pub(crate) fn is_data(&self) -> bool {
        self.base == PathBase::Data
    }

    /// Returns the absolute path, given the workspace and the extension's data directory.
    pub fn resolve(&self, workspace: &Path, data: &Path) -> PathBuf {
        let base = match self.base {
            PathBase::Root => return self.path.clone(),
            PathBase::Workspace => workspace,
            PathBase::Data => data,
        };
        join_paths(base, &self.path)
    }
}

/// Returns the value in a manifest.
pub(crate) fn net_name(net: NetworkAccess) -> &'static str {
    match net {
        NetworkAccess::None => "none",
        NetworkAccess::Loopback => "loopback",
        NetworkAccess::All => "all",
    }
}

/// Joins two paths, without a trailing separator if the second is empty.
fn join_paths(base: &Path, below: &Path) -> PathBuf {
    base.components().chain(below.components()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_path(text: &str, expect: Result<&str, &str>) {
        let parsed = GrantedPath::parse(text, Some(Path::new("/u")));
        let shown =
            parsed.map(|path| path.resolve(Path::new("/w"), Path::new("/data/x")).display().to_string());
        match expect {
            Ok(path) => assert_eq!(shown, Ok(path.to_owned()), "{text}"),
            Err(part) => assert!(shown.as_ref().unwrap_err().to_string().contains(part), "{text}: {shown:?}"),
        }
    }

    #[test]
    fn accepts_absolute_paths_and_known_prefixes() {
        check_path("/srv/maps/", Ok("/srv/maps"));
        check_path("~/maps", Ok("/u/maps"));
        check_path("~", Ok("/u"));
        check_path("$WORKSPACE", Ok("/w"));
        check_path("$WORKSPACE/src/./a", Ok("/w/src/a"));
        check_path("$DATA/cache", Ok("/data/x/cache"));
        check_path("", Err("is empty"));
        check_path("maps", Err("\"maps\" is not absolute; use an absolute path"));
        check_path("./maps", Err("is not absolute"));
        check_path("$HOME/x", Err("is not absolute"));
        check_path("$WORKSPACEX", Err("is not absolute"));
        check_path("~other/x", Err("is not absolute"));
        check_path("$WORKSPACE/../x", Err("contains `..`"));
        check_path("/a/../b", Err("contains `..`"));
        let without = GrantedPath::parse("~/x", None).unwrap_err().to_string();
        assert!(without.contains("but none is set"), "{without}");
    }
}
