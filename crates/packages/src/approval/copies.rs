//! Private copies of approved code, for extensions that keep their state beside it.
//!
//! Each start restores the approved files. All other files belong to the extension and stay.

mod preserve;
mod safe_delete;

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::InstallError;
use super::contents::{TreeContents, TreeEntry, is_executable};
use super::copy::make_link;
use super::digest::{self, Digest};
use super::staging::{SCRAPS, remove};
use crate::open::open;
use crate::timeouts::SCRAP_AGE;
pub use preserve::PreservedPath;
pub(super) use preserve::prepare_copy;
pub(crate) use preserve::undo_moves;

/// Restores every file, link and directory of a tree in `store` in `copy`. Returns the paths that differed.
///
/// # Errors
/// [`InstallError`] if writing fails, or if the tree is not the one in `contents`.
pub(crate) fn restore(
    contents: &TreeContents,
    store: &Path,
    copy: &Path,
) -> Result<Vec<PathBuf>, InstallError> {
    // Not next to the replaced file: leftovers of a killed process would look like the extension's own files.
    let aside = copy.parent().unwrap_or(copy).join(SCRAPS);
    fs::create_dir_all(&aside).map_err(InstallError::io("create", &aside))?;
    ensure_directory(copy)?;
    let mut changed = Vec::new();
    for (name, item) in contents.entries() {
        let (from, to) = (store.join(name), copy.join(name));
        let was_there = to.symlink_metadata().is_ok();
        let written = match item {
            // Directories come before their entries, so that no link in their place is followed.
            TreeEntry::Directory => ensure_directory(&to)?,
            TreeEntry::Link(target) => ensure_link(target, &to)?,
            TreeEntry::File { executable, digest } => {
                let same = path_matches(&to, *executable, digest);
                if !same {
                    copy_file(&from, &to, &aside, *executable, digest)?;
                }
                !same
            }
        };
        if was_there && written {
            changed.push(name.to_owned());
        }
    }
    Ok(changed)
}

/// Removes temporary files of processes that were killed while they restored a copy. Only old files are removed,
/// because several processes may restore a copy at once without a lock.
pub(super) fn remove_old_scraps(dir: &Path) {
    for entry in fs::read_dir(dir.join(SCRAPS)).into_iter().flatten().flatten() {
        let is_old = |metadata: fs::Metadata| {
            metadata.modified().is_ok_and(|time| time.elapsed().is_ok_and(|age| age > SCRAP_AGE))
        };
        if entry.metadata().is_ok_and(is_old) {
            // A file that cannot be removed does no harm.
            _ = fs::remove_file(entry.path());
        }
    }
}

/// Removes the files that only the earlier version brought, unless they were changed, and the directories that become
/// empty. Links stay.
fn remove_outdated(before: &TreeContents, now: &TreeContents, copy: &Path) {
    let gone = before.entries().iter().rev().filter(|(name, _)| !now.entries().contains_key(*name));
    for (name, item) in gone.filter(|(_, item)| !matches!(item, TreeEntry::Link(_))) {
        safe_delete::delete(copy, name, item);
    }
}

/// Removes the approved files that were not changed from a copy, and the directories that become empty.
pub(crate) fn clear(code: &TreeContents, copy: &Path) {
    for (name, item) in code.entries().iter().rev() {
        safe_delete::delete(copy, name, item);
    }
    _ = fs::remove_dir(copy);
}

fn ensure_directory(path: &Path) -> Result<bool, InstallError> {
    match path.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => return Ok(false),
        Ok(_) => remove(path)?,
        Err(_) => {}
    }
    fs::create_dir(path).map_err(InstallError::io("create", path))?;
    Ok(true)
}

fn ensure_link(target: &Path, path: &Path) -> Result<bool, InstallError> {
    if fs::read_link(path).is_ok_and(|now| now == target) {
        return Ok(false);
    }
    clear_way(path)?;
    if path.symlink_metadata().is_ok() {
        remove(path)?;
    }
    make_link(target, path).map_err(InstallError::io("create", path))?;
    Ok(true)
}

/// Moves a directory aside that is in the place of an approved file or link. Its files belong to the extension.
fn clear_way(path: &Path) -> Result<(), InstallError> {
    if !path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Ok(());
    }
    // `remove_dir` removes only an empty directory.
    if fs::remove_dir(path).is_err() {
        preserve::move_aside(path, |_| true)?;
    }
    Ok(())
}

fn path_matches(path: &Path, executable: bool, digest: &Digest) -> bool {
    let is_file = |metadata: fs::Metadata| metadata.is_file();
    // Anything but a regular file is not opened.
    path.symlink_metadata().is_ok_and(is_file)
        && open(path, false).is_ok_and(|file| file_matches(file, executable, digest))
}

fn file_matches(file: File, executable: bool, digest: &Digest) -> bool {
    let same_kind = |metadata: fs::Metadata| metadata.is_file() && is_executable(&metadata) == executable;
    file.metadata().is_ok_and(same_kind)
        && digest::copy_and_digest(file, None).is_ok_and(|now| now == *digest)
}

fn copy_file(
    from: &Path,
    to: &Path,
    aside: &Path,
    executable: bool,
    digest: &Digest,
) -> Result<(), InstallError> {
    clear_way(to)?;
    let write = || InstallError::io("write", to);
    let mut new = tempfile::NamedTempFile::new_in(aside).map_err(write())?;
    let copied =
        open(from, false).and_then(|source| digest::copy_and_digest(source, Some(new.as_file_mut())));
    if copied.map_err(InstallError::io("copy", from))? != *digest {
        return Err(InstallError::Changed { dir: from.into() });
    }
    set_mode(new.as_file(), executable).map_err(write())?;
    new.persist(to).map_err(|error| write()(error.error)).map(drop)
}

#[cfg(unix)]
fn set_mode(file: &File, executable: bool) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(fs::Permissions::from_mode(if executable { 0o755 } else { 0o644 }))
}

#[cfg(not(unix))]
fn set_mode(_: &File, _: bool) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_only_old_temporary_files() {
        let dir = tempfile::tempdir().unwrap();
        let now = std::time::SystemTime::now();
        let scraps = dir.path().join(SCRAPS);
        fs::create_dir(&scraps).unwrap();
        let files = [scraps.join("old"), scraps.join("new"), dir.path().join("old")];
        for (file, age) in files.iter().zip([2 * SCRAP_AGE, SCRAP_AGE / 2, 2 * SCRAP_AGE]) {
            let file = File::create(file).unwrap();
            file.set_modified(now.checked_sub(age).unwrap()).unwrap();
        }
        remove_old_scraps(dir.path());
        assert_eq!(files.map(|file| file.exists()), [false, true, true]);
    }

    struct Pair {
        root: tempfile::TempDir,
        contents: TreeContents,
    }

    impl Pair {
        fn new() -> Self {
            let root = tempfile::tempdir().unwrap();
            let store = root.path().join("store");
            fs::create_dir_all(store.join("lib/deep")).unwrap();
            fs::write(store.join("run"), "code").unwrap();
            fs::write(store.join("lib/deep/a"), "library").unwrap();
            #[cfg(unix)]
            std::os::unix::fs::symlink("lib/deep/a", store.join("link")).unwrap();
            let pair = Self { contents: TreeContents::read(&store).unwrap(), root };
            pair.restore();
            pair
        }

        fn restore(&self) -> Vec<PathBuf> {
            restore(&self.contents, &self.root.path().join("store"), &self.copy()).unwrap()
        }

        fn copy(&self) -> PathBuf {
            self.root.path().join("copies/x")
        }
    }

    /// Checks that `restore` undoes the damage and keeps files that were added.
    #[track_caller]
    fn check(spoil: impl FnOnce(&Path)) {
        let pair = Pair::new();
        assert_eq!(TreeContents::read(&pair.copy()).unwrap(), pair.contents);
        fs::write(pair.copy().join("lib/state"), "kept").unwrap();
        spoil(&pair.copy());
        pair.restore();
        assert_eq!(fs::read_to_string(pair.copy().join("lib/state")).ok().as_deref(), Some("kept"));
        fs::remove_file(pair.copy().join("lib/state")).unwrap();
        assert_eq!(TreeContents::read(&pair.copy()).unwrap(), pair.contents);
    }

    #[test]
    fn restores_approved_files() {
        check(|_| ());
        check(|copy| fs::write(copy.join("run"), "evil").unwrap());
        check(|copy| fs::remove_file(copy.join("run")).unwrap());
        check(|copy| fs::remove_dir_all(copy.join("lib/deep")).unwrap());
        check(|copy| {
            fs::remove_file(copy.join("run")).unwrap();
            fs::create_dir_all(copy.join("run")).unwrap();
        });
    }

    #[test]
    #[cfg(unix)]
    fn does_not_write_through_links() {
        use std::os::unix::fs::symlink;
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("a"), "precious").unwrap();
        check(|copy| {
            fs::remove_dir_all(copy.join("lib/deep")).unwrap();
            symlink(outside.path(), copy.join("lib/deep")).unwrap();
        });
        check(|copy| {
            fs::remove_file(copy.join("run")).unwrap();
            symlink(outside.path().join("a"), copy.join("run")).unwrap();
        });
        check(|copy| {
            fs::remove_file(copy.join("link")).unwrap();
            symlink("/etc/passwd", copy.join("link")).unwrap();
        });
        assert_eq!(fs::read_to_string(outside.path().join("a")).unwrap(), "precious");
    }

    #[test]
    fn moves_aside_directory_in_place_of_file() {
        let pair = Pair::new();
        for number in 1..3 {
            fs::remove_file(pair.copy().join("run")).unwrap();
            fs::create_dir(pair.copy().join("run")).unwrap();
            fs::write(pair.copy().join("run/own"), "state").unwrap();
            assert_eq!(pair.restore(), [PathBuf::from("run")]);
            assert!(pair.copy().join("run").is_file());
            let kept = pair.copy().join(format!("run.kept-{number}/own"));
            assert_eq!(fs::read_to_string(kept).unwrap(), "state");
        }
    }

    #[test]
    fn removes_outdated_files_unless_changed() {
        let pair = Pair::new();
        let newer = tempfile::tempdir().unwrap();
        fs::write(newer.path().join("run"), "code 2").unwrap();
        fs::write(pair.copy().join("own"), "state").unwrap();
        remove_outdated(&pair.contents, &TreeContents::read(newer.path()).unwrap(), &pair.copy());
        assert!(!pair.copy().join("lib").exists() && pair.copy().join("own").exists());
        pair.restore();
        fs::write(pair.copy().join("lib/deep/a"), "changed").unwrap();
        remove_outdated(&pair.contents, &TreeContents::read(newer.path()).unwrap(), &pair.copy());
        assert!(pair.copy().join("lib/deep/a").exists());
    }
}
