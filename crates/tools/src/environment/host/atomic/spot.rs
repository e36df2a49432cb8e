//! Where a file is to be written: an open directory, which one gets to without links, and a name in it.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use haft_protocol::defence::{Defence, is_up};
use rustix::io::Errno;

use super::dir::Dir;
use crate::environment::EnvironmentError;

/// A directory that nothing is written outside of.
#[derive(Debug)]
pub(in super::super) struct Root {
    path: PathBuf,
    dir: Dir,
}

impl Root {
    pub(in super::super) fn open(path: &Path) -> io::Result<Self> {
        let path = path.canonicalize()?;
        Ok(Self { dir: Dir::open(&path)?, path })
    }

    /// Opens a directory in it by its resolved path.
    fn open_dir(&self, path: &Path) -> Result<Dir, EnvironmentError> {
        let Ok(below) = path.strip_prefix(&self.path) else {
            let reason = format!("is outside of {}; nothing is written there", self.path.display());
            return Err(EnvironmentError::refused(path, reason));
        };
        // The paths that are looked up must lead where this writes.
        match Dir::open(&self.path).and_then(|now| Ok(now.id()? == self.dir.id()?)) {
            Ok(true) => self.dir.open_below(below).map_err(|error| unreached(path, error)),
            Ok(false) => Err(moved(path)),
            Err(error) => Err(unreached(path, error)),
        }
    }
}

/// Opens a directory by its resolved path: in the root, if there is one.
pub(super) fn open_dir(root: Option<&Root>, path: &Path) -> Result<Dir, EnvironmentError> {
    match root {
        Some(root) => root.open_dir(path),
        None => Dir::open(path).map_err(|error| unreached(path, error)),
    }
}

/// A name in an open directory.
pub(super) struct Spot<'a> {
    pub(super) dir: Dir,
    pub(super) name: &'a OsStr,
    pub(super) path: &'a Path,
    pub(super) root: Option<&'a Root>,
}

impl<'a> Spot<'a> {
    /// `path` is resolved.
    pub(super) fn find(root: Option<&'a Root>, path: &'a Path) -> Result<Self, EnvironmentError> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(unreached(path, io::ErrorKind::IsADirectory.into()));
        };
        Ok(Self { dir: open_dir(root, parent)?, name, path, root })
    }

    /// Whether the path still leads to the directory: what is written to one that was moved would be elsewhere than
    /// the result says, and perhaps outside of the root.
    pub(super) fn is_reached(&self) -> Result<(), EnvironmentError> {
        if !is_up(Defence::Containment) {
            return Ok(());
        }
        let now = open_dir(self.root, self.path.parent().unwrap_or(Path::new("/")))?;
        match now.id().and_then(|now| Ok(now == self.dir.id()?)) {
            Ok(true) => Ok(()),
            Ok(false) => Err(moved(self.path)),
            Err(error) => Err(unreached(self.path, error)),
        }
    }
}

/// Somebody has changed the way to a file since it was looked up.
fn moved(path: &Path) -> EnvironmentError {
    EnvironmentError::refused(path, "a directory on the way to it was moved or replaced meanwhile; try again")
}

fn unreached(path: &Path, error: io::Error) -> EnvironmentError {
    match Errno::from_io_error(&error) {
        Some(Errno::LOOP | Errno::XDEV | Errno::NOTDIR) => moved(path),
        _ => EnvironmentError::io("reach", path, error),
    }
}
