//! What a file is known by. Everything here blocks.

use std::io;
use std::path::{Path, PathBuf};

/// Two claims that have one of these in common are about one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Key {
    /// Device and inode of the file.
    #[cfg(unix)]
    File(u64, u64),
    /// Device and inode of its directory, and its name there in lower case: not every disk tells upper from lower, and
    /// on those that do nothing is lost but a little time.
    #[cfg(unix)]
    Name(u64, u64, String),
    /// The resolved path; the standard library has no stable file numbers here.
    #[cfg(not(unix))]
    Path(PathBuf),
}

/// Where a path leads, and what is there.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Looked {
    pub(super) path: PathBuf,
    pub(super) keys: Vec<Key>,
}

pub(super) fn look(path: &Path) -> io::Result<Looked> {
    let path = resolve(path)?;
    let keys = keys(&path)?;
    Ok(Looked { path, keys })
}

/// The path without links; of a file that does not exist, its directory's with the name behind it.
fn resolve(path: &Path) -> io::Result<PathBuf> {
    match path.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Err(error) };
            // A bare name has the empty path as its parent.
            let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            Ok(parent.canonicalize()?.join(name))
        }
        resolved => resolved,
    }
}

#[cfg(unix)]
fn keys(path: &Path) -> io::Result<Vec<Key>> {
    use std::os::unix::fs::MetadataExt;
    let mut keys = Vec::new();
    if let (Some(dir), Some(name)) = (path.parent(), path.file_name()) {
        let data = dir.metadata()?;
        keys.push(Key::Name(data.dev(), data.ino(), name.to_string_lossy().to_lowercase()));
    }
    match path.metadata() {
        Ok(data) => keys.push(Key::File(data.dev(), data.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    Ok(keys)
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "the signature is the one of Unix")]
fn keys(path: &Path) -> io::Result<Vec<Key>> {
    Ok(vec![Key::Path(path.to_owned())])
}
