//! Opening the lock file, seeing whose word it is, and the reasons why it is not used.

use std::fs::Metadata;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use haft_protocol::defence::{Defence, is_up};

use crate::glance::FileStamp;
use crate::open::open;

/// The longest file that is read, in bytes: 64 MiB.
const MAX_FILE: u64 = 64 * 1024 * 1024;

/// The problem of a file that its mode opens to others.
const LOOSE: &str = "can be written by other users";

/// The lock file is not used: nothing is approved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// It cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Somebody else may have written it.
    #[error("{} {what}, so no extension is approved; look at it, then make it yours alone (chmod 600), or remove it", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The mistake.
        what: &'static str,
    },
    /// It is not of the form that haft writes.
    #[error(
        "{} is damaged (line {line}, column {column}: {detail}), so no extension is approved; put it right, or move it \
         aside and install again what it named: until then none of it runs, and what guarded guards nothing (`haft doctor` \
         names it)",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// Counted from 1.
        column: usize,
        /// The mistake.
        detail: String,
    },
    /// A newer haft wrote it.
    #[error("{} was written by a newer haft, so no extension is approved; use that one", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
    },
    /// It cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl LockError {
    /// True if nothing is wrong with it but that others may write to it.
    pub fn is_writable_by_others(&self) -> bool {
        matches!(self, Self::Foreign { what, .. } if *what == LOOSE)
    }
}

/// The file's text, and what it looked like when that was read; none where there is no file.
///
/// As with `trust.json`, which this crate knows nothing of: neither crate may depend on the other.
pub(super) fn read_lock_file(path: &Path) -> Result<Option<(String, FileStamp)>, LockError> {
    let read = |source| LockError::Read { path: path.into(), source };
    let foreign = |what| LockError::Foreign { path: path.into(), what };
    let defended = is_up(Defence::LockFile);
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(read(source)),
        Ok(metadata) if metadata.is_symlink() && defended => return Err(foreign("is a link")),
        Ok(_) => {}
    }
    let file = open(path, !defended).map_err(read)?;
    // Of the file that is read, not of the name: it may lead to another one by now.
    let metadata = file.metadata().map_err(read)?;
    if !metadata.is_file() {
        return Err(foreign("is no file"));
    }
    if let Some(what) = untrusted_reason(&metadata).filter(|_| defended) {
        return Err(foreign(what));
    }
    let mut text = String::with_capacity(usize::try_from(metadata.len().min(MAX_FILE)).unwrap_or_default());
    file.take(MAX_FILE).read_to_string(&mut text).map_err(read)?;
    Ok(Some((text, FileStamp::from_metadata(&metadata))))
}

/// Why somebody else may have written it.
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
