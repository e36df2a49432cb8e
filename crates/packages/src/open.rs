//! Opens files that another user may have put there.

use std::fs::File;
use std::io;
use std::path::Path;

/// Opens a file for reading without blocking: a pipe in its place may never have a writer. A link is followed only if
/// `follows_links`.
#[cfg(unix)]
pub(crate) fn open(path: &Path, follows_links: bool) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let links = if follows_links { OFlags::empty() } else { OFlags::NOFOLLOW };
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY | links;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

#[cfg(not(unix))]
pub(crate) fn open(path: &Path, _: bool) -> io::Result<File> {
    File::open(path)
}
