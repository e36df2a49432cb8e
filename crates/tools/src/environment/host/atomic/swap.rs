//! One file in the place of another, on Unix.

use std::collections::HashSet;
use std::fs::{File, Metadata};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, PoisonError};

use haft_protocol::defence::{Defence, is_up};
use rustix::fs::{Mode, OFlags};

use super::dir::{Dir, kind};
use super::spot::{Root, Spot};
use super::temp::{Temp, sweep};
use super::{attributes, in_place};
use crate::environment::host::kind::{must_be_file, too_long};
use crate::environment::{EnvironmentError, InPlace, Written};

/// The state that all writers of an environment share.
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

    pub(in super::super) fn another(&self) -> Self {
        Self::new(self.state.clone())
    }

    /// Clears up what interrupted writes have left: once, and once for each directory.
    fn clear_up(&self, root: Option<&Root>, dir: &Dir) {
        self.restored.call_once(|| {
            if let Err(error) = in_place::restore(&self.state, root) {
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

/// Returns the stamp of a file without reading it; `None` when there is none.
pub(in super::super) fn look(path: &Path) -> Result<Option<Stamp>, EnvironmentError> {
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        data => Ok(Some(Stamp::of(&data.map_err(|error| EnvironmentError::io("read", path, error))?))),
    }
}

/// Opens a file within a root by a path with links, all of which are followed before and none then.
pub(in super::super) fn open_within(root: &Root, path: &Path) -> Result<File, EnvironmentError> {
    let failed = |error| EnvironmentError::io("read", path, error);
    let path = &path.canonicalize().map_err(failed)?;
    let Spot { dir, name, .. } = Spot::find(Some(root), path)?;
    let stat = dir.stat(name).map_err(failed)?.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
    must_be_file(path, kind(&stat))?;
    dir.open_file(name, OFlags::RDONLY).map_err(failed)
}

pub(in super::super) fn read(
    root: Option<&Root>,
    path: &Path,
    limit: u64,
) -> Result<Option<(Vec<u8>, Stamp)>, EnvironmentError> {
    let failed = |error| EnvironmentError::io("read", path, error);
    let Spot { dir, name, .. } = Spot::find(root, path)?;
    let Some(stat) = dir.stat(name).map_err(failed)? else { return Ok(None) };
    must_be_file(path, kind(&stat))?;
    let file = dir.open_file(name, OFlags::RDONLY).map_err(failed)?;
    let data = file.metadata().map_err(failed)?;
    let mut bytes = Vec::with_capacity(usize::try_from(data.len().min(limit)).unwrap_or_default());
    (&file).take(limit + 1).read_to_end(&mut bytes).map_err(failed)?;
    let len = data.len().max(bytes.len() as u64);
    if len > limit {
        return Err(too_long(path, len, limit));
    }
    Ok(Some((bytes, Stamp::of(&data))))
}

/// `path` is resolved: if there is a symbolic link at it, it leads nowhere. `read` is what the content stood on that
/// is to be replaced; `None` where there was nothing. With a root, nothing is written outside of it.
pub(in super::super) fn replace(
    disk: &Disk,
    root: Option<&Root>,
    path: &Path,
    content: &[u8],
    read: Option<Stamp>,
) -> Result<Written, EnvironmentError> {
    let target = Target { spot: Spot::find(root, path)?, content, read };
    disk.clear_up(root, &target.spot.dir);
    let Some(stat) = target.spot.dir.stat(target.spot.name).map_err(|error| target.failed(error))? else {
        return target.create();
    };
    must_be_file(path, kind(&stat))?;
    if !is_up(Defence::AtomicWrites) {
        return std::fs::write(path, content)
            .map(|()| Written::Replaced)
            .map_err(|error| target.failed(error));
    }
    let why = match target.swap()? {
        None => return Ok(Written::Replaced),
        Some(why) => why,
    };
    target.overwrite(disk)?;
    Ok(Written::InPlace(why))
}

/// A file that gets new content.
struct Target<'a> {
    spot: Spot<'a>,
    content: &'a [u8],
    read: Option<Stamp>,
}

impl Target<'_> {
    fn create(&self) -> Result<Written, EnvironmentError> {
        // Whoever has removed it meanwhile has changed it.
        if self.read.is_some() {
            return Err(EnvironmentError::changed(self.spot.path));
        }
        let mut temp = Temp::create(&self.spot.dir, self.spot.name, Mode::from_raw_mode(0o666))
            .map_err(|error| self.no_file(error))?;
        let filled = temp.file.write_all(self.content).and_then(|()| temp.file.sync_all());
        filled.map_err(|error| self.failed(error))?;
        self.spot.is_reached()?;
        temp.appear(self.spot.name).map_err(|error| self.not_free(error))?;
        self.sync_dir();
        Ok(Written::Created)
    }

    fn swap(&self) -> Result<Option<InPlace>, EnvironmentError> {
        // A file that may not be written must not be replaced either, though the directory would allow it.
        let failed = |error| self.failed(error);
        let Spot { dir, name, .. } = &self.spot;
        let writable = dir.open_file(name, OFlags::WRONLY).map_err(failed)?;
        let data = writable.metadata().map_err(failed)?;
        if data.nlink() > 1 {
            return Ok(Some(InPlace::HardLinks));
        }
        let mut temp = match Temp::create(dir, name, Mode::from_raw_mode(0o600)) {
            Err(error) if is_forbidden(&error) => return Ok(Some(InPlace::Directory)),
            temp => temp.map_err(|error| self.no_file(error))?,
        };
        temp.file.write_all(self.content).map_err(failed)?;
        if let Err(why) = attributes::take_over(&temp.file, &writable, &data).map_err(failed)? {
            return Ok(Some(why));
        }
        temp.file.sync_all().map_err(failed)?;
        self.is_unchanged()?;
        match temp.replace(name) {
            Err(error) if is_mount_point(&error) => return Ok(Some(InPlace::MountPoint)),
            replaced => replaced.map_err(failed)?,
        }
        self.sync_dir();
        Ok(None)
    }

    fn overwrite(&self, disk: &Disk) -> Result<(), EnvironmentError> {
        let failed = |error| self.failed(error);
        let mut file = self.spot.dir.open_file(self.spot.name, OFlags::RDWR).map_err(failed)?;
        if self.spot.root.is_some_and(Root::is_bounded) && file.metadata().map_err(failed)?.nlink() > 1 {
            let reason = "has hard links, which may be outside of where it may be written";
            return Err(EnvironmentError::refused(self.spot.path, reason));
        }
        let mut old = Vec::new();
        file.read_to_end(&mut old).map_err(failed)?;
        let texts = in_place::Texts { old: &old, new: self.content };
        // The backup takes its time, and another process may have the directory for it.
        in_place::overwrite(&disk.state, self.spot.path, &mut file, texts, |file| {
            self.is_same(&file.metadata().map_err(failed)?)?;
            self.is_unchanged()
        })
    }

    /// An editor knows nothing of queues: what it wrote since the file was read would be lost.
    fn is_unchanged(&self) -> Result<(), EnvironmentError> {
        self.spot.is_reached()?;
        let now = self.spot.dir.open_file(self.spot.name, OFlags::RDONLY).and_then(|file| file.metadata());
        self.is_same(&now.map_err(|error| self.failed(error))?)
    }

    fn is_same(&self, now: &Metadata) -> Result<(), EnvironmentError> {
        let same = Some(Stamp::of(now)) == self.read;
        if same { Ok(()) } else { Err(EnvironmentError::changed(self.spot.path)) }
    }

    /// The file is in place; that its name survives a power cut is the only thing still open.
    fn sync_dir(&self) {
        if let Err(error) = self.spot.dir.sync() {
            tracing::warn!(path = %self.spot.path.display(), %error, "directory not flushed after a write");
        }
    }

    fn failed(&self, error: io::Error) -> EnvironmentError {
        EnvironmentError::io("write", self.spot.path, error)
    }

    fn not_free(&self, error: io::Error) -> EnvironmentError {
        if error.kind() == io::ErrorKind::AlreadyExists {
            return EnvironmentError::refused(
                self.spot.path,
                "was made by somebody else meanwhile; read it first",
            );
        }
        self.failed(error)
    }

    fn no_file(&self, error: io::Error) -> EnvironmentError {
        let dir = self.spot.path.parent().unwrap_or(Path::new("/"));
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
