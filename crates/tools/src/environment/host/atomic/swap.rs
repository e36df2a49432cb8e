//! One file in the place of another, on Unix.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, PoisonError};

use haft_protocol::defence::{Defence, is_up};
use rustix::fs::{FileType, Mode, OFlags, Stat};

use super::dir::Dir;
use super::temp::{Temp, sweep};
use super::{attributes, in_place};
use crate::environment::host::files;
use crate::environment::{EnvironmentError, FileKind, InPlace, Written};

/// What all writers of an environment share.
#[derive(Debug)]
pub(in super::super) struct Disk {
    /// For backups of what is overwritten in place.
    state: PathBuf,
    /// Directories in which what crashes had left is gone.
    swept: Mutex<HashSet<(u64, u64)>>,
    restored: Once,
}

impl Disk {
    pub(in super::super) fn new(state: PathBuf) -> Self {
        Self { state, swept: Mutex::default(), restored: Once::new() }
    }

    /// Clears up what interrupted writes have left: once, and once for each directory.
    fn clear_up(&self, dir: &Dir) {
        self.restored.call_once(|| {
            if let Err(error) = in_place::restore(&self.state) {
                tracing::warn!(dir = %self.state.display(), %error, "backups not looked at");
            }
        });
        let Ok(id) = dir.id() else { return };
        if self.swept.lock().unwrap_or_else(PoisonError::into_inner).insert(id)
            && let Err(error) = sweep(dir)
        {
            tracing::debug!(%error, "a directory could not be looked through for temporary files");
        }
    }
}

/// By which a change of a file is noticed without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Stamp {
    file: (u64, u64),
    len: i64,
    changed: (i64, i64),
}

impl Stamp {
    fn of(data: &Metadata) -> Self {
        let len = i64::try_from(data.len()).unwrap_or(i64::MAX);
        Self { file: (data.dev(), data.ino()), len, changed: (data.ctime(), data.ctime_nsec()) }
    }

    /// Device and inode.
    pub(in super::super) fn id(self) -> Option<(u64, u64)> {
        Some(self.file)
    }
}

/// What is known of a file without reading it; `None` when there is none.
pub(in super::super) fn look(path: &Path) -> Result<Option<Stamp>, EnvironmentError> {
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        data => Ok(Some(Stamp::of(&data.map_err(|error| EnvironmentError::io("read", path, error))?))),
    }
}

pub(super) fn is_file(stat: &Stat) -> bool {
    kind(stat) == FileKind::File
}

fn kind(stat: &Stat) -> FileKind {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => FileKind::File,
        FileType::Directory => FileKind::Directory,
        FileType::Symlink => FileKind::Link,
        FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => FileKind::Other,
    }
}

/// The whole content, with what it is known by.
pub(in super::super) fn read(path: &Path, limit: u64) -> Result<Option<(Vec<u8>, Stamp)>, EnvironmentError> {
    let failed = |error| EnvironmentError::io("read", path, error);
    let (dir, name) = split(path).map_err(failed)?;
    let Some(stat) = dir.stat(name).map_err(failed)? else { return Ok(None) };
    files::must_be_file(path, kind(&stat))?;
    let file = dir.open_file(name, OFlags::RDONLY).map_err(failed)?;
    let data = file.metadata().map_err(failed)?;
    let mut bytes = Vec::with_capacity(usize::try_from(data.len().min(limit)).unwrap_or_default());
    (&file).take(limit + 1).read_to_end(&mut bytes).map_err(failed)?;
    let len = data.len().max(bytes.len() as u64);
    if len > limit {
        return Err(files::too_long(path, len, limit));
    }
    Ok(Some((bytes, Stamp::of(&data))))
}

/// `path` is resolved: if there is a symbolic link at it, it leads nowhere. `read` is what the content stood on that
/// is to be replaced; `None` where there was nothing.
pub(in super::super) fn replace(
    disk: &Disk,
    path: &Path,
    content: &[u8],
    read: Option<Stamp>,
) -> Result<Written, EnvironmentError> {
    let failed = |error| EnvironmentError::io("write", path, error);
    let (dir, name) = split(path).map_err(failed)?;
    disk.clear_up(&dir);
    let target = Target { dir, name, path, content };
    let Some(stat) = target.dir.stat(name).map_err(failed)? else { return target.create() };
    files::must_be_file(path, kind(&stat))?;
    if !is_up(Defence::AtomicWrites) {
        return std::fs::write(path, content).map(|()| Written::Replaced).map_err(failed);
    }
    let why = match target.swap(read)? {
        None => return Ok(Written::Replaced),
        Some(why) => why,
    };
    target.overwrite(disk, read)?;
    Ok(Written::InPlace(why))
}

/// The directory and the name in it.
fn split(path: &Path) -> io::Result<(Dir, &OsStr)> {
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => Ok((Dir::open(parent)?, name)),
        _ => Err(io::Error::from(io::ErrorKind::IsADirectory)),
    }
}

/// What is to have new content.
struct Target<'a> {
    dir: Dir,
    name: &'a OsStr,
    path: &'a Path,
    content: &'a [u8],
}

impl Target<'_> {
    fn create(&self) -> Result<Written, EnvironmentError> {
        let mut temp = Temp::create(&self.dir, self.name, Mode::from_raw_mode(0o666))
            .map_err(|error| self.no_file(error))?;
        let filled = temp.file.write_all(self.content).and_then(|()| temp.file.sync_all());
        filled.map_err(|error| self.failed(error))?;
        temp.appear(self.name).map_err(|error| self.not_free(error))?;
        self.sync_dir();
        Ok(Written::Created)
    }

    /// Puts a new file in the old one's place, or says why that cannot be done.
    fn swap(&self, read: Option<Stamp>) -> Result<Option<InPlace>, EnvironmentError> {
        // A file that may not be written must not be replaced either, though the directory would allow it.
        let failed = |error| self.failed(error);
        let writable = self.dir.open_file(self.name, OFlags::WRONLY).map_err(failed)?;
        let data = writable.metadata().map_err(failed)?;
        if data.nlink() > 1 {
            return Ok(Some(InPlace::HardLinks));
        }
        let mut temp = match Temp::create(&self.dir, self.name, Mode::from_raw_mode(0o600)) {
            Err(error) if is_forbidden(&error) => return Ok(Some(InPlace::Directory)),
            temp => temp.map_err(|error| self.no_file(error))?,
        };
        temp.file.write_all(self.content).map_err(failed)?;
        if let Err(why) = attributes::take_over(&temp.file, &writable, &data).map_err(failed)? {
            return Ok(Some(why));
        }
        temp.file.sync_all().map_err(failed)?;
        self.still(read)?;
        match temp.replace(self.name) {
            Err(error) if is_mount_point(&error) => return Ok(Some(InPlace::MountPoint)),
            replaced => replaced.map_err(failed)?,
        }
        self.sync_dir();
        Ok(None)
    }

    fn overwrite(&self, disk: &Disk, read: Option<Stamp>) -> Result<(), EnvironmentError> {
        let failed = |error| self.failed(error);
        let mut file = self.dir.open_file(self.name, OFlags::RDWR).map_err(failed)?;
        let mut old = Vec::new();
        file.read_to_end(&mut old).map_err(failed)?;
        self.still(read)?;
        in_place::overwrite(&disk.state, self.path, &mut file, &old, self.content)
    }

    /// An editor knows nothing of queues: what it wrote since the file was read would be lost.
    fn still(&self, read: Option<Stamp>) -> Result<(), EnvironmentError> {
        let now = self.dir.open_file(self.name, OFlags::RDONLY).and_then(|file: File| file.metadata());
        let same = now.map(|data| Some(Stamp::of(&data)) == read).map_err(|error| self.failed(error))?;
        if same { Ok(()) } else { Err(EnvironmentError::changed(self.path)) }
    }

    /// The file is in place; that its name survives a power cut is the only thing still open.
    fn sync_dir(&self) {
        if let Err(error) = self.dir.sync() {
            tracing::warn!(path = %self.path.display(), %error, "directory not flushed after a write");
        }
    }

    fn failed(&self, error: io::Error) -> EnvironmentError {
        EnvironmentError::io("write", self.path, error)
    }

    fn not_free(&self, error: io::Error) -> EnvironmentError {
        if error.kind() == io::ErrorKind::AlreadyExists {
            return EnvironmentError::refused(
                self.path,
                "was made by somebody else meanwhile; read it first",
            );
        }
        self.failed(error)
    }

    fn no_file(&self, error: io::Error) -> EnvironmentError {
        let dir = self.path.parent().unwrap_or(Path::new("/"));
        EnvironmentError::io("create a file in the directory", dir, error)
    }
}

/// The directory takes no new file, but the file may be written all the same.
fn is_forbidden(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

fn is_mount_point(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ResourceBusy | io::ErrorKind::CrossesDevices)
}
