//! Operations on the entries of a directory that never follow a link out of it.

use std::path::Path;

use super::super::contents::TreeEntry;

/// Deletes the entry `name` below `root` if it matches `item` and all directories on the way are real. An entry that
/// cannot be deleted stays.
pub(super) fn delete(root: &Path, name: &Path, item: &TreeEntry) {
    _ = beneath::delete(root, name, item);
}

/// True if all directories on the way are real ones, not links to a place outside of the copy.
pub(super) fn is_within(copy: &Path, path: &Path) -> bool {
    let is_dir = |dir: &Path| dir.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
    path.ancestors().skip(1).take_while(|dir| dir.starts_with(copy)).all(is_dir)
}

/// Opens each directory from its parent and checks it, so that it cannot be replaced by a link in between.
#[cfg(unix)]
mod beneath {
    use std::ffi::OsStr;
    use std::fs::File;
    use std::os::fd::OwnedFd;
    use std::os::unix::ffi::OsStrExt as _;
    use std::path::{Component, Path};

    use rustix::fs::{AtFlags, Mode, OFlags};
    use rustix::io::Errno;

    use super::super::super::contents::TreeEntry;
    use super::super::file_matches;

    const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(KEPT);
    const FILE: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(KEPT);
    const KEPT: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC);

    pub(super) fn delete(root: &Path, name: &Path, item: &TreeEntry) -> rustix::io::Result<()> {
        let (dir, name) =
            (open_directory_below(root, name.parent().unwrap_or(Path::new("")))?, final_name(name)?);
        match item {
            TreeEntry::Directory => unlink(&dir, name, AtFlags::REMOVEDIR),
            TreeEntry::Link(target) => {
                let now = rustix::fs::readlinkat(&dir, name, Vec::new())?;
                if now.as_bytes() == target.as_os_str().as_bytes() {
                    unlink(&dir, name, AtFlags::empty())?;
                }
                Ok(())
            }
            TreeEntry::File { executable, digest } => {
                let file = File::from(rustix::fs::openat(&dir, name, FILE, Mode::empty())?);
                if file_matches(file, *executable, digest) {
                    unlink(&dir, name, AtFlags::empty())?;
                }
                Ok(())
            }
        }
    }

    /// Opens a directory below `root`.
    fn open_directory_below(root: &Path, below: &Path) -> rustix::io::Result<OwnedFd> {
        let mut dir = rustix::fs::open(root, DIRECTORY, Mode::empty())?;
        for step in below.components() {
            let Component::Normal(step) = step else { return Err(Errno::INVAL) };
            dir = rustix::fs::openat(&dir, step, DIRECTORY, Mode::empty())?;
        }
        Ok(dir)
    }

    fn final_name(name: &Path) -> rustix::io::Result<&OsStr> {
        name.file_name().ok_or(Errno::INVAL)
    }

    /// Deletes an entry. A directory that is read-only for its owner was protected on purpose and stays.
    fn unlink(dir: &OwnedFd, name: &OsStr, flags: AtFlags) -> rustix::io::Result<()> {
        match rustix::fs::unlinkat(dir, name, flags) {
            Err(Errno::ACCESS) => {
                let mode = Mode::from_raw_mode(rustix::fs::fstat(dir)?.st_mode);
                rustix::fs::fchmod(dir, mode | Mode::RWXU)?;
                rustix::fs::unlinkat(dir, name, flags)
            }
            outcome => outcome,
        }
    }
}

#[cfg(not(unix))]
mod beneath {
    use std::fs;
    use std::path::Path;

    use super::super::super::contents::TreeEntry;
    use super::super::path_matches;

    pub(super) fn delete(root: &Path, name: &Path, item: &TreeEntry) -> std::io::Result<()> {
        let path = root.join(name);
        if !super::is_within(root, &path) {
            return Ok(());
        }
        match item {
            TreeEntry::Directory => fs::remove_dir(path),
            TreeEntry::Link(target) if fs::read_link(&path).is_ok_and(|now| now == *target) => {
                fs::remove_file(path)
            }
            TreeEntry::File { executable, digest } if path_matches(&path, *executable, digest) => {
                fs::remove_file(path)
            }
            TreeEntry::Link(_) | TreeEntry::File { .. } => Ok(()),
        }
    }
}
