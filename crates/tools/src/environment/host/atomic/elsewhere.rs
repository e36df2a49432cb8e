//! Writing files on systems where a new file gets its permissions and owner from its directory, and directories
//! cannot be synced.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::environment::host::kind;
use crate::environment::{EnvironmentError, FileWriteOutcome};

/// The state that all writers of an environment share; empty here.
#[derive(Debug)]
pub(in super::super) struct SharedWriteState;

impl SharedWriteState {
    pub(in super::super) fn new(_: PathBuf) -> Self {
        Self
    }

    pub(in super::super) fn new_for_same_dir(&self) -> Self {
        Self
    }
}

/// The boundary for file changes, which cannot be enforced on this system.
#[derive(Debug)]
pub(in super::super) enum PathBoundary {}

impl PathBoundary {
    pub(in super::super) fn open(_: &Path) -> io::Result<Self> {
        Err(unsupported_error())
    }

    pub(in super::super) fn from_rules(
        _: Option<&[PathBuf]>,
        _: &[PathBuf],
        _: &[PathBuf],
        _: &'static str,
    ) -> io::Result<Self> {
        Err(unsupported_error())
    }

    pub(in super::super) fn with_protected_names(self) -> Self {
        match self {}
    }

    pub(in super::super) fn admit(&self, _: &Path) {
        match *self {}
    }

    pub(in super::super) fn check(&self, _: &Path) -> Result<(), EnvironmentError> {
        match *self {}
    }

    pub(in super::super) fn never_accessible(&self) -> &[PathBuf] {
        match *self {}
    }

    pub(in super::super) fn is_bounded(&self) -> bool {
        match *self {}
    }
}

fn unsupported_error() -> io::Error {
    io::Error::new(
        io::ErrorKind::Unsupported,
        "file access cannot be restricted to a directory on this system",
    )
}

pub(in super::super) fn open_within(root: &PathBoundary, _: &Path) -> Result<File, EnvironmentError> {
    match *root {}
}

/// Creates the missing parent directories of `path`.
pub(in super::super) fn create_parents(
    _: Option<&PathBoundary>,
    path: &Path,
) -> Result<(), EnvironmentError> {
    let Some(dir) = path.parent() else { return Ok(()) };
    fs::create_dir_all(dir).map_err(|error| EnvironmentError::io("create the directory", dir, error))
}

/// The metadata that reveals a change of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct FileStamp {
    len: u64,
    changed: Option<SystemTime>,
}

impl FileStamp {
    fn from_metadata(data: &Metadata) -> Self {
        Self { len: data.len(), changed: data.modified().ok() }
    }

    /// The standard library has no stable file numbers on this system.
    pub(in super::super) fn id(self) -> Option<(u64, u64)> {
        None
    }
}

/// Returns the stamp of a file without reading it, or `None` if it does not exist.
pub(in super::super) fn read_stamp(path: &Path) -> Result<Option<FileStamp>, EnvironmentError> {
    Ok(read_metadata(path)?.map(|data| FileStamp::from_metadata(&data)))
}

fn read_metadata(path: &Path) -> Result<Option<Metadata>, EnvironmentError> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        data => data.map(Some).map_err(|error| EnvironmentError::io("read", path, error)),
    }
}

pub(in super::super) fn read(
    _: Option<&PathBoundary>,
    path: &Path,
    limit: u64,
) -> Result<Option<(Vec<u8>, FileStamp)>, EnvironmentError> {
    let failed = |error| EnvironmentError::io("read", path, error);
    let Some(data) = read_metadata(path)? else { return Ok(None) };
    kind::require_regular_file(path, &data)?;
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(limit + 1).read_to_end(&mut bytes)).map_err(failed)?;
    let len = data.len().max(bytes.len() as u64);
    if len > limit {
        return Err(kind::too_long_error(path, len, limit));
    }
    Ok(Some((bytes, FileStamp::from_metadata(&data))))
}

pub(in super::super) fn replace(
    _: &SharedWriteState,
    _: Option<&PathBoundary>,
    path: &Path,
    content: &[u8],
    read: Option<FileStamp>,
) -> Result<FileWriteOutcome, EnvironmentError> {
    let failed = |error| EnvironmentError::io("write", path, error);
    let old = read_metadata(path)?;
    if let Some(old) = &old {
        kind::require_regular_file(path, old)?;
        // A file that is not writable must not be replaced, either.
        drop(File::options().write(true).open(path).map_err(failed)?);
    }
    let mut new = tempfile::Builder::new()
        .prefix(".haft-")
        .tempfile_in(path.parent().unwrap_or(Path::new("/")))
        .map_err(failed)?;
    new.write_all(content).and_then(|()| new.as_file().sync_all()).map_err(failed)?;
    if read_stamp(path)? != read {
        return Err(EnvironmentError::changed(path));
    }
    new.persist(path).map_err(|error| failed(error.error))?;
    Ok(if old.is_some() { FileWriteOutcome::Replaced } else { FileWriteOutcome::Created })
}
