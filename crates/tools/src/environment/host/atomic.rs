//! Putting new content in a file's place. Everything here blocks.
//!
//! The content goes to a new file in the same directory, to the disk, and then takes the old name. What is kept:
//! permission bits and owner. What is not: extended attributes and access lists.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

use super::files;
use crate::environment::{EnvironmentError, Written};

/// `path` is resolved: if there is a symbolic link at it, it leads nowhere.
pub(super) fn replace(path: &Path, content: &[u8]) -> Result<Written, EnvironmentError> {
    let failed = |error| EnvironmentError::io("write", path, error);
    let old = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        data => Some(data.map_err(failed)?),
    };
    let Some(old) = old else {
        let new = beside(path, content, new_file_permissions())?;
        publish(new, path).map_err(failed)?;
        return Ok(Written::Created);
    };
    files::regular(path, &old)?;
    // A file that may not be written must not be replaced either, though the directory would allow it.
    let in_place = OpenOptions::new().write(true).open(path).map_err(failed)?;
    let new = beside(path, content, Some(old.permissions()))?;
    if has_other_names(&old) || !keeps_owner(new.as_file(), &old).map_err(failed)? {
        return overwrite(in_place, new, path, content);
    }
    new.as_file().set_permissions(old.permissions()).map_err(failed)?;
    publish(new, path).map_err(failed)?;
    Ok(Written::Replaced)
}

/// A new file next to `path` with the content, safely on the disk.
fn beside(
    path: &Path,
    content: &[u8],
    permissions: Option<Permissions>,
) -> Result<NamedTempFile, EnvironmentError> {
    let dir = path.parent().unwrap_or(Path::new("/"));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".haft-").suffix(".tmp");
    if let Some(permissions) = permissions {
        builder.permissions(permissions);
    }
    let mut new = builder
        .tempfile_in(dir)
        .map_err(|error| EnvironmentError::io("create a file in the directory", dir, plain(&error)))?;
    let written = new.as_file_mut().write_all(content).and_then(|()| new.as_file().sync_all());
    written.map_err(|error| EnvironmentError::io("write", path, error))?;
    Ok(new)
}

/// The system's own words, without the name of a temporary file that says nothing to anybody.
fn plain(error: &io::Error) -> io::Error {
    let text = error.to_string();
    let words = text.split_once(" at path ").map_or(text.as_str(), |(words, _)| words);
    io::Error::new(error.kind(), words.to_owned())
}

fn publish(new: NamedTempFile, path: &Path) -> io::Result<()> {
    new.persist(path).map_err(|error| error.error)?;
    // The file is in place; that its name survives a power cut is the only thing still open.
    if let Err(error) = sync_dir(path.parent().unwrap_or(Path::new("/"))) {
        tracing::warn!(path = %path.display(), %error, "directory not flushed after a write");
    }
    Ok(())
}

/// Overwrites the file itself. The copy next to it goes only when that is done; if it is not, the copy is all there
/// is of the new content, so it stays and is named.
fn overwrite(
    mut file: File,
    copy: NamedTempFile,
    path: &Path,
    content: &[u8],
) -> Result<Written, EnvironmentError> {
    let result = file
        .write_all(content)
        .and_then(|()| file.set_len(content.len() as u64))
        .and_then(|()| file.sync_all());
    let Err(error) = result else { return Ok(Written::InPlace) };
    let reason = match copy.keep() {
        Ok((_, kept)) => {
            format!("was written only in part ({error}); the new content is in {}", kept.display())
        }
        Err(_) => format!("was written only in part: {error}"),
    };
    Err(EnvironmentError::refused(path, reason))
}

#[cfg(unix)]
fn new_file_permissions() -> Option<Permissions> {
    // The system takes the user's mask off.
    Some(std::os::unix::fs::PermissionsExt::from_mode(0o666))
}

#[cfg(unix)]
fn has_other_names(data: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::nlink(data) > 1
}

/// Gives a new file the old one's owner and group; false when that is not allowed.
#[cfg(unix)]
fn keeps_owner(new: &File, old: &Metadata) -> io::Result<bool> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let data = new.metadata()?;
    if (data.uid(), data.gid()) == (old.uid(), old.gid()) {
        return Ok(true);
    }
    Ok(fchown(new, Some(old.uid()), Some(old.gid())).is_ok())
}

#[cfg(unix)]
fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

// Elsewhere a new file gets its permissions and owner from its directory, and directories cannot be flushed.

#[cfg(not(unix))]
fn new_file_permissions() -> Option<Permissions> {
    None
}

#[cfg(not(unix))]
fn has_other_names(_: &Metadata) -> bool {
    false
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "the signature is the one of Unix")]
fn keeps_owner(_: &File, _: &Metadata) -> io::Result<bool> {
    Ok(true)
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "the signature is the one of Unix")]
fn sync_dir(_: &Path) -> io::Result<()> {
    Ok(())
}
