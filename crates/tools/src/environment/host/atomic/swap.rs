//! Replaces a file by another one, on Unix.

use std::collections::HashSet;
use std::fs::{File, Metadata};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, PoisonError};

use haft_protocol::defense::{Defense, is_up};
use rustix::fs::{Mode, OFlags};

use super::dir::{DirHandle, kind};
use super::location::{FileLocation, PathBoundary};
use super::temp::{TempFile, remove_abandoned};
use super::{attributes, in_place};
use crate::environment::host::kind::{require_file_kind, too_long_error};
use crate::environment::{EnvironmentError, FileWriteOutcome, InPlaceReason};

/// The state that all writers of an environment share.
#[derive(Debug)]
pub(in super::super) struct SharedWriteState {
    /// The directory for backups of files that are overwritten in place.
    state: PathBuf,
    /// The directories that are already cleaned up after crashes.
    swept: Mutex<HashSet<(u64, u64)>>,
    restored: Once,
}

impl SharedWriteState {
    pub(in super::super) fn new(state: PathBuf) -> Self {
        Self { state, swept: Mutex::default(), restored: Once::new() }
    }

    pub(in super::super) fn new_for_same_dir(&self) -> Self {
        Self::new(self.state.clone())
    }

    /// Cleans up after interrupted writes: backups once, and each directory once.
    fn clean_up(&self, root: Option<&PathBoundary>, dir: &DirHandle) {
        self.restored.call_once(|| {
            if let Err(error) = in_place::restore(&self.state, root) {
                tracing::warn!(dir = %self.state.display(), %error, "cannot check for backups of interrupted writes");
            }
        });
        let Ok(id) = dir.id() else { return };
        if self.swept.lock().unwrap_or_else(PoisonError::into_inner).insert(id)
            && let Err(error) = remove_abandoned(dir)
        {
            tracing::debug!(%error, "cannot check a directory for temporary files");
        }
    }
}

/// The metadata that reveals a change of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct FileStamp {
    file: (u64, u64),
    len: i64,
    changed: (i64, i64),
}

impl FileStamp {
    fn from_metadata(data: &Metadata) -> Self {
        let len = i64::try_from(data.len()).unwrap_or(i64::MAX);
        Self { file: (data.dev(), data.ino()), len, changed: (data.ctime(), data.ctime_nsec()) }
    }

    /// Returns the device and the inode.
    pub(in super::super) fn id(self) -> Option<(u64, u64)> {
        Some(self.file)
    }
}

/// Returns the stamp of a file without reading it, or `None` if it does not exist.
pub(in super::super) fn read_stamp(path: &Path) -> Result<Option<FileStamp>, EnvironmentError> {
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        data => Ok(Some(FileStamp::from_metadata(
            &data.map_err(|error| EnvironmentError::io("read", path, error))?,
        ))),
    }
}

/// Opens a file within a root. Links in the path are resolved first, and none is followed afterwards.
pub(in super::super) fn open_within(root: &PathBoundary, path: &Path) -> Result<File, EnvironmentError> {
    let failed = |error| EnvironmentError::io("read", path, error);
    let path = &path.canonicalize().map_err(failed)?;
    let FileLocation { dir, name, .. } = FileLocation::find(Some(root), path)?;
    let stat = dir.stat(name).map_err(failed)?.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
    require_file_kind(path, kind(&stat))?;
    dir.open_file(name, OFlags::RDONLY).map_err(failed)
}

pub(in super::super) fn read(
    root: Option<&PathBoundary>,
    path: &Path,
    limit: u64,
) -> Result<Option<(Vec<u8>, FileStamp)>, EnvironmentError> {
    let failed = |error| EnvironmentError::io("read", path, error);
    let FileLocation { dir, name, .. } = FileLocation::find(root, path)?;
    let Some(stat) = dir.stat(name).map_err(failed)? else { return Ok(None) };
    require_file_kind(path, kind(&stat))?;
    let file = dir.open_file(name, OFlags::RDONLY).map_err(failed)?;
    let data = file.metadata().map_err(failed)?;
    let mut bytes = Vec::with_capacity(usize::try_from(data.len().min(limit)).unwrap_or_default());
    (&file).take(limit + 1).read_to_end(&mut bytes).map_err(failed)?;
    let len = data.len().max(bytes.len() as u64);
    if len > limit {
        return Err(too_long_error(path, len, limit));
    }
    Ok(Some((bytes, FileStamp::from_metadata(&data))))
}

/// Replaces a file. `path` is resolved: a symbolic link at it is dangling. `read` is the stamp of the content that
/// was read; `None` if the file did not exist. With a root, nothing is written outside of it.
pub(in super::super) fn replace(
    disk: &SharedWriteState,
    root: Option<&PathBoundary>,
    path: &Path,
    content: &[u8],
    read: Option<FileStamp>,
) -> Result<FileWriteOutcome, EnvironmentError> {
    let target = WriteTarget { spot: FileLocation::find(root, path)?, content, read };
    disk.clean_up(root, &target.spot.dir);
    let Some(stat) = target.spot.dir.stat(target.spot.name).map_err(|error| target.write_error(error))?
    else {
        return target.create();
    };
    require_file_kind(path, kind(&stat))?;
    if !is_up(Defense::AtomicWrites) {
        return std::fs::write(path, content)
            .map(|()| FileWriteOutcome::Replaced)
            .map_err(|error| target.write_error(error));
    }
    let why = match target.replace_atomically()? {
        None => return Ok(FileWriteOutcome::Replaced),
        Some(why) => why,
    };
    target.overwrite(disk)?;
    Ok(FileWriteOutcome::InPlace(why))
}

/// A file to be written.
struct WriteTarget<'a> {
    spot: FileLocation<'a>,
    content: &'a [u8],
    read: Option<FileStamp>,
}

impl WriteTarget<'_> {
    fn create(&self) -> Result<FileWriteOutcome, EnvironmentError> {
        // A file that was removed in the meantime has changed.
        if self.read.is_some() {
            return Err(EnvironmentError::changed(self.spot.path));
        }
        let mut temp = TempFile::create(&self.spot.dir, self.spot.name, Mode::from_raw_mode(0o666))
            .map_err(|error| self.create_file_error(error))?;
        let filled = temp.file.write_all(self.content).and_then(|()| temp.file.sync_all());
        filled.map_err(|error| self.write_error(error))?;
        self.spot.check_reached()?;
        temp.publish_new(self.spot.name).map_err(|error| self.exists_error(error))?;
        self.sync_dir();
        Ok(FileWriteOutcome::Created)
    }

    fn replace_atomically(&self) -> Result<Option<InPlaceReason>, EnvironmentError> {
        // A file that is not writable must not be replaced, either, even if the directory allows it.
        let failed = |error| self.write_error(error);
        let FileLocation { dir, name, .. } = &self.spot;
        let writable = dir.open_file(name, OFlags::WRONLY).map_err(failed)?;
        let data = writable.metadata().map_err(failed)?;
        if data.nlink() > 1 {
            return Ok(Some(InPlaceReason::HardLinks));
        }
        let mut temp = match TempFile::create(dir, name, Mode::from_raw_mode(0o600)) {
            Err(error) if is_forbidden(&error) => return Ok(Some(InPlaceReason::Directory)),
            temp => temp.map_err(|error| self.create_file_error(error))?,
        };
        temp.file.write_all(self.content).map_err(failed)?;
        if let Err(why) = attributes::copy_metadata(&temp.file, &writable, &data).map_err(failed)? {
            return Ok(Some(why));
        }
        temp.file.sync_all().map_err(failed)?;
        self.check_unchanged()?;
        match temp.replace(name) {
            Err(error) if is_mount_point(&error) => return Ok(Some(InPlaceReason::MountPoint)),
            replaced => replaced.map_err(failed)?,
        }
        self.sync_dir();
        Ok(None)
    }

    fn overwrite(&self, disk: &SharedWriteState) -> Result<(), EnvironmentError> {
        let failed = |error| self.write_error(error);
        let mut file = self.spot.dir.open_file(self.spot.name, OFlags::RDWR).map_err(failed)?;
        if self.spot.root.is_some_and(PathBoundary::is_bounded)
            && file.metadata().map_err(failed)?.nlink() > 1
        {
            let reason = "has hard links, which may be outside of the writable directories";
            return Err(EnvironmentError::refused(self.spot.path, reason));
        }
        let mut old = Vec::new();
        file.read_to_end(&mut old).map_err(failed)?;
        let texts = in_place::OverwriteContent { old: &old, new: self.content };
        // The backup takes time, and another process may hold the lock of its directory.
        in_place::overwrite(&disk.state, self.spot.path, &mut file, texts, |file| {
            self.check_same(&file.metadata().map_err(failed)?)?;
            self.check_unchanged()
        })
    }

    /// An editor does not use the queue: its changes since the file was read would be lost.
    fn check_unchanged(&self) -> Result<(), EnvironmentError> {
        self.spot.check_reached()?;
        let now = self.spot.dir.open_file(self.spot.name, OFlags::RDONLY).and_then(|file| file.metadata());
        self.check_same(&now.map_err(|error| self.write_error(error))?)
    }

    fn check_same(&self, now: &Metadata) -> Result<(), EnvironmentError> {
        let same = Some(FileStamp::from_metadata(now)) == self.read;
        if same { Ok(()) } else { Err(EnvironmentError::changed(self.spot.path)) }
    }

    /// Syncs the directory so that the name survives a power failure. The file is already in place.
    fn sync_dir(&self) {
        if let Err(error) = self.spot.dir.sync() {
            tracing::warn!(path = %self.spot.path.display(), %error, "cannot sync a directory after a write");
        }
    }

    fn write_error(&self, error: io::Error) -> EnvironmentError {
        EnvironmentError::io("write", self.spot.path, error)
    }

    fn exists_error(&self, error: io::Error) -> EnvironmentError {
        if error.kind() == io::ErrorKind::AlreadyExists {
            return EnvironmentError::refused(
                self.spot.path,
                "was created by another program in the meantime; read it first",
            );
        }
        self.write_error(error)
    }

    fn create_file_error(&self, error: io::Error) -> EnvironmentError {
        let dir = self.spot.path.parent().unwrap_or(Path::new("/"));
        EnvironmentError::io("create a file in the directory", dir, error)
    }
}

/// The directory takes no new file, but the file itself may be writable.
fn is_forbidden(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

fn is_mount_point(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ResourceBusy | io::ErrorKind::CrossesDevices)
}
