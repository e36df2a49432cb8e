//! Opening a directory by a path that had no links when it was looked up: if one has been put into it since, or it leads
//! out of where it began, nothing is opened.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path};

use haft_protocol::defence::{Defence, is_up};
use rustix::fs::{self, Mode, OFlags};
use rustix::io::Errno;

const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

/// Opens what is at a path below an open directory; the empty path is the directory itself.
pub(super) fn open(base: impl AsFd, below: &Path, access: OFlags) -> Result<OwnedFd, Errno> {
    let below = if below.as_os_str().is_empty() { Path::new(".") } else { below };
    if !is_up(Defence::Containment) {
        return fs::openat(base, below, access | DIRECTORY, Mode::empty());
    }
    at_once(base, below, access)
}

/// The system looks at every part of the path, and no change of it comes between.
#[cfg(target_os = "linux")]
fn at_once(base: impl AsFd, below: &Path, access: OFlags) -> Result<OwnedFd, Errno> {
    use rustix::fs::ResolveFlags;
    // Without links there are no magic ones either; the flag says so to whoever reads a trace.
    let inside = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match fs::openat2(base.as_fd(), below, access | DIRECTORY, Mode::empty(), inside) {
        // Older than the call, or in a sandbox that does not know it.
        Err(Errno::NOSYS | Errno::PERM) => step_by_step(base, below, access),
        opened => opened,
    }
}

#[cfg(not(target_os = "linux"))]
fn at_once(base: impl AsFd, below: &Path, access: OFlags) -> Result<OwnedFd, Errno> {
    step_by_step(base, below, access)
}

/// What is enough to go through a directory.
#[cfg(target_os = "linux")]
const WAY: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const WAY: OFlags = OFlags::RDONLY;

/// Opens one directory in the other: none of them may be a link, and none is the one above.
fn step_by_step(base: impl AsFd, below: &Path, access: OFlags) -> Result<OwnedFd, Errno> {
    let mut dir = fs::openat(base, ".", WAY | DIRECTORY, Mode::empty())?;
    for part in below.components() {
        match part {
            Component::Normal(name) => {
                dir = fs::openat(&dir, name, WAY | DIRECTORY | OFlags::NOFOLLOW, Mode::empty())?;
            }
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return Err(Errno::XDEV),
        }
    }
    fs::openat(&dir, ".", access | DIRECTORY, Mode::empty())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::symlink;

    use super::*;

    type Opens = fn(&File, &Path, OFlags) -> Result<OwnedFd, Errno>;

    /// Every way there is, and none of them leads out.
    #[test]
    fn no_link_and_nothing_above_is_followed() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("root");
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::fs::create_dir(place.path().join("outside")).unwrap();
        symlink("a", root.join("inner")).unwrap();
        symlink("../outside", root.join("outer")).unwrap();
        symlink(place.path().join("outside"), root.join("absolute")).unwrap();
        symlink("/proc/self/cwd", root.join("magic")).unwrap();
        std::fs::write(root.join("file"), "").unwrap();
        let base = File::open(&root).unwrap();
        let ways: [Opens; 2] = [
            |base, path, access| at_once(base, path, access),
            |base, path, access| step_by_step(base, path, access),
        ];
        for opens in ways {
            let opened = |path: &str| opens(&base, Path::new(path), OFlags::RDONLY);
            for inside in [".", "a", "a/b", "./a/./b"] {
                assert!(opened(inside).is_ok(), "{inside}");
            }
            for outside in [
                "inner",
                "inner/b",
                "outer",
                "absolute",
                "magic",
                "..",
                "a/../..",
                "a/../../outside",
                "/",
                "file",
            ] {
                assert!(opened(outside).is_err(), "{outside}");
            }
        }
    }
}
