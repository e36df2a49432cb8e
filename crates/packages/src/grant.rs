//! The grant of a sandbox: what the user lets an extension read, change, run and talk to.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use haft_launch::sandbox::{ConfinementLevel, NetworkAccess};
use serde::Serialize;

/// The user's grants to an extension in its sandbox, beside those of every one: read and execute its own directory, its
/// interpreter and the system's programs, and write to its data directory.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SandboxGrant {
    /// By which means, and so how tightly.
    pub level: ConfinementLevel,
    /// The paths that it may read.
    pub read: Vec<GrantedPath>,
    /// The paths that it may read and change.
    pub write: Vec<GrantedPath>,
    /// The paths that it may read and execute.
    pub exec: Vec<GrantedPath>,
    /// Which programs it may start beside those.
    pub programs: ExecPermission,
    /// The network peers that it may talk to.
    pub net: NetworkAccess,
}

/// Which programs a process starts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ExecPermission {
    /// None but itself and its interpreter.
    #[default]
    None,
    /// Those in its own directory, too.
    Own,
    /// The system's, too.
    Any,
}

/// A file, or a directory with all below it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct GrantedPath {
    base: PathBase,
    /// Absolute where the base is the root, else without a root.
    path: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum PathBase {
    Root,
    Workspace,
    Data,
}

/// Text that names no place for a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} {why}; name an absolute path, or one that begins with ~/, $WORKSPACE or $DATA")]
pub struct PathError {
    text: String,
    why: &'static str,
}

impl SandboxGrant {
    /// Nothing beside what every extension may.
    pub fn new(level: ConfinementLevel) -> Self {
        let (read, write, exec) = (Vec::new(), Vec::new(), Vec::new());
        Self { level, read, write, exec, programs: ExecPermission::Any, net: NetworkAccess::None }
    }
}

impl ExecPermission {
    pub(crate) const ALL: &'static [Self] = &[Self::None, Self::Own, Self::Any];

    /// The word for it in a manifest.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Own => "own",
            Self::Any => "any",
        }
    }
}

/// For the log.
impl fmt::Display for SandboxGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (level, net, programs) = (self.level, net_name(self.net), self.programs.name());
        write!(f, "runs in a sandbox of level {level}, network {net}, programs {programs}")
    }
}

impl GrantedPath {
    /// Reads a path as people write it: absolute, or beginning with `~` for `home`, with `$WORKSPACE` for the directory
    /// that the agent works in, or with `$DATA` for that of the extension's data.
    ///
    /// # Errors
    /// When it is relative, leads upwards, or there is no home.
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
                let home = home.ok_or_else(|| error("needs a home directory, and there is none"))?;
                (PathBase::Root, join_paths(home, &below))
            }
            Component::Normal(word) if word == "$WORKSPACE" => (PathBase::Workspace, below),
            Component::Normal(word) if word == "$DATA" => (PathBase::Data, below),
            Component::Normal(_) | Component::CurDir | Component::ParentDir => {
                return Err(error("is not absolute"));
            }
        };
        if path.components().any(|part| part == Component::ParentDir) {
            return Err(error("has `..` in it"));
        }
        Ok(Self { base, path })
    }

    pub(crate) fn covers(&self, other: &Self) -> bool {
        let is_everything = self.base == PathBase::Root && self.path == Path::new("/");
        is_everything || (self.base == other.base && other.path.starts_with(&self.path))
    }

    /// True if it lies in the extension's own data, which every one may change.
    pub(crate) fn is_data(&self) -> bool {
        self.base == PathBase::Data
    }

    /// The place itself, where this is the workspace and that the extension's data directory.
    pub fn resolve(&self, workspace: &Path, data: &Path) -> PathBuf {
        let base = match self.base {
            PathBase::Root => return self.path.clone(),
            PathBase::Workspace => workspace,
            PathBase::Data => data,
        };
        join_paths(base, &self.path)
    }
}

/// The word for it in a manifest.
pub(crate) fn net_name(net: NetworkAccess) -> &'static str {
    match net {
        NetworkAccess::None => "none",
        NetworkAccess::Loopback => "loopback",
        NetworkAccess::All => "all",
    }
}

/// Without a separator at the end where there is nothing to join.
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
    fn paths_are_absolute_or_begin_with_a_word() {
        check_path("/srv/maps/", Ok("/srv/maps"));
        check_path("~/maps", Ok("/u/maps"));
        check_path("~", Ok("/u"));
        check_path("$WORKSPACE", Ok("/w"));
        check_path("$WORKSPACE/src/./a", Ok("/w/src/a"));
        check_path("$DATA/cache", Ok("/data/x/cache"));
        check_path("", Err("is empty"));
        check_path("maps", Err("\"maps\" is not absolute; name an absolute path"));
        check_path("./maps", Err("is not absolute"));
        check_path("$HOME/x", Err("is not absolute"));
        check_path("$WORKSPACEX", Err("is not absolute"));
        check_path("~other/x", Err("is not absolute"));
        check_path("$WORKSPACE/../x", Err("has `..` in it"));
        check_path("/a/../b", Err("has `..` in it"));
        let without = GrantedPath::parse("~/x", None).unwrap_err().to_string();
        assert!(without.contains("there is none"), "{without}");
    }
}
