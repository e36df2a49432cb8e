//! Staging of changes to a directory of extensions or the store: prepared aside, put in place by one rename, cleaned
//! up after a crash.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::{InstallError, seal};
use crate::timeouts;

/// The subdirectory for preparations and removals. Its content is useless once no process holds its lock. Every start
/// lists it, so it is separate from the parent directory, which can have thousands of entries.
pub(super) const SCRAPS: &str = ".scraps";

/// The lock file of a staging directory.
const IN_USE: &str = ".lock";

/// The exclusive right to change a directory of extensions. No process holds it while the user is asked.
#[derive(Debug)]
pub(crate) struct StagingArea {
    dir: PathBuf,
    /// Held for its lock.
    _lock: File,
}

/// A temporary directory for a preparation, deleted on drop. It may outlive its staging area: while this process
/// holds its lock, no other process deletes it.
#[derive(Debug)]
pub(crate) struct StagingDir {
    /// Held for its lock. Dropped first, because some systems cannot delete an open file.
    _lock: File,
    dir: TempDir,
}

/// Removes leftovers of killed processes in a directory, unless another process holds the lock.
pub(super) fn sweep_leftovers(dir: &Path) {
    if leftovers(dir).any(|scrap| is_abandoned(&scrap)) {
        // A process with the lock removes leftovers itself. Without write access, nothing can be done.
        _ = StagingArea::open_with_timeout(dir, Duration::ZERO);
    }
}

impl StagingArea {
    /// Waits for the lock, takes it, and removes leftovers of killed processes. Processes hold it only briefly.
    pub(crate) fn open(dir: &Path) -> Result<Self, InstallError> {
        Self::open_with_timeout(dir, timeouts::STAGING_LOCK)
    }

    fn open_with_timeout(dir: &Path, patience: Duration) -> Result<Self, InstallError> {
        std::fs::create_dir_all(dir).map_err(InstallError::io("create", dir))?;
        let path = dir.join(".lock");
        let mut options = File::options();
        let lock = options.create(true).truncate(false).write(true).open(&path);
        let lock = lock.map_err(InstallError::io("open", &path))?;
        let until = Instant::now() + patience;
        loop {
            match lock.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if Instant::now() < until => {
                    sleep(timeouts::STAGING_LOCK_RETRY)
                }
                Err(TryLockError::WouldBlock) => return Err(InstallError::Busy { dir: dir.into() }),
                Err(TryLockError::Error(error)) => return Err(InstallError::io("lock", path)(error)),
            }
        }
        let staging_area = Self { dir: dir.into(), _lock: lock };
        staging_area.remove_leftovers();
        Ok(staging_area)
    }

    /// Removes leftovers. A leftover that cannot be removed does not prevent changes.
    fn remove_leftovers(&self) {
        for path in leftovers(&self.dir).filter(|scrap| is_abandoned(scrap)) {
            if let Err(error) = remove(&path) {
                tracing::warn!(path = %path.display(), %error, "cannot remove a leftover of an interrupted change");
            }
        }
    }

    pub(crate) fn create_staging_dir(&self) -> Result<StagingDir, InstallError> {
        let write = || InstallError::io("write to", &self.dir);
        let scraps = self.dir.join(SCRAPS);
        std::fs::create_dir_all(&scraps).map_err(write())?;
        let dir = TempDir::new_in(scraps).map_err(write())?;
        // The lock is taken before another process can remove the directory.
        let lock = File::create(dir.path().join(IN_USE)).map_err(write())?;
        lock.lock().map_err(write())?;
        Ok(StagingDir { _lock: lock, dir })
    }

    /// Moves an extension out of its place at once, then deletes it.
    pub(crate) fn discard(&self, place: &Path) -> Result<(), InstallError> {
        let staging_dir = self.create_staging_dir()?;
        let aside = staging_dir.path().join("removed");
        seal::make_movable(place).map_err(InstallError::io("remove", place))?;
        std::fs::rename(place, &aside).map_err(InstallError::io("remove", place))?;
        remove(&aside)
    }
}

impl StagingDir {
    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    #[cfg(test)]
    pub(super) fn keep(self) -> PathBuf {
        self.dir.keep()
    }
}

/// Returns the leftovers of preparations and removals in a directory.
fn leftovers(dir: &Path) -> impl Iterator<Item = PathBuf> {
    std::fs::read_dir(dir.join(SCRAPS)).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// True if no process holds the lock of the staging directory.
fn is_abandoned(scrap: &Path) -> bool {
    let lock = File::options().write(true).open(scrap.join(IN_USE));
    !lock.is_ok_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)))
}

/// Deletes a directory with its content, also if it is read-only, or a symlink without its target.
pub(crate) fn remove(path: &Path) -> Result<(), InstallError> {
    let is_dir = path.symlink_metadata().is_ok_and(|data| data.is_dir());
    let removed = match is_dir {
        true => seal::unseal(path).and_then(|()| std::fs::remove_dir_all(path)),
        false => std::fs::remove_file(path),
    };
    removed.map_err(InstallError::io("remove", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(dir: &Path, text: &str) {
        std::fs::create_dir_all(dir).unwrap();
        std::fs::write(dir.join("file"), text).unwrap();
    }

    fn read(dir: &Path) -> String {
        std::fs::read_to_string(dir.join("file")).unwrap()
    }

    #[test]
    fn only_one_process_holds_the_lock() {
        let dir = tempfile::tempdir().unwrap();
        let first = StagingArea::open(dir.path()).unwrap();
        let impatient = StagingArea::open_with_timeout(dir.path(), Duration::ZERO);
        assert!(matches!(impatient, Err(InstallError::Busy { .. })));
        let patient = std::thread::scope(|scope| {
            let patient = scope.spawn(|| StagingArea::open(dir.path()).map(drop));
            drop(first);
            patient.join().unwrap()
        });
        patient.unwrap();
        StagingArea::open(dir.path()).unwrap();
    }

    #[test]
    fn keeps_staging_dirs_in_use() {
        let dir = tempfile::tempdir().unwrap();
        sweep_leftovers(&dir.path().join("missing"));
        let scrap = dir.path().join(SCRAPS).join("1");
        let busy = StagingArea::open(dir.path()).unwrap();
        tree(&scrap, "half");
        sweep_leftovers(dir.path());
        assert!(scrap.exists());
        drop(busy);
        sweep_leftovers(dir.path());
        assert!(!scrap.exists());
    }

    #[test]
    fn staging_dir_outlives_its_area_and_is_exclusive() {
        let dir = tempfile::tempdir().unwrap();
        let staging_dir = StagingArea::open(dir.path()).unwrap().create_staging_dir().unwrap();
        tree(&staging_dir.path().join("tree"), "shown");
        sweep_leftovers(dir.path());
        drop(StagingArea::open(dir.path()).unwrap());
        assert_eq!(read(&staging_dir.path().join("tree")), "shown");
        let left = staging_dir.keep();
        StagingArea::open(dir.path()).unwrap();
        assert!(!left.exists(), "the staging directory is removed on drop");
        let staging_dir = StagingArea::open(dir.path()).unwrap().create_staging_dir().unwrap();
        let place = staging_dir.path().to_owned();
        drop(staging_dir);
        assert!(!place.exists());
    }

    #[test]
    fn removes_leftovers_of_crashes() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        tree(&at(SCRAPS).join("1"), "half");
        tree(&at("there"), "whole");
        StagingArea::open(dir.path()).unwrap();
        assert!(!at(SCRAPS).join("1").exists());
        assert_eq!(read(&at("there")), "whole");
    }
}
