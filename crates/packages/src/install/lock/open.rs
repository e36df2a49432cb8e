//! Opening the lock file, and seeing whose word it is.
//!
//! As with `trust.json`, which this crate knows nothing of: neither crate may depend on the other.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;

use haft_protocol::defence::{Defence, is_up};

use super::LockError;
use crate::glance::Glance;

/// The longest file that is read, in bytes: 64 MiB.
const MAX_FILE: u64 = 64 * 1024 * 1024;

/// What is said of one that its mode opens to others.
pub(super) const LOOSE: &str = "can be written by other users";

/// Its text, and what it looked like when that was read; none where there is no file.
pub(super) fn text(path: &Path) -> Result<Option<(String, Glance)>, LockError> {
    let read = |source| LockError::Read { path: path.into(), source };
    let foreign = |what| LockError::Foreign { path: path.into(), what };
    let defended = is_up(Defence::LockFile);
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(read(source)),
        Ok(metadata) if metadata.is_symlink() && defended => return Err(foreign("is a link")),
        Ok(_) => {}
    }
    let file = open(path, defended).map_err(read)?;
    // Of the file that is read, not of the name: it may lead to another one by now.
    let metadata = file.metadata().map_err(read)?;
    if !metadata.is_file() {
        return Err(foreign("is no file"));
    }
    if let Some(what) = others(&metadata).filter(|_| defended) {
        return Err(foreign(what));
    }
    let mut text = String::with_capacity(usize::try_from(metadata.len().min(MAX_FILE)).unwrap_or_default());
    file.take(MAX_FILE).read_to_string(&mut text).map_err(read)?;
    Ok(Some((text, Glance::of(&metadata))))
}

#[cfg(unix)]
fn open(path: &Path, defended: bool) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    // A pipe would wait for a writer.
    let flags = rustix::fs::OFlags::NONBLOCK
        | if defended { rustix::fs::OFlags::NOFOLLOW } else { rustix::fs::OFlags::empty() };
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

#[cfg(not(unix))]
fn open(path: &Path, _: bool) -> io::Result<File> {
    OpenOptions::new().read(true).open(path)
}

/// Why somebody else may have written it.
#[cfg(unix)]
fn others(metadata: &Metadata) -> Option<&'static str> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Some("belongs to another user");
    }
    (metadata.permissions().mode() & 0o022 != 0).then_some(LOOSE)
}

#[cfg(not(unix))]
fn others(_: &Metadata) -> Option<&'static str> {
    None
}
