//! An open directory: whatever becomes of the path to it, what is done in it is done in this one.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::beneath;
use crate::environment::FileKind;

#[derive(Debug)]
pub(super) struct Dir {
    fd: File,
}

impl Dir {
    /// Opens one by its path from the root of all, in which there must be no link.
    #[cfg(target_os = "linux")]
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let top = fs::open("/", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Self::beneath(top, path.strip_prefix("/").map_err(io::Error::other)?)
    }

    /// Opens one by its path. Going there step by step would need the right to list every directory on the way, so
    /// links that are put into the path are followed.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self { fd: fs::open(path, flags, Mode::empty())?.into() })
    }

    /// Opens one in this one, by a path without links.
    pub(super) fn open_below(&self, path: &Path) -> io::Result<Self> {
        Self::beneath(&self.fd, path)
    }

    fn beneath(base: impl AsFd, path: &Path) -> io::Result<Self> {
        let fd = match beneath::open(base.as_fd(), path, OFlags::RDONLY) {
            Err(Errno::ACCESS) => unlisted(base, path)?,
            opened => opened?,
        };
        Ok(Self { fd: fd.into() })
    }

    /// Device and inode.
    pub(super) fn id(&self) -> io::Result<(u64, u64)> {
        let data = self.fd.metadata()?;
        Ok((data.dev(), data.ino()))
    }

    /// What has the name, a symbolic link itself included.
    pub(super) fn stat(&self, name: &OsStr) -> io::Result<Option<Stat>> {
        match fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => Ok(None),
            stat => Ok(Some(stat?)),
        }
    }

    /// Opens a file without waiting for anybody and without following a link.
    pub(super) fn open_file(&self, name: &OsStr, access: OFlags) -> io::Result<File> {
        let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        Ok(fs::openat(&self.fd, name, flags, Mode::empty())?.into())
    }

    /// Makes a file that was not there. The system takes the user's mask off the mode.
    pub(super) fn create_file(&self, name: &OsStr, mode: Mode) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(fs::openat(&self.fd, name, flags, mode)?.into())
    }

    /// Gives a file another name, over what has it.
    pub(super) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(fs::renameat(&self.fd, from, &self.fd, to)?)
    }

    /// The same where nothing may have the name.
    #[cfg(target_os = "linux")]
    pub(super) fn rename_to_free(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        match fs::renameat_with(&self.fd, from, &self.fd, to, fs::RenameFlags::NOREPLACE) {
            // Some file systems cannot promise it.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => self.rename(from, to),
            renamed => Ok(renamed?),
        }
    }

    /// The same where nothing may have the name, as far as a look can tell.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn rename_to_free(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
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

    /// Makes sure that names survive a power cut.
    pub(super) fn sync(&self) -> io::Result<()> {
        Ok(fs::fsync(&self.fd)?)
    }

    /// The names in it that fit.
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

/// A directory in which one may look things up and make them, but not see what there is.
#[cfg(target_os = "linux")]
fn unlisted(base: impl AsFd, path: &Path) -> Result<OwnedFd, Errno> {
    beneath::open(base, path, OFlags::PATH)
}

#[cfg(not(target_os = "linux"))]
fn unlisted(_: impl AsFd, _: &Path) -> Result<OwnedFd, Errno> {
    Err(Errno::ACCESS)
}

/// Returns the kind of what was looked at.
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
