//! A new file that is to take the place of another, and what is left of such files after a crash.

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

/// Between the name of the file and what makes the new one's name unique.
const MARK: &[u8] = b".haft-";

/// Hexadecimal digits behind the mark.
const DIGITS: usize = 16;

/// The longest name that every file system takes, in bytes.
const MAX_NAME: usize = 255;

/// The number of names that are tried; the first is nearly always free.
const TRIES: usize = 16;

/// A new file under a name of its own, which goes when this is dropped. It is locked as long as it lives: what is not
/// locked was left behind by a process that died.
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

    /// Between its making and its locking somebody who clears up may have taken it for left behind.
    fn is_ours(&self) -> io::Result<bool> {
        match self.file.try_lock() {
            Ok(()) => Ok(self.file.metadata()?.nlink() > 0),
            Err(TryLockError::WouldBlock) => Ok(false),
            // Not every file system can lock; nobody clears up there either.
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
            tracing::warn!(name = %self.name.display(), %error, "temporary file not removed");
        }
    }
}

/// `.<name>.haft-<digits>`, the name cut where all of it would be too long.
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

/// Removes what processes that died have left in the directory.
pub(super) fn remove_abandoned(dir: &DirHandle) -> io::Result<()> {
    for name in dir.names(is_temp)? {
        match remove_if_abandoned(dir, &name) {
            Ok(true) => tracing::info!(name = %name.display(), "removed what an interrupted write had left"),
            Ok(false) => {}
            Err(error) => tracing::warn!(name = %name.display(), %error, "temporary file not removed"),
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
    fn names_are_unique_known_again_and_never_too_long() {
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
