//! Copying a tree that nobody has to trust.

use std::fs::{File, Metadata};
use std::io::Read as _;
use std::path::{Component, Path};

use super::InstallError;

/// The most files and directories an extension may have.
pub const MAX_ENTRIES: usize = 20_000;

/// The most bytes an extension may have: 200 MiB.
pub const MAX_BYTES: u64 = 200 * 1024 * 1024;

/// The most directories inside each other, the extension's own counted as 1.
pub const MAX_DEPTH: usize = 32;

/// Copies the tree `from` to `to`, which must not exist, without its `.git`.
///
/// Files keep their permissions without set-user-id and the like; symlinks are kept when they cannot lead out of
/// the tree; anything else is refused. `store` is where extensions are kept: a tree that holds it is refused.
pub(super) fn copy_tree(from: &Path, to: &Path, store: &Path) -> Result<(), InstallError> {
    let limits = Limits { entries: MAX_ENTRIES, bytes: MAX_BYTES, depth: MAX_DEPTH };
    copy_within(limits, from, to, store)
}

fn copy_within(limits: Limits, from: &Path, to: &Path, store: &Path) -> Result<(), InstallError> {
    let root = from.canonicalize().map_err(InstallError::io("read", from))?;
    let store = store.canonicalize().map_err(InstallError::io("read", store))?;
    if store.starts_with(&root) {
        let problem = "holds the directory that extensions are installed in".into();
        return Err(InstallError::Refused { path: root, problem });
    }
    Copy { limits, entries: 0, bytes: 0, root: root.clone() }.directory(&root, to, 1)
}

#[derive(Debug, Clone, Copy)]
struct Limits {
    entries: usize,
    bytes: u64,
    depth: usize,
}

struct Copy {
    limits: Limits,
    entries: usize,
    bytes: u64,
    root: std::path::PathBuf,
}

impl Copy {
    fn directory(&mut self, from: &Path, to: &Path, depth: usize) -> Result<(), InstallError> {
        if depth > self.limits.depth {
            return Err(
                self.too_large(format!("more than {} directories inside each other", self.limits.depth))
            );
        }
        std::fs::create_dir(to).map_err(InstallError::io("create", to))?;
        for entry in std::fs::read_dir(from).map_err(InstallError::io("list", from))? {
            let entry = entry.map_err(InstallError::io("list", from))?;
            if entry.file_name() != ".git" {
                self.entry(&entry.path(), &to.join(entry.file_name()), depth)?;
            }
        }
        Ok(())
    }

    fn entry(&mut self, from: &Path, to: &Path, depth: usize) -> Result<(), InstallError> {
        self.entries += 1;
        if self.entries > self.limits.entries {
            return Err(self.too_large(format!("more than {} files", self.limits.entries)));
        }
        let metadata = from.symlink_metadata().map_err(InstallError::io("read", from))?;
        if metadata.is_dir() {
            self.directory(from, to, depth + 1)
        } else if metadata.is_symlink() {
            copy_link(from, to, depth)
        } else if metadata.is_file() {
            self.file(from, to, &metadata)
        } else {
            let problem = "is neither a file nor a directory, so it is not copied".into();
            Err(InstallError::Refused { path: from.into(), problem })
        }
    }

    fn file(&mut self, from: &Path, to: &Path, metadata: &Metadata) -> Result<(), InstallError> {
        let left = self.limits.bytes - self.bytes;
        let source = File::open(from).map_err(InstallError::io("read", from))?;
        // `create_new`: on a disk that takes `A` and `a` for one name, the second one is an error.
        let mut target = File::create_new(to).map_err(InstallError::io("create", to))?;
        // Counted while copying: a file can grow, and its length can be a lie.
        let copied = std::io::copy(&mut source.take(left + 1), &mut target);
        let copied = copied.map_err(InstallError::io("copy", from))?;
        if copied > left {
            return Err(self.too_large(format!("more than {} MiB", self.limits.bytes / (1024 * 1024))));
        }
        self.bytes += copied;
        keep_permissions(&target, metadata).map_err(InstallError::io("set the permissions of", to))
    }

    fn too_large(&self, what: String) -> InstallError {
        InstallError::TooLarge { dir: self.root.clone(), what }
    }
}

/// `depth` is that of the directory the link is in, the root's being 1.
fn copy_link(from: &Path, to: &Path, depth: usize) -> Result<(), InstallError> {
    let target = std::fs::read_link(from).map_err(InstallError::io("read", from))?;
    if stays_inside(&target, depth) {
        make_link(&target, to).map_err(InstallError::io("create", to))
    } else {
        let problem = format!("is a symlink that leads out of the extension, to {}", target.display());
        Err(InstallError::Refused { path: from.into(), problem })
    }
}

/// Whether a link cannot lead out of the tree: it climbs only at its beginning, where every step is a real
/// directory of the tree, and not above the root. Behind that it can only go down, through links of the same kind.
fn stays_inside(target: &Path, depth: usize) -> bool {
    let mut climbed = 0;
    let mut going_down = false;
    target.components().all(|component| match component {
        Component::CurDir => true,
        Component::Normal(_) => {
            going_down = true;
            true
        }
        Component::ParentDir => {
            climbed += 1;
            !going_down && climbed < depth
        }
        Component::RootDir | Component::Prefix(_) => false,
    })
}

#[cfg(unix)]
pub(super) fn make_link(target: &Path, link: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

#[cfg(not(unix))]
pub(super) fn make_link(_: &Path, _: &Path) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

#[cfg(unix)]
fn keep_permissions(target: &File, metadata: &Metadata) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = metadata.permissions().mode() & 0o777;
    target.set_permissions(std::fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn keep_permissions(_: &File, _: &Metadata) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Limits = Limits { entries: 3, bytes: 10, depth: 2 };

    #[track_caller]
    fn check(make: impl FnOnce(&Path), expect: Result<(), &str>) {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        make(from.path());
        let got = copy_within(SMALL, from.path(), &to.path().join("tree"), to.path());
        match (got, expect) {
            (Ok(()), Ok(())) => {}
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
            (got, expect) => panic!("{got:?} instead of {expect:?}"),
        }
    }

    fn files(dir: &Path, sizes: &[usize]) {
        for (index, size) in sizes.iter().enumerate() {
            std::fs::write(dir.join(index.to_string()), vec![b'x'; *size]).unwrap();
        }
    }

    #[test]
    fn each_limit_holds_and_one_more_is_refused() {
        check(|dir| files(dir, &[1, 1, 1]), Ok(()));
        check(|dir| files(dir, &[1, 1, 1, 1]), Err("more than 3 files"));
        check(|dir| files(dir, &[4, 6]), Ok(()));
        check(|dir| files(dir, &[4, 7]), Err("more than 0 MiB"));
        check(|dir| std::fs::create_dir_all(dir.join("a")).unwrap(), Ok(()));
        check(|dir| std::fs::create_dir_all(dir.join("a/b")).unwrap(), Err("more than 2 directories"));
    }

    #[test]
    fn a_sparse_giant_is_given_up_early() {
        check(|dir| File::create(dir.join("big")).unwrap().set_len(1 << 40).unwrap(), Err("MiB"));
    }

    #[test]
    fn the_store_is_not_copied_into_itself() {
        let from = tempfile::tempdir().unwrap();
        let store = from.path().join("extensions");
        std::fs::create_dir(&store).unwrap();
        let error = copy_within(SMALL, from.path(), &store.join("tree"), &store).unwrap_err();
        assert!(error.to_string().contains("installed in"), "{error}");
    }

    #[test]
    fn links_stay_inside() {
        for (target, depth, inside) in [
            ("file", 1, true),
            ("./a/b", 1, true),
            ("../file", 2, true),
            ("../../a/b", 3, true),
            ("..", 1, false),
            ("../file", 1, false),
            ("../../x", 2, false),
            ("a/../b", 1, false),
            ("a/../../x", 2, false),
            ("/etc/passwd", 1, false),
        ] {
            assert_eq!(stays_inside(Path::new(target), depth), inside, "{target} at {depth}");
        }
    }
}
