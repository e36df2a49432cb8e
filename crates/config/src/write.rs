//! Atomic changes of the user's files, with one writer at a time.

use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::path::Path;

/// Waits for the lock. Without it, two concurrent writers would lose each other's changes. Dropping the file releases
/// the lock.
pub(crate) fn lock(dir: &Path, name: &str) -> io::Result<File> {
    fs::create_dir_all(dir)?;
    let file = File::create(dir.join(name))?;
    file.lock()?;
    Ok(file)
}

/// Replaces a file atomically, with mode 600 unless other `permissions` are given.
pub(crate) fn replace(target: &Path, text: &str, permissions: Option<Permissions>) -> io::Result<()> {
    let dir = target.parent().unwrap_or(Path::new("."));
    // `tempfile` creates the file with mode 600.
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(text.as_bytes())?;
    if let Some(permissions) = permissions {
        file.as_file().set_permissions(permissions)?;
    }
    file.as_file().sync_all()?;
    file.persist(target).map_err(|error| error.error)?;
    // The rename is durable only after the directory is synchronized.
    if cfg!(unix) { File::open(dir)?.sync_all() } else { Ok(()) }
}

pub(crate) fn json_text(value: &impl serde::Serialize) -> io::Result<String> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}
