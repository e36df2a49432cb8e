//! The location of a file to write: an open directory, reached without links, and a name in it.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use haft_protocol::defense::{Defense, is_up};
use rustix::fs::FileType;
use rustix::io::Errno;

use super::dir::DirHandle;
use crate::environment::EnvironmentError;
use crate::environment::{has_protected_name, resolve_existing};

/// The boundary of the accessible files.
#[derive(Debug)]
pub(in super::super) struct PathBoundary {
    own: Vec<BoundaryEntry>,
    /// Paths that are never accessible, even within other paths.
    never: Vec<PathBuf>,
    /// The accessible paths, or `None` for all.
    allowed: Option<Vec<BoundaryEntry>>,
    /// Single files that were made accessible later, by their resolved paths, the oldest first.
    admitted: Mutex<VecDeque<PathBuf>>,
    /// True if protected names below the accessible directories are never accessible.
    protects_names: bool,
    /// The restricted action: `read` or `written`.
    action: &'static str,
}

/// The maximum number of single files that stay accessible.
const ADMITTED: usize = 256;

/// A directory with its content, or a single file.
#[derive(Debug)]
struct BoundaryEntry {
    path: PathBuf,
    /// The directory itself, or the parent of the file.
    dir: DirHandle,
    dir_path: PathBuf,
}

impl PathBoundary {
    pub(in super::super) fn open(path: &Path) -> io::Result<Self> {
        let path = path.canonicalize()?;
        let place = BoundaryEntry { dir: DirHandle::open(&path)?, dir_path: path.clone(), path };
        Ok(Self {
            own: Vec::new(),
            never: Vec::new(),
            allowed: Some(vec![place]),
            admitted: Mutex::default(),
            protects_names: false,
            action: "written",
        })
    }

    #[expect(clippy::unnecessary_wraps, reason = "this fails on other systems")]
    /// Creates the boundary of the existing paths. `done` is the restricted action: `read` or `written`.
    pub(in super::super) fn from_rules(
        within: Option<&[PathBuf]>,
        own: &[PathBuf],
        never: &[PathBuf],
        done: &'static str,
    ) -> io::Result<Self> {
        let places = |paths: &[PathBuf]| paths.iter().filter_map(|path| BoundaryEntry::open(path)).collect();
        Ok(Self {
            own: places(own),
            never: never.iter().map(|path| resolve_existing(path)).collect(),
            allowed: within.map(places),
            admitted: Mutex::default(),
            protects_names: false,
            action: done,
        })
    }

    /// Excludes names from which code is run later, such as `.git/hooks`, at any depth below the accessible directories.
    pub(in super::super) fn with_protected_names(mut self) -> Self {
        self.protects_names = true;
        self
    }

    /// Makes a file accessible, wherever it is. Only the most recent files stay accessible.
    pub(in super::super) fn admit(&self, file: &Path) {
        let Ok(path) = file.canonicalize() else { return };
        let mut admitted = self.admitted.lock().unwrap_or_else(PoisonError::into_inner);
        if admitted.len() == ADMITTED {
            admitted.pop_front();
        }
        admitted.push_back(path);
    }

    fn is_admitted(&self, path: &Path) -> bool {
        self.admitted.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|admitted| admitted == path)
    }

    /// True if access is restricted: then other names of a file may be outside.
    pub(in super::super) fn is_bounded(&self) -> bool {
        self.allowed.is_some()
    }

    /// Checks a resolved path without opening it.
    ///
    /// # Errors
    /// The path is outside.
    pub(in super::super) fn check(&self, path: &Path) -> Result<(), EnvironmentError> {
        let in_any = |places: &[BoundaryEntry]| places.iter().any(|place| path.starts_with(&place.path));
        if in_any(&self.own) || self.is_admitted(path) {
            return Ok(());
        }
        if self.is_never_accessible(path) {
            return Err(self.never_error(path));
        }
        match &self.allowed {
            Some(within) if !in_any(within) => {
                Err(EnvironmentError::outside(path, self.outside_reason(within)))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Returns the paths that are never accessible.
    pub(in super::super) fn never_accessible(&self) -> &[PathBuf] {
        &self.never
    }

    fn is_never_accessible(&self, path: &Path) -> bool {
        let mut allowed = self.allowed.iter().flatten().filter(|_| self.protects_names);
        self.never.iter().any(|never| path.starts_with(never))
            || allowed.any(|place| has_protected_name(&place.path, path))
    }

    fn never_error(&self, path: &Path) -> EnvironmentError {
        EnvironmentError::outside(path, format!("is protected and cannot be {}", self.action))
    }

    fn open_parent(&self, parent: &Path, path: &Path) -> Result<DirHandle, EnvironmentError> {
        let of = |places: &'_ [BoundaryEntry]| places.iter().position(|place| path.starts_with(&place.path));
        if let Some(place) = of(&self.own).and_then(|place| self.own.get(place)) {
            return place.open_dir(parent);
        }
        if self.is_admitted(path) {
            return DirHandle::open(parent).map_err(|error| unreachable_error(parent, error));
        }
        if self.is_never_accessible(path) {
            return Err(self.never_error(path));
        }
        let Some(within) = &self.allowed else {
            return DirHandle::open(parent).map_err(|error| unreachable_error(parent, error));
        };
        match of(within).and_then(|place| within.get(place)) {
            Some(place) => place.open_dir(parent),
            None => Err(EnvironmentError::outside(path, self.outside_reason(within))),
        }
    }

    fn outside_reason(&self, within: &[BoundaryEntry]) -> String {
        let places: Vec<_> = within.iter().map(|place| place.path.display().to_string()).collect();
        format!("is outside of {}, and only files in there can be {}", places.join(" and "), self.action)
    }
}

impl BoundaryEntry {
    /// Opens the path; `None` if it does not exist.
    fn open(path: &Path) -> Option<Self> {
        let path = path.canonicalize().ok()?;
        let dir_path = if path.is_dir() { path.clone() } else { path.parent()?.to_owned() };
        Some(Self { dir: DirHandle::open(&dir_path).ok()?, dir_path, path })
    }

    fn open_dir(&self, path: &Path) -> Result<DirHandle, EnvironmentError> {
        let Ok(below) = path.strip_prefix(&self.dir_path) else { return Err(moved_error(path)) };
        // The resolved path must still lead to the opened directory.
        match DirHandle::open(&self.dir_path).and_then(|now| Ok(now.id()? == self.dir.id()?)) {
            Ok(true) => self.dir.open_below(below).map_err(|error| unreachable_error(path, error)),
            Ok(false) => Err(moved_error(path)),
            Err(error) => Err(unreachable_error(path, error)),
        }
    }
}

/// Opens the directory `parent` of a path, both resolved, within the root if there is one.
pub(super) fn open_parent(
    root: Option<&PathBoundary>,
    parent: &Path,
    path: &Path,
) -> Result<DirHandle, EnvironmentError> {
    match root {
        Some(root) => root.open_parent(parent, path),
        None => DirHandle::open(parent).map_err(|error| unreachable_error(parent, error)),
    }
}

pub(super) fn open_dir(root: Option<&PathBoundary>, path: &Path) -> Result<DirHandle, EnvironmentError> {
    open_parent(root, path, path)
}

/// A name in an open directory.
pub(super) struct FileLocation<'a> {
    pub(super) dir: DirHandle,
    pub(super) name: &'a OsStr,
    pub(super) path: &'a Path,
    pub(super) root: Option<&'a PathBoundary>,
}

impl<'a> FileLocation<'a> {
    /// Finds the location of a resolved path.
    pub(super) fn find(root: Option<&'a PathBoundary>, path: &'a Path) -> Result<Self, EnvironmentError> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(unreachable_error(path, io::ErrorKind::IsADirectory.into()));
        };
        Ok(Self { dir: open_parent(root, parent, path)?, name, path, root })
    }

    /// Checks that the path still leads to the directory. A write to a moved directory would be in another place than
    /// the result says, perhaps outside of the root.
    pub(super) fn check_reached(&self) -> Result<(), EnvironmentError> {
        if !is_up(Defense::Containment) {
            return Ok(());
        }
        let parent = self.path.parent().unwrap_or(Path::new("/"));
        let now = open_parent(self.root, parent, self.path)?;
        match now.id().and_then(|now| Ok(now == self.dir.id()?)) {
            Ok(true) => Ok(()),
            Ok(false) => Err(moved_error(self.path)),
            Err(error) => Err(unreachable_error(self.path, error)),
        }
    }
}

/// Returns the error for a path that was changed since it was resolved.
fn moved_error(path: &Path) -> EnvironmentError {
    EnvironmentError::refused(
        path,
        "a directory on its path was moved or replaced in the meantime; try again",
    )
}

fn unreachable_error(path: &Path, error: io::Error) -> EnvironmentError {
    match Errno::from_io_error(&error) {
        Some(Errno::LOOP | Errno::XDEV | Errno::NOTDIR) => moved_error(path),
        _ => EnvironmentError::io("reach", path, error),
    }
}

/// Creates all missing parent directories of `path`, within the root if there is one, and syncs each of them.
pub(in super::super) fn create_parents(
    root: Option<&PathBoundary>,
    path: &Path,
) -> Result<(), EnvironmentError> {
    let Some(parent) = path.parent() else { return Ok(()) };
    let missing: Vec<&Path> = parent.ancestors().take_while(|dir| is_missing(dir)).collect();
    for dir in missing.into_iter().rev() {
        create_dir(root, dir)?;
    }
    // A file in the place of a directory is an error.
    match parent.metadata() {
        Ok(data) if !data.is_dir() => Err(create_dir_error(parent, Errno::EXIST.into())),
        Ok(_) => Ok(()),
        Err(error) => Err(create_dir_error(parent, error)),
    }
}

fn is_missing(dir: &Path) -> bool {
    dir.metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

fn create_dir(root: Option<&PathBoundary>, dir: &Path) -> Result<(), EnvironmentError> {
    // `..` after a missing directory exists as soon as that directory does.
    let (Some(name), Some(above)) = (dir.file_name(), dir.parent()) else { return Ok(()) };
    let above = above.canonicalize().map_err(|error| create_dir_error(dir, error))?;
    let above = open_dir(root, &above)?;
    match above.create_dir(name) {
        Ok(()) => above.sync().unwrap_or_else(|error| {
            tracing::warn!(dir = %dir.display(), %error, "cannot sync a directory after creating another one in it");
        }),
        // Another process was faster, or there is a dangling link.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match above.stat(name) {
            Ok(Some(stat)) if FileType::from_raw_mode(stat.st_mode).is_dir() => {}
            _ => return Err(create_dir_error(dir, error)),
        },
        Err(error) => return Err(create_dir_error(dir, error)),
    }
    Ok(())
}

fn create_dir_error(dir: &Path, error: io::Error) -> EnvironmentError {
    EnvironmentError::io("create the directory", dir, error)
}
