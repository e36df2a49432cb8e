//! Directories that nobody but the user may write in.

use std::io;
use std::path::{Path, PathBuf};

/// A directory of the user's own in the system's temporary directory, where others have theirs.
pub(super) fn private_temp_dir(what: &str) -> PathBuf {
    #[cfg(unix)]
    let name = format!("haft-{what}-{}", rustix::process::geteuid().as_raw());
    #[cfg(not(unix))]
    let name = format!("haft-{what}");
    std::env::temp_dir().join(name)
}

/// Makes a directory, unless it is there, and refuses one in which others may write.
#[cfg(unix)]
pub(super) fn create_private_dir(dir: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    check_private(dir)
}

/// The directory of a user is the user's own: who else may write there is not asked.
#[cfg(not(unix))]
pub(super) fn create_private_dir(dir: &Path) -> io::Result<()> {
    std::fs::create_dir_all(dir)
}

/// Refuses a directory in which others may write, and a link to one.
#[cfg(unix)]
pub(super) fn check_private(dir: &Path) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let data = std::fs::symlink_metadata(dir)?;
    if data.is_dir() && data.uid() == rustix::process::geteuid().as_raw() && data.mode() & 0o022 == 0 {
        return Ok(());
    }
    Err(io::Error::other("others may write there"))
}
