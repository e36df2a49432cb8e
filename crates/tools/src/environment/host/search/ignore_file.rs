//! Reads ignore files and git's settings with limits.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use haft_protocol::defense::{Defense, is_up};

use crate::limits::MAX_IGNORE_FILE;

/// Reads a regular file of at most [`MAX_IGNORE_FILE`] bytes. A link must lead to a file below `top`.
pub(super) fn read_ignore_file(path: &Path, top: Option<&Path>) -> io::Result<String> {
    let defended = is_up(Defense::OnlyFiles);
    let data = fs::symlink_metadata(path)?;
    let mut target = path.to_owned();
    if data.is_symlink() && defended {
        target = path.canonicalize()?;
        if top.is_some_and(|top| !target.starts_with(top)) {
            return Err(io::Error::other("is a link that leads out of the project"));
        }
    }
    let file = open(&target, defended)?;
    let data = file.metadata()?;
    if defended && !data.is_file() {
        return Err(io::Error::other("is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(MAX_IGNORE_FILE as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > MAX_IGNORE_FILE {
        return Err(io::Error::other(format!("is longer than {} KiB", MAX_IGNORE_FILE / 1024)));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Opens a file without waiting for the writer of a pipe.
#[cfg(unix)]
fn open(path: &Path, defended: bool) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let safe = if defended { OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW } else { OFlags::empty() };
    Ok(rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC | safe, Mode::empty())?.into())
}

#[cfg(not(unix))]
fn open(path: &Path, _: bool) -> io::Result<File> {
    File::open(path)
}
