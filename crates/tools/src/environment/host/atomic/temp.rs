//! Temporary files that replace other files, and the cleanup of those that a crash left behind.

use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;

use rustix::fs::{Mode, OFlags};
use rustix::process::geteuid;

use super::dir::{DirHandle, kind};
use crate::environment::FileKind;

/// The mark between the file's name and the unique suffix.
const MARK: &[u8] = b".haft-";

/// The number of hexadecimal digits after the mark.
const DIGITS: usize = 16;

/// The maximum length of a name on all file systems, in bytes.
const MAX_NAME: usize = 255;

/// The number of names to try; the first is nearly always free.
const TRIES: usize = 16;

/// A temporary file with a unique name, deleted on drop. It is locked while it exists: an unlocked file was left
/// behind by a process that died.
pub(super) struct TempFile<'a> {
    dir: &'a DirHandle,
    name: OsString,
    pub(super) file: File,
    published: bool,
}

impl<'a> TempFile<'a> {
    pub(super) fn create(dir: &'a DirHandle, target: &OsStr, mode: Mode) -> io::Result<Self> {
        let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
        for _ in 0..TRIES {
            let name = temp_name(target);
            match dir.create_file(&name, mode) {
                Ok(file) => {
                    let temp = Self { dir, name, file, published: false };
                    if temp.is_ours()? {
                        return Ok(temp);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }

    /// Returns false if a cleanup removed the file between its creation and its lock.
    fn is_ours(&self) -> io::Result<bool> {
        match self.file.try_lock() {
            Ok(()) => Ok(self.file.metadata()?.nlink() > 0),
            Err(TryLockError::WouldBlock) => Ok(false),
            // Some file systems have no locks; then no process cleans up there.
            Err(TryLockError::Error(_)) => Ok(true),
        }
    }

    pub(super) fn replace(mut self, target: &OsStr) -> io::Result<()> {
        self.dir.rename(&self.name, target)?;
        self.published = true;
        Ok(())
    }

    pub(super) fn publish_new(mut self, target: &OsStr) -> io::Result<()> {
        self.dir.rename_no_replace(&self.name, target)?;
        self.published = true;
        Ok(())
    }
}

impl Drop for TempFile<'_> {
    fn drop(&mut self) {
        if !self.published
            && let Err(error) = self.dir.remove(&self.name)
        {
            tracing::warn!(name = %self.name.display(), %error, "cannot remove a temporary file");
        }
    }
}

/// Returns `.<name>.haft-<digits>`, with the name shortened if necessary.
fn temp_name(target: &OsStr) -> OsString {
    let kept = target.as_bytes().iter().take(MAX_NAME - 1 - MARK.len() - DIGITS);
    let mut name: Vec<u8> = std::iter::once(&b'.').chain(kept).chain(MARK).copied().collect();
    name.extend(random_suffix().bytes());
    OsString::from_vec(name)
}

pub(super) fn random_suffix() -> String {
    format!("{:0width$x}", RandomState::new().build_hasher().finish(), width = DIGITS)
}

fn is_temp(name: &[u8]) -> bool {
    let Some((rest, digits)) = name.split_last_chunk::<DIGITS>() else { return false };
    rest.starts_with(b".") && rest.ends_with(MARK) && digits.iter().all(u8::is_ascii_hexdigit)
}

/// Removes files of dead processes from the directory.
pub(super) fn remove_abandoned(dir: &DirHandle) -> io::Result<()> {
    for name in dir.names(is_temp)? {
        match remove_if_abandoned(dir, &name) {
            Ok(true) => tracing::info!(name = %name.display(), "removed a leftover of an interrupted write"),
            Ok(false) => {}
            Err(error) => tracing::warn!(name = %name.display(), %error, "cannot remove a temporary file"),
        }
    }
    Ok(())
}

fn remove_if_abandoned(dir: &DirHandle, name: &OsStr) -> io::Result<bool> {
    let Some(stat) = dir.stat(name)? else { return Ok(false) };
    if kind(&stat) != FileKind::File || stat.st_uid != geteuid().as_raw() {
        return Ok(false);
    }
    let file = match dir.open_file(name, OFlags::RDONLY) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        opened => opened?,
    };
    if file.try_lock().is_err() {
        return Ok(false);
    }
    match dir.remove(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        removed => removed.map(|()| true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_recognizable_and_short_enough() {
        for target in ["a", &"x".repeat(255), "ä.rs"] {
            let (one, two) = (temp_name(OsStr::new(target)), temp_name(OsStr::new(target)));
            assert_ne!(one, two);
            assert!(is_temp(one.as_bytes()) && one.len() <= MAX_NAME, "{one:?}");
        }
        for other in
            [".a.haft-", "a.haft-0123456789abcdef", ".a.haft-0123456789abcdeg", ".a.haft-0123456789abcde"]
        {
            assert!(!is_temp(other.as_bytes()), "{other}");
        }
    }
}
