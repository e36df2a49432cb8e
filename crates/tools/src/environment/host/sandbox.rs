//! `ToolSandbox`: the files, programs and network that tools may use without an approval.

use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use haft_launch::Sandbox;
use haft_launch::sandbox::{ConfinementLevel, NetworkAccess, detect_support};

use super::FileAccessRules;
use super::atomic::PathBoundary;
use crate::environment::{AccessKind, EnvironmentError, remove_dots};

/// The files, programs and network that tools may use without an approval. Commands run in a sandbox of the operating
/// system; file tools check each path.
///
/// Commands may also use a private temporary directory (`TMPDIR`), and read and execute everything that is not hidden.
/// Missing paths have no effect.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolSandbox {
    /// Directories and files to change.
    pub write: Vec<PathBuf>,
    /// Paths below `write` that are only readable, because they make code run later.
    pub protect: Vec<PathBuf>,
    /// Paths that may not be read, because they contain secrets.
    pub hide: Vec<PathBuf>,
    /// Paths that may neither be read nor changed, not even with an approval.
    pub never: Vec<PathBuf>,
    /// Paths below `hide` and `never` that may be read.
    pub read: Vec<PathBuf>,
    /// True if commands may use the network. If false, they have at most a private loopback device.
    pub network: bool,
    /// True at the level that permits no changes in the working directory; for the text of a denial.
    pub read_only: bool,
}

/// A part of a [`ToolSandbox`] that this machine cannot enforce.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolSandboxGap {
    /// Commands cannot run in a sandbox, so each needs an approval; the reason.
    NoSandbox(String),
    /// Commands can change protected paths and the permissions of files outside; the reason.
    ProtectedPaths(String),
}

impl ToolSandbox {
    /// Returns the part that this machine cannot enforce. The first call of the process blocks for a few milliseconds.
    pub fn find_gap() -> Option<ToolSandboxGap> {
        let support = detect_support();
        match (support.standard, support.isolated) {
            (_, Ok(_)) => None,
            (Ok(_), Err(_)) if cfg!(target_os = "macos") => None,
            (Ok(_), Err(reason)) => Some(ToolSandboxGap::ProtectedPaths(reason)),
            (Err(reason), Err(_)) => Some(ToolSandboxGap::NoSandbox(reason)),
        }
    }

    /// Returns the sandbox of a command with this private temporary directory.
    pub(super) fn for_command(&self, temp: &Path) -> Sandbox {
        let level = match detect_support().isolated {
            Ok(_) => ConfinementLevel::Isolated,
            Err(_) => ConfinementLevel::Standard,
        };
        let mut sandbox = Sandbox::new(level);
        sandbox.write = existing_paths(self.write.iter().map(PathBuf::as_path).chain([temp]));
        // Programs that a build creates must be executable.
        sandbox.exec.clone_from(&sandbox.write);
        sandbox.read = existing_paths(self.read.iter().map(PathBuf::as_path));
        sandbox.read_all = true;
        sandbox.hide = self.hide.iter().chain(&self.never).map(|path| resolve(path)).collect();
        let isolated = level == ConfinementLevel::Isolated;
        if isolated || cfg!(target_os = "macos") {
            let inside = |path: &PathBuf| sandbox.write.iter().any(|root| path.starts_with(root));
            let protected = existing_paths(self.protect.iter().map(PathBuf::as_path));
            sandbox.protect = protected.into_iter().filter(inside).collect();
        }
        sandbox.net = match (self.network, isolated) {
            (true, _) => NetworkAccess::All,
            (false, true) => NetworkAccess::Loopback,
            (false, false) => NetworkAccess::None,
        };
        sandbox
    }
}

/// Returns the sandbox of a command that may use only the listed paths and this private temporary directory.
pub(super) fn for_listed_paths(rules: &FileAccessRules, temp: &Path) -> Sandbox {
    let isolated = detect_support().isolated.is_ok();
    let level = if isolated { ConfinementLevel::Isolated } else { ConfinementLevel::Standard };
    let mut sandbox = Sandbox::new(level);
    let listed = |paths: &Option<Vec<PathBuf>>| paths.clone().unwrap_or_default();
    sandbox.hide = rules.never.iter().map(|path| resolve(path)).collect();
    let hidden = sandbox.hide.clone();
    let permitted = |paths: Vec<PathBuf>| -> Vec<PathBuf> {
        let paths = existing_paths(paths.iter().map(PathBuf::as_path)).into_iter();
        paths.filter(|path| !hidden.iter().any(|hidden| path.starts_with(hidden))).collect()
    };
    sandbox.read = permitted(listed(&rules.read));
    sandbox.write = permitted(listed(&rules.write));
    sandbox.write.extend(existing_paths(rules.own.iter().map(PathBuf::as_path).chain([temp])));
    sandbox.exec = [sandbox.read.as_slice(), &sandbox.write].concat();
    sandbox.net = if rules.network { NetworkAccess::All } else { NetworkAccess::None };
    sandbox
}

/// The boundaries of the file tools in a [`ToolSandbox`].
#[derive(Debug, Clone)]
pub(super) struct FileBoundaries {
    pub(super) reads: Arc<PathBoundary>,
    pub(super) writes: Arc<PathBoundary>,
    approved_reads: Arc<PathBoundary>,
    approved_writes: Arc<PathBoundary>,
}

impl FileBoundaries {
    pub(super) fn new(sandbox: &ToolSandbox, temp: &Path) -> io::Result<Self> {
        let writable = [sandbox.write.as_slice(), &[temp.to_owned()]].concat();
        let hidden = [sandbox.hide.as_slice(), &sandbox.never].concat();
        let denied = [sandbox.protect.as_slice(), &hidden].concat();
        let readable = [sandbox.read.as_slice(), &[temp.to_owned()]].concat();
        let never = &sandbox.never;
        let rules = PathBoundary::from_rules;
        Ok(Self {
            reads: Arc::new(rules(None, &readable, &hidden, "read")?),
            writes: Arc::new(rules(Some(&writable), &[], &denied, "written")?),
            approved_reads: Arc::new(rules(None, &sandbox.read, never, "read")?),
            approved_writes: Arc::new(rules(None, &[], never, "written")?),
        })
    }

    /// Returns the boundaries of calls that a person approved.
    pub(super) fn after_approval(&self) -> Self {
        Self {
            reads: Arc::clone(&self.approved_reads),
            writes: Arc::clone(&self.approved_writes),
            ..self.clone()
        }
    }

    /// Checks a path, which may be missing, after its links were resolved.
    ///
    /// # Errors
    /// [`EnvironmentError::Outside`] if an approval permits the path, [`EnvironmentError::Refused`] if it does not.
    pub(super) fn check(&self, path: &Path, access: AccessKind) -> Result<(), EnvironmentError> {
        let resolved = resolve_missing(path);
        let (boundary, approved) = match access {
            AccessKind::Read => (&self.reads, &self.approved_reads),
            AccessKind::Write => (&self.writes, &self.approved_writes),
        };
        boundary.check(&resolved).map_err(|error| match approved.check(&resolved) {
            Ok(()) => error,
            Err(never) => EnvironmentError::refused(path, never.to_string()),
        })
    }
}

fn existing_paths<'a>(paths: impl Iterator<Item = &'a Path>) -> Vec<PathBuf> {
    paths.filter_map(|path| path.canonicalize().ok()).collect()
}

fn resolve(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Resolves the links of a path as far as it exists, then `..` in the rest.
pub(super) fn resolve_missing(path: &Path) -> PathBuf {
    let found = path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    let Some((above, real)) = found else { return remove_dots(path) };
    match path.strip_prefix(above) {
        Ok(below) if below.components().any(|part| part == Component::ParentDir) => {
            // Without `..`, more of the path may exist, with links.
            resolve_missing(&remove_dots(&real.join(below)))
        }
        Ok(below) if !below.as_os_str().is_empty() => real.join(below),
        _ => real,
    }
}
