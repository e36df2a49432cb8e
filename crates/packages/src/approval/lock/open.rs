//! Opens the lock file, checks its owner and mode, and reports why it is not used.

use std::fs::Metadata;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use haft_protocol::defense::{Defense, is_up};

use crate::file_stamp::FileStamp;
use crate::open::open;

/// The maximum size of the file in bytes: 64 MiB.
const MAX_FILE: u64 = 64 * 1024 * 1024;

/// The problem of a file with a mode that lets other users write.
const LOOSE: &str = "can be written by other users";

/// The reason why the lock file is not used. Then no extension is approved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// The file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Another user may have written the file.
    #[error("{} {what}, so no extension is approved; check its content, then run chmod 600 on it, or remove it", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The problem.
        what: &'static str,
    },
    /// The file is not valid.
    #[error(
        "{} is damaged (line {line}, column {column}: {detail}), so no extension is approved, and no \
        tool runs, because a gate may be required; move the file aside and install the extensions again \
        (`haft doctor` lists them)",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// The column, counted from 1.
        column: usize,
        /// The problem.
        detail: String,
    },
    /// A newer version of haft wrote the file.
    #[error("{} was written by a newer version of haft, so no extension is approved; upgrade haft", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
    },
    /// A newer version of haft wrote the record of required extensions.
    #[error("{} was written by a newer version of haft, so the required extensions are unknown; upgrade haft", path.display())]
    NewerRecord {
        /// The file.
        path: PathBuf,
    },
    /// The record of required extensions cannot be used, so any extension may be required.
    #[error(
        "cannot use {}: {why}; check its content and run chmod 600 on it, or remove it and run \
        `haft ext list` to see that your required extensions are in place", path.display()
    )]
    Record {
        /// The file.
        path: PathBuf,
        /// The problem.
        why: String,
    },
    /// The file cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

impl LockError {
    /// True if the only problem is that other users can write to the file.
    pub fn is_writable_by_others(&self) -> bool {
        matches!(self, Self::Foreign { what, .. } if *what == LOOSE)
    }
}

/// Returns the text of the file and its metadata when it was read, or `None` without a file.
///
/// `trust.json` is read in the same way. The code is not shared, because neither crate may depend on the other.
pub(in super::super) fn read_private_file(path: &Path) -> Result<Option<(String, FileStamp)>, LockError> {
    let read = |source| LockError::Read { path: path.into(), source };
    let foreign = |what| LockError::Foreign { path: path.into(), what };
    let defended = is_up(Defense::LockFile);
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(read(source)),
        Ok(metadata) if metadata.is_symlink() && defended => return Err(foreign("is a symlink")),
        Ok(_) => {}
    }
    let file = open(path, !defended).map_err(read)?;
    // The metadata of the opened file: its name may lead to another file by now.
    let metadata = file.metadata().map_err(read)?;
    if !metadata.is_file() {
        return Err(foreign("is not a regular file"));
    }
    if let Some(what) = untrusted_reason(&metadata).filter(|_| defended) {
        return Err(foreign(what));
    }
    let mut text = String::with_capacity(usize::try_from(metadata.len().min(MAX_FILE)).unwrap_or_default());
    file.take(MAX_FILE).read_to_string(&mut text).map_err(read)?;
    Ok(Some((text, FileStamp::from_metadata(&metadata))))
}

/// Returns the reason why another user may have written the file.
#[cfg(unix)]
fn untrusted_reason(metadata: &Metadata) -> Option<&'static str> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Some("belongs to another user");
    }
    (metadata.permissions().mode() & 0o022 != 0).then_some(LOOSE)
}

#[cfg(not(unix))]
fn untrusted_reason(_: &Metadata) -> Option<&'static str> {
    None
}
