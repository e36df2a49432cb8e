//! `ToolSandbox`: the files, programs and network that tools may use without an approval.

use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use haft_launch::Sandbox;
use haft_launch::sandbox::{ConfinementLevel, NetworkAccess, SandboxBasis, detect_level};

use super::FileAccessRules;
use super::atomic::PathBoundary;
use super::protected::{ProtectedPaths, ResolvedLinks, names_at_top, resolve_links};
use crate::environment::{AccessKind, EnvironmentError, remove_dots, resolve_existing};

/// The files, programs and network that tools may use without an approval. Commands run in a sandbox of the operating
/// system; file tools check each path.
///
/// Commands may also use a private temporary directory (`TMPDIR`), and read and execute everything that is not hidden.
/// Missing paths have no effect. Names below `write` that make code run later, for example `.git/hooks`, are only
/// readable.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolSandbox {
    /// Directories and files to change. A path that a command could redirect, because it leads through another of these
    /// directories, has no effect.
    pub write: Vec<PathBuf>,
    /// Other paths below `write` that are only readable.
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
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolSandboxGap {
    /// Commands cannot run in a sandbox, so each needs an approval; the reason.
    #[error("commands cannot run in a sandbox, so each asks you: {0}")]
    NoSandbox(String),
    /// Commands can change protected paths and the permissions of files outside; the reason.
    #[error("commands can change .git/hooks and the like, and the permissions of files, because {0}")]
    ProtectedPaths(String),
}

impl ToolSandbox {
    /// Returns the part that this machine cannot enforce. The first call of the process blocks for a few milliseconds.
    pub fn find_gap() -> Option<ToolSandboxGap> {
        Self::gap_of(detect_level(ConfinementLevel::Standard), detect_level(ConfinementLevel::Isolated))
    }

    fn gap_of(
        standard: Result<SandboxBasis, String>,
        isolated: Result<SandboxBasis, String>,
    ) -> Option<ToolSandboxGap> {
        match (standard, isolated) {
            (_, Ok(_)) => None,
            (Ok(_), Err(_)) if cfg!(target_os = "macos") => None,
            (Ok(_), Err(reason)) => Some(ToolSandboxGap::ProtectedPaths(reason)),
            (Err(reason), Err(_)) => Some(ToolSandboxGap::NoSandbox(reason)),
        }
    }

    /// Returns the existing paths of `write`, resolved, without those in `never`.
    ///
    /// A path that leads through another writable directory is left out: the directory includes it already, or a command
    /// could replace a part of it with a link to any place.
    pub(super) fn writable_paths(&self) -> Vec<PathBuf> {
        let is_below = |path: &Path, other: &Path| path != other && path.starts_with(other);
        let outer = self.write.iter().filter(|path| !self.write.iter().any(|other| is_below(path, other)));
        let resolved: Vec<(&PathBuf, ResolvedLinks)> =
            outer.map(|path| (path, resolve_links(path))).collect();
        let leads_through = |links: &[PathBuf], path: &Path| {
            let others = resolved.iter().filter(|(other, _)| *other != path);
            let mut others = others.flat_map(|(other, place)| [Some(*other), place.real.as_ref()]).flatten();
            others.any(|other| links.iter().any(|link| is_below(link, other)))
        };
        let never: Vec<PathBuf> = self.never.iter().map(|path| resolve_existing(path)).collect();
        let permitted = resolved.iter().filter_map(|(path, place)| {
            let real = place.real.as_ref()?;
            let is_never = never.iter().any(|never| real.starts_with(never));
            (!is_never && !leads_through(&place.links, path)).then_some(real)
        });
        let permitted: Vec<&PathBuf> = permitted.collect();
        let outermost = permitted.iter().filter(|path| !permitted.iter().any(|other| is_below(path, other)));
        outermost.map(|path| (*path).clone()).collect()
    }

    /// Returns the sandbox of a command with this private temporary directory.
    pub(super) fn for_command(&self, temp: &Path, protected: &ProtectedPaths) -> Sandbox {
        let level = match detect_level(ConfinementLevel::Isolated) {
            Ok(_) => ConfinementLevel::Isolated,
            Err(_) => ConfinementLevel::Standard,
        };
        let mut sandbox = Sandbox::new(level);
        sandbox.write = self.writable_paths();
        sandbox.write.extend(existing_paths([temp].into_iter()));
        // Programs that a build creates must be executable.
        sandbox.exec.clone_from(&sandbox.write);
        sandbox.read = existing_paths(self.read.iter().map(PathBuf::as_path));
        sandbox.read_all = true;
        let isolated = level == ConfinementLevel::Isolated;
        let hidden = self.hide.iter().chain(&self.never).map(PathBuf::as_path);
        sandbox.hide = match isolated {
            // Separate mounts hide only what exists; resolving fifty missing paths takes longer than the command.
            true => existing_paths(hidden),
            false => hidden.map(resolve_existing).collect(),
        };
        if isolated || cfg!(target_os = "macos") {
            sandbox.protect = protected.existing_below(&sandbox.write);
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
    let isolated = detect_level(ConfinementLevel::Isolated).is_ok();
    let level = if isolated { ConfinementLevel::Isolated } else { ConfinementLevel::Standard };
    let mut sandbox = Sandbox::new(level);
    let listed = |paths: &Option<Vec<PathBuf>>| paths.clone().unwrap_or_default();
    sandbox.hide = rules.never.iter().map(|path| resolve_existing(path)).collect();
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
        let mut writable = sandbox.writable_paths();
        let hidden = [sandbox.hide.as_slice(), &sandbox.never].concat();
        let names: Vec<PathBuf> = writable.iter().flat_map(|root| names_at_top(root)).collect();
        let denied = [sandbox.protect.as_slice(), &names, &hidden].concat();
        writable.push(temp.to_owned());
        let readable = [sandbox.read.as_slice(), &[temp.to_owned()]].concat();
        let never = &sandbox.never;
        let rules = PathBoundary::from_rules;
        Ok(Self {
            reads: Arc::new(rules(None, &readable, &hidden, "read")?),
            writes: Arc::new(rules(Some(&writable), &[], &denied, "written")?.with_protected_names()),
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

/// Checks a path on a system where file access cannot be restricted: an approval is needed for every change, and for
/// reading hidden paths.
///
/// # Errors
/// As [`FileBoundaries::check`].
pub(super) fn check_without_boundaries(
    sandbox: &ToolSandbox,
    path: &Path,
    access: AccessKind,
) -> Result<(), EnvironmentError> {
    let resolved = resolve_missing(path);
    let is_in = |paths: &[PathBuf]| paths.iter().any(|other| resolved.starts_with(resolve_existing(other)));
    let may_read = is_in(&sandbox.read);
    match access {
        AccessKind::Read if may_read => Ok(()),
        _ if is_in(&sandbox.never) => Err(EnvironmentError::refused(path, "is protected")),
        AccessKind::Read if is_in(&sandbox.hide) => Err(EnvironmentError::outside(path, "is protected")),
        AccessKind::Read => Ok(()),
        AccessKind::Write => {
            Err(EnvironmentError::outside(path, "this system cannot restrict changes to a directory"))
        }
    }
}

fn existing_paths<'a>(paths: impl Iterator<Item = &'a Path>) -> Vec<PathBuf> {
    // Resolving reads each directory above for a link; the first check is one call.
    paths.filter(|path| path.exists()).filter_map(|path| path.canonicalize().ok()).collect()
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

#[cfg(test)]
#[cfg(unix)]
mod tests;
