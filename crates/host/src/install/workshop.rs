//! Changes to a directory of extensions: prepared aside, put in place by one rename, swept up after a crash.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::InstallError;
use crate::discovery::dir_name;

/// Something is being prepared or thrown away; of no use once nobody holds the lock.
const SCRAP: &str = ".scrap-";

/// An extension that is being replaced, followed by the name of its directory.
const OLD: &str = ".old-";

/// The right to change a directory of extensions; one process has it at a time.
#[derive(Debug)]
pub(super) struct Workshop {
    dir: PathBuf,
    /// Held for its lock.
    _lock: File,
}

impl Workshop {
    /// Takes the lock and sweeps up what an interrupted process left behind.
    pub(super) fn open(dir: &Path) -> Result<Self, InstallError> {
        std::fs::create_dir_all(dir).map_err(InstallError::io("create", dir))?;
        let path = dir.join(".lock");
        let mut options = File::options();
        let lock = options.create(true).truncate(false).write(true).open(&path);
        let lock = lock.map_err(InstallError::io("open", &path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(InstallError::Busy { dir: dir.into() }),
            Err(TryLockError::Error(error)) => return Err(InstallError::io("lock", path)(error)),
        }
        let workshop = Self { dir: dir.into(), _lock: lock };
        workshop.sweep()?;
        Ok(workshop)
    }

    fn sweep(&self) -> Result<(), InstallError> {
        let entries = std::fs::read_dir(&self.dir).map_err(InstallError::io("list", &self.dir))?;
        for path in entries.flatten().map(|entry| entry.path()) {
            let name = dir_name(&path);
            if name.starts_with(SCRAP) {
                remove(&path)?;
            } else if let Some(replaced) = name.strip_prefix(OLD) {
                self.finish_replacing(&path, &self.dir.join(replaced))?;
            }
        }
        Ok(())
    }

    /// A replacement was interrupted: before the new one was in place, the old one comes back.
    fn finish_replacing(&self, old: &Path, place: &Path) -> Result<(), InstallError> {
        if place.symlink_metadata().is_ok() {
            remove(old)
        } else {
            std::fs::rename(old, place).map_err(InstallError::io("restore", place))
        }
    }

    /// A directory to prepare something in; it is gone when it is dropped.
    pub(super) fn bench(&self) -> Result<TempDir, InstallError> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(SCRAP).tempdir_in(&self.dir).map_err(InstallError::io("write to", &self.dir))
    }

    /// Moves a prepared tree to its place; what is there already is replaced.
    pub(super) fn put(&self, tree: &Path, place: &Path) -> Result<(), InstallError> {
        let old = self.dir.join(format!("{OLD}{}", dir_name(place)));
        let replaces = place.symlink_metadata().is_ok();
        if replaces {
            std::fs::rename(place, &old).map_err(InstallError::io("move", place))?;
        }
        if let Err(error) = std::fs::rename(tree, place) {
            if replaces {
                self.finish_replacing(&old, place)?;
            }
            return Err(InstallError::io("create", place)(error));
        }
        if replaces { remove(&old) } else { Ok(()) }
    }

    /// Takes an extension out of its place at once, then deletes it.
    pub(super) fn discard(&self, place: &Path) -> Result<(), InstallError> {
        let bench = self.bench()?;
        let aside = bench.path().join("removed");
        std::fs::rename(place, &aside).map_err(InstallError::io("remove", place))?;
        remove(&aside)
    }
}

/// Deletes a directory with what is in it, or a symlink without what it points to.
fn remove(path: &Path) -> Result<(), InstallError> {
    let is_dir = path.symlink_metadata().is_ok_and(|data| data.is_dir());
    let removed = if is_dir { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
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
    fn one_process_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let first = Workshop::open(dir.path()).unwrap();
        assert!(matches!(Workshop::open(dir.path()), Err(InstallError::Busy { .. })));
        drop(first);
        Workshop::open(dir.path()).unwrap();
    }

    #[test]
    fn what_a_crash_left_is_swept_up() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        tree(&at(".scrap-1"), "half");
        tree(&at(".old-gone"), "old");
        tree(&at(".old-there"), "old");
        tree(&at("there"), "new");
        Workshop::open(dir.path()).unwrap();
        assert!(!at(".scrap-1").exists() && !at(".old-gone").exists() && !at(".old-there").exists());
        assert_eq!((read(&at("gone")), read(&at("there"))), ("old".into(), "new".into()));
    }

    #[test]
    fn a_tree_that_cannot_be_put_leaves_the_old_one() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("x");
        tree(&place, "old");
        let workshop = Workshop::open(dir.path()).unwrap();
        assert!(workshop.put(&dir.path().join("missing"), &place).is_err());
        assert_eq!(read(&place), "old");
    }
}
