//! An open directory: operations stay in it even if its path changes.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path};

use haft_protocol::defense::{Defense, is_up};
use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::environment::FileKind;

#[derive(Debug)]
pub(super) struct DirHandle {
    fd: File,
}

impl DirHandle {
    /// Opens a directory by its absolute path, which must not contain links.
    #[cfg(target_os = "linux")]
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let top = fs::open("/", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Self::open_from(top, path.strip_prefix("/").map_err(io::Error::other)?)
    }

    /// Opens a directory by its path. Opening it step by step would need the right to list every directory on the
    /// way, so links on the path are followed.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self { fd: fs::open(path, flags, Mode::empty())?.into() })
    }

    pub(super) fn open_below(&self, path: &Path) -> io::Result<Self> {
        Self::open_from(&self.fd, path)
    }

    fn open_from(base: impl AsFd, path: &Path) -> io::Result<Self> {
        let fd = match open_beneath(base.as_fd(), path, OFlags::RDONLY) {
            Err(Errno::ACCESS) => open_unlistable(base, path)?,
            opened => opened?,
        };
        Ok(Self { fd: fd.into() })
    }

    /// Returns the device and the inode.
    pub(super) fn id(&self) -> io::Result<(u64, u64)> {
        let data = self.fd.metadata()?;
        Ok((data.dev(), data.ino()))
    }

    pub(super) fn stat(&self, name: &OsStr) -> io::Result<Option<Stat>> {
        match fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => Ok(None),
            stat => Ok(Some(stat?)),
        }
    }

    /// Opens a file without blocking and without following a link.
    pub(super) fn open_file(&self, name: &OsStr, access: OFlags) -> io::Result<File> {
        let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        Ok(fs::openat(&self.fd, name, flags, Mode::empty())?.into())
    }

    /// Creates a file that must not exist. The system applies the umask to the mode.
    pub(super) fn create_file(&self, name: &OsStr, mode: Mode) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(fs::openat(&self.fd, name, flags, mode)?.into())
    }

    pub(super) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(fs::renameat(&self.fd, from, &self.fd, to)?)
    }

    #[cfg(target_os = "linux")]
    pub(super) fn rename_no_replace(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        match fs::renameat_with(&self.fd, from, &self.fd, to, fs::RenameFlags::NOREPLACE) {
            // Some file systems do not support the flag.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => self.rename(from, to),
            renamed => Ok(renamed?),
        }
    }

    /// Renames a file if the new name is free, with a check that is not atomic.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn rename_no_replace(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        match self.stat(to)? {
            Some(_) => Err(Errno::EXIST.into()),
            None => self.rename(from, to),
        }
    }

    pub(super) fn create_dir(&self, name: &OsStr) -> io::Result<()> {
        Ok(fs::mkdirat(&self.fd, name, Mode::from_raw_mode(0o777))?)
    }

    pub(super) fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(fs::unlinkat(&self.fd, name, AtFlags::empty())?)
    }

    /// Makes the names in the directory survive a power failure.
    pub(super) fn sync(&self) -> io::Result<()> {
        Ok(fs::fsync(&self.fd)?)
    }

    pub(super) fn names(&self, fits: fn(&[u8]) -> bool) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in fs::Dir::read_from(&self.fd)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if fits(name) {
                names.push(OsStr::from_bytes(name).to_owned());
            }
        }
        Ok(names)
    }
}

/// Opens a directory that can be searched and changed but not listed.
#[cfg(target_os = "linux")]
fn open_unlistable(base: impl AsFd, path: &Path) -> Result<OwnedFd, Errno> {
    open_beneath(base, path, OFlags::PATH)
}

#[cfg(not(target_os = "linux"))]
fn open_unlistable(_: impl AsFd, _: &Path) -> Result<OwnedFd, Errno> {
    Err(Errno::ACCESS)
}

pub(super) fn kind(stat: &Stat) -> FileKind {
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

const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

/// Opens a path below an open directory; the empty path is the directory itself. The path had no links when it was
/// resolved. Fails if a link was put into it since, or if it leads out of the directory.
fn open_beneath(base: impl AsFd, below: &Path, access: OFlags) -> Result<OwnedFd, Errno> {
    let below = if below.as_os_str().is_empty() { Path::new(".") } else { below };
    if !is_up(Defense::Containment) {
        return fs::openat(base, below, access | DIRECTORY, Mode::empty());
    }
    open_in_one_call(base, below, access)
}

/// The kernel checks every component in one system call, so no change can happen in between.
#[cfg(target_os = "linux")]
fn open_in_one_call(base: impl AsFd, below: &Path, access: OFlags) -> Result<OwnedFd, Errno> {
    use rustix::fs::ResolveFlags;
    // `NO_SYMLINKS` implies `NO_MAGICLINKS`; the flag is set for readers of a system call trace.
    let inside = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match fs::openat2(base.as_fd(), below, access | DIRECTORY, Mode::empty(), inside) {
        // The kernel is older than the call, or a sandbox blocks it.
        Err(Errno::NOSYS | Errno::PERM) => open_step_by_step(base, below, access),
        opened => opened,
    }
}

#[cfg(not(target_os = "linux"))]
fn open_in_one_call(base: impl AsFd, below: &Path, access: OFlags) -> Result<OwnedFd, Errno> {
    open_step_by_step(base, below, access)
}

/// The flags for opening a directory that is only passed through.
#[cfg(target_os = "linux")]
const WAY: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const WAY: OFlags = OFlags::RDONLY;

/// Opens the directories one after the other. Links and `..` are rejected.
fn open_step_by_step(base: impl AsFd, below: &Path, access: OFlags) -> Result<OwnedFd, Errno> {
    let mut dir = fs::openat(base, ".", WAY | DIRECTORY, Mode::empty())?;
    for part in below.components() {
        match part {
            Component::Normal(name) => {
                dir = fs::openat(&dir, name, WAY | DIRECTORY | OFlags::NOFOLLOW, Mode::empty())?;
            }
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return Err(Errno::XDEV),
        }
    }
    fs::openat(&dir, ".", access | DIRECTORY, Mode::empty())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::symlink;

    use super::*;

    type Opens = fn(&File, &Path, OFlags) -> Result<OwnedFd, Errno>;

    /// All kinds of paths, and none leads out of the directory.
    #[test]
    fn follows_no_links_and_no_parent_directories() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("root");
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::fs::create_dir(place.path().join("outside")).unwrap();
        symlink("a", root.join("inner")).unwrap();
        symlink("../outside", root.join("outer")).unwrap();
        symlink(place.path().join("outside"), root.join("absolute")).unwrap();
        symlink("/proc/self/cwd", root.join("magic")).unwrap();
        std::fs::write(root.join("file"), "").unwrap();
        let base = File::open(&root).unwrap();
        let ways: [Opens; 2] = [
            |base, path, access| open_in_one_call(base, path, access),
            |base, path, access| open_step_by_step(base, path, access),
        ];
        for opens in ways {
            let opened = |path: &str| opens(&base, Path::new(path), OFlags::RDONLY);
            for inside in [".", "a", "a/b", "./a/./b"] {
                assert!(opened(inside).is_ok(), "{inside}");
            }
            for outside in [
                "inner",
                "inner/b",
                "outer",
                "absolute",
                "magic",
                "..",
                "a/../..",
                "a/../../outside",
                "/",
                "file",
            ] {
                assert!(opened(outside).is_err(), "{outside}");
            }
        }
    }
}
