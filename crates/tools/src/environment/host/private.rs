//! Directories that only the user can write to.

use std::io;
use std::path::{Path, PathBuf};

/// Returns a private directory in the system's temporary directory, which users share.
pub(super) fn private_temp_dir(what: &str) -> PathBuf {
    #[cfg(unix)]
    let name = format!("haft-{what}-{}", rustix::process::geteuid().as_raw());
    #[cfg(not(unix))]
    let name = format!("haft-{what}");
    std::env::temp_dir().join(name)
}

/// Creates a directory that only its owner can access, if it is missing. An existing one stays as it is.
pub(super) fn create_dir_if_missing(dir: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(dir)
}

/// Creates a directory if it is missing, and rejects one that other users can write to.
#[cfg(unix)]
pub(super) fn create_private_dir(dir: &Path) -> io::Result<()> {
    create_dir_if_missing(dir)?;
    check_private(dir)
}

/// Creates a directory if it is missing. Its access rights are not checked on this system.
#[cfg(not(unix))]
pub(super) fn create_private_dir(dir: &Path) -> io::Result<()> {
    std::fs::create_dir_all(dir)
}

/// Rejects a directory that other users can write to, and a link.
#[cfg(unix)]
pub(super) fn check_private(dir: &Path) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let data = std::fs::symlink_metadata(dir)?;
    if data.is_dir() && data.uid() == rustix::process::geteuid().as_raw() && data.mode() & 0o022 == 0 {
        return Ok(());
    }
    Err(io::Error::other("other users can write to the directory"))
}
