//! Overwrites a file in place if a new file cannot replace it.
//!
//! That is not atomic, so the old and the new content are stored in a private directory until the write is complete.
//! After a crash, the next process finds them: a partly written file gets its old content back.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::location::{PathBoundary, open_dir};
use super::temp::random_suffix;
use crate::environment::EnvironmentError;
use crate::environment::host::private;

/// The files of a backup. The last one is written last and ends with a NUL byte, which marks the backup as complete.
const OLD: &str = "old";
const NEW: &str = "new";
const PATH: &str = "path";

/// The lock file, held by a process that overwrites or cleans up.
const LOCK: &str = "lock";

/// The old and the new content of a file.
#[derive(Clone, Copy)]
pub(super) struct OverwriteContent<'a> {
    pub(super) old: &'a [u8],
    pub(super) new: &'a [u8],
}

/// Overwrites an open file, unless `check` fails after the preparation.
pub(super) fn overwrite(
    state: &Path,
    path: &Path,
    file: &mut File,
    OverwriteContent { old, new }: OverwriteContent<'_>,
    check: impl FnOnce(&File) -> Result<(), EnvironmentError>,
) -> Result<(), EnvironmentError> {
    let no_backup = |error| EnvironmentError::io("write a backup to", state, error);
    let _lock = lock(state).map_err(no_backup)?;
    let backup = OverwriteBackup::create(state, path, old, new).map_err(no_backup)?;
    if let Err(changed) = check(file) {
        backup.remove();
        return Err(changed);
    }
    let Err(error) = write_content(file, new) else {
        backup.remove();
        return Ok(());
    };
    match write_content(file, old) {
        Ok(()) => {
            backup.remove();
            Err(EnvironmentError::io("write", path, error))
        }
        Err(_) => {
            let kept = backup.dir.join(OLD);
            let reason =
                format!("was written only partly ({error}); its old content is in {}", kept.display());
            Err(EnvironmentError::refused(path, reason))
        }
    }
}

fn write_content(file: &mut File, content: &[u8]) -> io::Result<()> {
    file.rewind()?;
    file.write_all(content)?;
    file.set_len(content.len() as u64)?;
    file.sync_all()
}

/// A backup that can undo an overwrite.
struct OverwriteBackup {
    dir: PathBuf,
}

impl OverwriteBackup {
    fn create(state: &Path, path: &Path, old: &[u8], new: &[u8]) -> io::Result<Self> {
        let backup = Self { dir: state.join(random_suffix()) };
        DirBuilder::new().mode(0o700).create(&backup.dir)?;
        let mut place = path.as_os_str().as_bytes().to_vec();
        place.push(0);
        let parts = [(OLD, old), (NEW, new), (PATH, place.as_slice())];
        let made =
            parts.iter().try_for_each(|(name, content)| write_new_file(&backup.dir.join(name), content));
        match made.and_then(|()| File::open(&backup.dir)?.sync_all()) {
            Ok(()) => Ok(backup),
            Err(error) => {
                backup.remove();
                Err(error)
            }
        }
    }

    fn remove(&self) {
        // The completeness mark is removed first, because the rest is meaningless without it.
        let gone = fs::remove_file(self.dir.join(PATH)).and_then(|()| fs::remove_dir_all(&self.dir));
        if let Err(error) = gone {
            tracing::warn!(dir = %self.dir.display(), %error, "cannot remove the backup of an overwritten file");
        }
    }
}

fn write_new_file(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(content)?;
    file.sync_all()
}

/// Creates the directory for backups, and waits for its lock. The directory must belong to the user, because its
/// content is written into files.
fn lock(state: &Path) -> io::Result<File> {
    private::create_private_dir(state)?;
    let file = open_lock(state)?;
    file.lock()?;
    Ok(file)
}

fn open_lock(state: &Path) -> io::Result<File> {
    private::check_private(state)?;
    let path = state.join(LOCK);
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// Repairs files after interrupted writes: a partly written file gets its old content back. With a root, files
/// outside of it and their backups stay, for another process.
pub(super) fn restore(state: &Path, root: Option<&PathBoundary>) -> io::Result<()> {
    match fs::symlink_metadata(state) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        data => data?,
    };
    let lock = open_lock(state)?;
    // Another process with the lock cleans up itself, or is writing.
    if lock.try_lock().is_err() {
        return Ok(());
    }
    for entry in fs::read_dir(state)? {
        let entry = entry?;
        if !entry.file_type()?.is_dir() {
            continue;
        }
        let backup = OverwriteBackup { dir: entry.path() };
        match undo(&backup.dir, root) {
            Ok(()) => drop(fs::remove_dir_all(&backup.dir)),
            Err(error) => {
                tracing::warn!(backup = %backup.dir.display(), %error, "cannot undo an interrupted write");
            }
        }
    }
    Ok(())
}

fn undo(dir: &Path, root: Option<&PathBoundary>) -> io::Result<()> {
    let mut path = match fs::read(dir.join(PATH)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        path => path?,
    };
    // Without the mark, the write was interrupted before it touched the file.
    if path.pop() != Some(0) {
        return Ok(());
    }
    let path = PathBuf::from(std::ffi::OsString::from_vec(path));
    let (old, new) = (fs::read(dir.join(OLD))?, fs::read(dir.join(NEW))?);
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::Error::other("the path does not name a file"));
    };
    let mut file = open_dir(root, parent).map_err(io::Error::other)?.open_file(name, OFlags::RDWR)?;
    let data = file.metadata()?;
    if !data.is_file() {
        return Err(io::Error::other("the file no longer exists"));
    }
    if root.is_some_and(PathBoundary::is_bounded) && data.nlink() > 1 {
        return Err(io::Error::other("it has hard links, which may be outside of the writable directories"));
    }
    let mut content = Vec::new();
    file.read_to_end(&mut content)?;
    match classify_content(&content, &old, &new) {
        OverwriteState::Whole => Ok(()),
        OverwriteState::Torn => {
            write_content(&mut file, &old)?;
            tracing::warn!(path = %path.display(), "undid an interrupted write: the file has its old content");
            Ok(())
        }
        OverwriteState::Other => Err(io::Error::other(format!("{} was changed afterwards", path.display()))),
    }
}

/// The state of a file after an interrupted overwrite.
#[derive(Debug, PartialEq, Eq)]
enum OverwriteState {
    /// The file has the old content or the new.
    Whole,
    /// The file has the beginning of the new content, followed by the old content.
    Torn,
    /// The file has other content: it was changed since.
    Other,
}

fn classify_content(content: &[u8], old: &[u8], new: &[u8]) -> OverwriteState {
    if content == old || content == new {
        return OverwriteState::Whole;
    }
    let front = content.iter().zip(new).take_while(|(is, new)| is == new).count();
    let torn = if content.len() == old.len() {
        let back = content.iter().rev().zip(old.iter().rev()).take_while(|(is, old)| is == old).count();
        front + back >= content.len()
    } else {
        content.len() > old.len() && front == content.len()
    };
    if torn { OverwriteState::Torn } else { OverwriteState::Other }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Covers every way in which the new content can be partly written.
    #[test]
    fn recognizes_interrupted_writes() {
        for (old, new) in [("aaaaaa", "bbb"), ("aaa", "bbbbbb"), ("abab", "aabb"), ("", "abc"), ("abc", "")] {
            for k in 0..=new.len() {
                let torn = [&new[..k], old.get(k..).unwrap_or_default()].concat();
                let expect =
                    if torn == old || torn == new { OverwriteState::Whole } else { OverwriteState::Torn };
                assert_eq!(
                    classify_content(torn.as_bytes(), old.as_bytes(), new.as_bytes()),
                    expect,
                    "{torn}"
                );
            }
        }
        for other in ["aaa", "caaaaa", "aaaaab", "bbbbaaa", "bba"] {
            assert_eq!(
                classify_content(other.as_bytes(), b"aaaaaa", b"bbb"),
                OverwriteState::Other,
                "{other}"
            );
        }
    }

    #[test]
    fn rejects_directory_that_others_can_write() {
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir().unwrap();
        let state = root.path().join("state");
        drop(lock(&state).unwrap());
        fs::set_permissions(&state, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(lock(&state).is_err() && restore(&state, None).is_err());
    }

    #[test]
    fn restores_torn_file_and_leaves_changed_file() {
        let root = tempfile::tempdir().unwrap();
        let state = root.path().join("state");
        drop(lock(&state).unwrap());
        let check = |found: &str, expect: &str, kept: bool| {
            let path = root.path().join("file");
            let backup = OverwriteBackup::create(&state, &path, b"the old", b"new").unwrap();
            fs::write(&path, found).unwrap();
            restore(&state, None).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), expect);
            assert_eq!(backup.dir.exists(), kept);
            drop(fs::remove_dir_all(&backup.dir));
        };
        check("newold", "newold", true);
        check("new old", "the old", false);
        check("the old", "the old", false);
        check("new", "new", false);
        check("of the user", "of the user", true);
    }

    #[test]
    fn leaves_files_outside_of_root() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let state = base.join("state");
        drop(lock(&state).unwrap());
        fs::create_dir_all(base.join("in/dir")).unwrap();
        let root = PathBoundary::open(&base.join("in")).unwrap();
        let torn = |name: &str| {
            let path = base.join(name);
            fs::write(&path, "new old").unwrap();
            (OverwriteBackup::create(&state, &path, b"the old", b"new").unwrap().dir, path)
        };
        let (outside, inside, linked) = (torn("file"), torn("in/dir/file"), torn("in/linked"));
        fs::hard_link(&linked.1, base.join("link")).unwrap();
        let check = |(backup, path): &(PathBuf, PathBuf), restored: bool| {
            let expect = if restored { "the old" } else { "new old" };
            assert_eq!(fs::read_to_string(path).unwrap(), expect, "{}", path.display());
            assert_eq!(backup.exists(), !restored, "{}", path.display());
        };
        restore(&state, Some(&root)).unwrap();
        check(&outside, false);
        check(&inside, true);
        check(&linked, false);
        restore(&state, None).unwrap();
        check(&outside, true);
        check(&linked, true);
    }
}
