//! Copies a tree from an untrusted source.

mod names;

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::Read as _;
use std::path::{Component, Path};

use haft_protocol::defense::{Defense, is_up};

use super::InstallError;
use crate::open::open;

/// The greatest number of files and directories of an extension.
pub(crate) const MAX_ENTRIES: usize = 20_000;

/// The greatest size of an extension in bytes: 200 MiB.
pub(crate) const MAX_BYTES: u64 = 200 * 1024 * 1024;

/// The greatest depth of nested directories, the extension's own counted as 1.
pub(super) const MAX_DEPTH: usize = 32;

/// Copies the tree `from` to `to`, which must not exist, without its `.git`.
///
/// Files keep their permissions without the set-user-id, set-group-id and sticky bits. Hard links become separate
/// files. Symlinks are kept if they cannot lead out of the tree. Anything else is rejected, and so are names that are
/// not portable. `store` is the directory of approved code; a tree that contains it is rejected.
pub(crate) fn copy_tree(from: &Path, to: &Path, store: &Path) -> Result<(), InstallError> {
    let limits = TreeLimits { entries: MAX_ENTRIES, bytes: MAX_BYTES, depth: MAX_DEPTH };
    copy_with_limits(limits, from, to, store)
}

fn copy_with_limits(limits: TreeLimits, from: &Path, to: &Path, store: &Path) -> Result<(), InstallError> {
    let root = from.canonicalize().map_err(InstallError::io("read", from))?;
    let store = store.canonicalize().map_err(InstallError::io("read", store))?;
    if store.starts_with(&root) {
        return Err(InstallError::refused_entry(
            &root,
            "contains the directory that extensions are installed in; install a directory below it",
        ));
    }
    TreeCopier { limits, entries: 0, bytes: 0, root: root.clone() }.copy_directory(&root, to, 1)
}

#[derive(Debug, Clone, Copy)]
struct TreeLimits {
    entries: usize,
    bytes: u64,
    depth: usize,
}

struct TreeCopier {
    limits: TreeLimits,
    entries: usize,
    bytes: u64,
    root: std::path::PathBuf,
}

impl TreeCopier {
    fn copy_directory(&mut self, from: &Path, to: &Path, depth: usize) -> Result<(), InstallError> {
        if depth > self.limits.depth {
            return Err(
                self.too_large(format!("directories nested more than {} levels deep", self.limits.depth))
            );
        }
        std::fs::create_dir(to).map_err(InstallError::io("create", to))?;
        let mut names = HashSet::new();
        for entry in std::fs::read_dir(from).map_err(InstallError::io("list", from))? {
            let entry = entry.map_err(InstallError::io("list", from))?;
            let name = entry.file_name();
            if is_git_dir_name(&name) {
                continue;
            }
            // Beyond the limit, the rest of the directory is not listed.
            self.entries += 1;
            if self.entries > self.limits.entries {
                return Err(self.too_large(format!("more than {} files", self.limits.entries)));
            }
            if is_up(Defense::TreeRules) {
                names::check(&name, &mut names)
                    .map_err(|problem| InstallError::refused_entry(&entry.path(), problem))?;
            }
            self.copy_entry(&entry.path(), &to.join(name), depth)?;
        }
        Ok(())
    }

    fn copy_entry(&mut self, from: &Path, to: &Path, depth: usize) -> Result<(), InstallError> {
        let metadata = from.symlink_metadata().map_err(InstallError::io("read", from))?;
        if metadata.is_dir() {
            self.copy_directory(from, to, depth + 1)
        } else if metadata.is_symlink() {
            copy_link(from, to, depth)
        } else if metadata.is_file() {
            self.copy_file(from, to, &metadata)
        } else {
            Err(special_file_error(from))
        }
    }

    fn copy_file(&mut self, from: &Path, to: &Path, metadata: &Metadata) -> Result<(), InstallError> {
        let left = self.limits.bytes - self.bytes;
        if metadata.len() > left {
            return Err(self.too_many_bytes());
        }
        let source = open(from, false).map_err(InstallError::io("read", from))?;
        let opened = source.metadata().map_err(InstallError::io("read", from))?;
        if !opened.is_file() {
            return Err(special_file_error(from));
        }
        // `create_new` fails if a case-insensitive disk takes `A` and `a` for the same name.
        let mut target = File::create_new(to).map_err(InstallError::io("create", to))?;
        // The bytes are counted during the copy: a file can grow, and its reported length can be wrong.
        let copied = std::io::copy(&mut source.take(left + 1), &mut target);
        let copied = copied.map_err(InstallError::io("copy", from))?;
        if copied > left {
            return Err(self.too_many_bytes());
        }
        self.bytes += copied;
        copy_permissions(&target, &opened).map_err(InstallError::io("set the permissions of", to))
    }

    fn too_many_bytes(&self) -> InstallError {
        self.too_large(format!("more than {} MiB", self.limits.bytes >> 20))
    }

    fn too_large(&self, what: String) -> InstallError {
        InstallError::too_large(&self.root, what)
    }
}

/// Copies a link. `depth` is the depth of its directory; the root has depth 1.
fn copy_link(from: &Path, to: &Path, depth: usize) -> Result<(), InstallError> {
    let target = std::fs::read_link(from).map_err(InstallError::io("read", from))?;
    if stays_inside(&target, depth) || !is_up(Defense::TreeRules) {
        make_link(&target, to).map_err(InstallError::io("create", to))
    } else {
        let target = target.display();
        Err(InstallError::refused_entry(
            from,
            format!(
                "is a symlink that leads out of the extension, to {target}; replace the link with a copy of its target"
            ),
        ))
    }
}

/// True for git's directory beside a checkout, in any case: some disks take `.GIT` for the same name.
pub(super) fn is_git_dir_name(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case(".git")
}

fn special_file_error(path: &Path) -> InstallError {
    InstallError::refused_entry(path, "is not a regular file or a directory and cannot be copied; remove it")
}

/// True if a link cannot lead out of the tree. It may climb only at its beginning, where every step is a real
/// directory of the tree, and not above the root. The rest can only go down, through links that were checked in the
/// same way.
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
fn copy_permissions(target: &File, metadata: &Metadata) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = metadata.permissions().mode() & 0o777;
    target.set_permissions(std::fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn copy_permissions(_: &File, _: &Metadata) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: TreeLimits = TreeLimits { entries: 3, bytes: 10, depth: 2 };

    #[track_caller]
    fn check(make: impl FnOnce(&Path), expect: Result<(), &str>) {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        make(from.path());
        let got = copy_with_limits(SMALL, from.path(), &to.path().join("tree"), to.path());
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
    fn accepts_each_limit_and_rejects_one_more() {
        check(|dir| files(dir, &[1, 1, 1]), Ok(()));
        check(|dir| files(dir, &[1, 1, 1, 1]), Err("more than 3 files"));
        check(|dir| files(dir, &[4, 6]), Ok(()));
        check(|dir| files(dir, &[4, 7]), Err("more than 0 MiB"));
        check(|dir| std::fs::create_dir_all(dir.join("a")).unwrap(), Ok(()));
        check(|dir| std::fs::create_dir_all(dir.join("a/b")).unwrap(), Err("nested more than 2 levels"));
    }

    #[test]
    fn leaves_out_git_directories() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for dir in [".git/hooks", "lib/.GIT", "sub"] {
            std::fs::create_dir_all(from.path().join(dir)).unwrap();
        }
        std::fs::write(from.path().join(".git/hooks/post-checkout"), "").unwrap();
        std::fs::write(from.path().join("sub/.git"), "gitdir: /elsewhere").unwrap();
        std::fs::write(from.path().join(".gitignore"), "").unwrap();
        let limits = TreeLimits { entries: 10, ..SMALL };
        let tree = to.path().join("tree");
        copy_with_limits(limits, from.path(), &tree, to.path()).unwrap();
        let names = [".git", "lib", "lib/.GIT", "sub", "sub/.git", ".gitignore"];
        let there = names.map(|name| tree.join(name).symlink_metadata().is_ok());
        assert_eq!(there, [false, true, false, true, false, true]);
    }

    #[test]
    #[cfg(unix)]
    fn hard_links_become_separate_files() {
        use std::os::unix::fs::MetadataExt as _;
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(from.path().join("a"), "text").unwrap();
        std::fs::hard_link(from.path().join("a"), from.path().join("b")).unwrap();
        let tree = to.path().join("tree");
        copy_with_limits(SMALL, from.path(), &tree, to.path()).unwrap();
        assert_eq!(["a", "b"].map(|name| tree.join(name).metadata().unwrap().nlink()), [1, 1]);
    }

    /// A regular file can be replaced by a pipe before it is opened.
    #[test]
    #[cfg(unix)]
    fn does_not_block_on_pipe_in_place_of_file() {
        let dir = tempfile::tempdir().unwrap();
        let (file, pipe) = (dir.path().join("file"), dir.path().join("pipe"));
        std::fs::write(&file, "x").unwrap();
        haft_test_support::create_pipe(&pipe).unwrap();
        let mut copy = TreeCopier { limits: SMALL, entries: 0, bytes: 0, root: dir.path().into() };
        let error = copy.copy_file(&pipe, &dir.path().join("to"), &file.metadata().unwrap()).unwrap_err();
        assert!(error.to_string().contains("not a regular file"), "{error}");
    }

    #[test]
    fn stops_copying_file_that_grows_beyond_limit() {
        let dir = tempfile::tempdir().unwrap();
        let before = File::create(dir.path().join("grows")).unwrap().metadata().unwrap();
        std::fs::write(dir.path().join("grows"), [b'x'; 100]).unwrap();
        let mut copy = TreeCopier { limits: SMALL, entries: 0, bytes: 0, root: dir.path().into() };
        let error = copy.copy_file(&dir.path().join("grows"), &dir.path().join("to"), &before).unwrap_err();
        assert!(error.to_string().contains("more than 0 MiB"), "{error}");
        assert_eq!(std::fs::metadata(dir.path().join("to")).unwrap().len(), SMALL.bytes + 1);
    }

    #[test]
    fn rejects_huge_sparse_file_early() {
        check(|dir| File::create(dir.join("big")).unwrap().set_len(1 << 40).unwrap(), Err("MiB"));
    }

    #[test]
    fn does_not_copy_store_into_itself() {
        let from = tempfile::tempdir().unwrap();
        let store = from.path().join("extensions");
        std::fs::create_dir(&store).unwrap();
        let error = copy_with_limits(SMALL, from.path(), &store.join("tree"), &store).unwrap_err();
        assert!(error.to_string().contains("installed in"), "{error}");
    }

    #[test]
    fn accepts_only_links_that_stay_inside() {
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
