//! Changing the user's files: one writer at a time, and whole or not at all.

use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::path::Path;

/// Waits until nobody else writes under this lock: two that write at the same time would each lose what the other wrote.
/// Dropping the file ends the lock.
pub(crate) fn lock(dir: &Path, name: &str) -> io::Result<File> {
    fs::create_dir_all(dir)?;
    let file = File::create(dir.join(name))?;
    file.lock()?;
    Ok(file)
}

/// Writes beside the file and then puts the new one in its place, with mode 600 unless other `permissions` are given.
pub(crate) fn replace(target: &Path, text: &str, permissions: Option<Permissions>) -> io::Result<()> {
    let dir = target.parent().unwrap_or(Path::new("."));
    // Made by `tempfile`, it has mode 600 from the start.
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(text.as_bytes())?;
    if let Some(permissions) = permissions {
        file.as_file().set_permissions(permissions)?;
    }
    file.as_file().sync_all()?;
    file.persist(target).map_err(|error| error.error)?;
    // The name is what makes it permanent.
    if cfg!(unix) { File::open(dir)?.sync_all() } else { Ok(()) }
}

pub(crate) fn json_text(value: &impl serde::Serialize) -> io::Result<String> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}
