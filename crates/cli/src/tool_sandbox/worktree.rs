//! The repository of a linked worktree of git.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::paths::resolve_existing;

/// The largest file with a path that is read.
const LONGEST: u64 = 4096;

/// The entries by which git recognizes a git directory.
const ENTRIES: &[&str] = &["HEAD", "objects", "refs"];

/// Paths that no repository may include, and paths that no repository may be in.
#[derive(Debug, Clone, Copy)]
pub(super) struct RepositoryLimits<'a> {
    /// The user's home directory and haft's.
    pub(super) not_above: &'a [PathBuf],
    /// haft's home directory and the hidden paths.
    pub(super) not_in: &'a [PathBuf],
}

/// Returns the git directory that the linked worktree `cwd` shares with its repository, because commits change it.
///
/// Files in the worktree name this directory, and a command can write them. They count only if a git directory outside
/// of the worktree lists the worktree in `worktrees/NAME`, where commands cannot write.
pub(super) fn shared_git_dir(cwd: &Path, limits: RepositoryLimits<'_>) -> Option<PathBuf> {
    let cwd = cwd.canonicalize().ok()?;
    let dot_git = cwd.join(".git");
    if !dot_git.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let own = named_path(&dot_git, "gitdir:")?;
    let shared = named_path(&own.join("commondir"), "")?;
    let is_listed = own.parent() == Some(shared.join("worktrees").as_path());
    let names_this = named_path(&own.join("gitdir"), "")? == dot_git;
    let is_git_dir = ENTRIES.iter().all(|entry| shared.join(entry).exists());
    (is_listed && names_this && is_git_dir && is_allowed(&shared, &cwd, limits)).then_some(shared)
}

/// True if the repository is apart from the worktree, and write access to it gives access to nothing else.
fn is_allowed(shared: &Path, cwd: &Path, limits: RepositoryLimits<'_>) -> bool {
    !shared.starts_with(cwd)
        && !cwd.starts_with(shared)
        && !limits.not_above.iter().any(|path| resolve_existing(path).starts_with(shared))
        && !limits.not_in.iter().any(|path| shared.starts_with(resolve_existing(path)))
}

/// Reads a path from a file of git, and resolves it.
fn named_path(file: &Path, prefix: &str) -> Option<PathBuf> {
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    File::open(file).ok()?.take(LONGEST).read_to_string(&mut text).ok()?;
    file.parent()?.join(text.strip_prefix(prefix)?.trim()).canonicalize().ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A home directory with a repository and a linked worktree of it, as git creates them.
    struct Scene {
        dir: tempfile::TempDir,
    }

    impl Scene {
        fn new() -> Self {
            let scene = Self { dir: tempfile::tempdir().unwrap() };
            for dir in ["main/.git/objects", "main/.git/refs", "main/.git/worktrees/tree", "tree", "haft"] {
                fs::create_dir_all(scene.path(dir)).unwrap();
            }
            scene.write("main/.git/HEAD", "ref: refs/heads/main\n");
            scene.write("main/.git/worktrees/tree/commondir", "../..\n");
            scene.write(
                "main/.git/worktrees/tree/gitdir",
                &format!("{}/.git\n", scene.path("tree").display()),
            );
            let own = scene.path("main/.git/worktrees/tree");
            scene.write("tree/.git", &format!("gitdir: {}\n", own.display()));
            scene
        }

        fn path(&self, below: &str) -> PathBuf {
            self.dir.path().canonicalize().unwrap().join(below)
        }

        fn write(&self, below: &str, text: &str) {
            fs::write(self.path(below), text).unwrap();
        }

        fn shared_dir(&self) -> Option<PathBuf> {
            let limits = RepositoryLimits {
                not_above: &[self.path(""), self.path("haft")],
                not_in: &[self.path("haft"), self.path("hidden")],
            };
            shared_git_dir(&self.path("tree"), limits)
        }
    }

    #[test]
    fn finds_the_repository_of_a_linked_worktree() {
        let scene = Scene::new();
        assert_eq!(scene.shared_dir(), Some(scene.path("main/.git")));
    }

    #[test]
    fn ignores_a_directory_of_the_worktree_that_names_another_one() {
        let scene = Scene::new();
        fs::create_dir(scene.path("tree/fake")).unwrap();
        scene.write("tree/.git", "gitdir: fake");
        scene.write("tree/fake/gitdir", "../.git");
        for named in [scene.path(""), scene.path("main/.git"), "/".into(), scene.path("tree/fake")] {
            scene.write("tree/fake/commondir", &named.display().to_string());
            assert_eq!(scene.shared_dir(), None, "{}", named.display());
        }
        // A complete repository inside of the worktree is writable in any case.
        fs::rename(scene.path("main"), scene.path("tree/main")).unwrap();
        scene.write("tree/.git", "gitdir: main/.git/worktrees/tree");
        assert_eq!(scene.shared_dir(), None);
    }

    #[test]
    fn ignores_a_repository_that_does_not_list_the_worktree() {
        let scene = Scene::new();
        scene.write("main/.git/worktrees/tree/gitdir", "../../../.git\n");
        assert_eq!(scene.shared_dir(), None);
    }

    #[test]
    fn ignores_a_directory_that_is_not_a_git_directory() {
        for entry in ENTRIES {
            let scene = Scene::new();
            fs::rename(scene.path("main/.git").join(entry), scene.path("moved")).unwrap();
            assert_eq!(scene.shared_dir(), None, "{entry}");
        }
    }

    #[test]
    fn ignores_a_repository_in_or_around_other_files() {
        for (place, limit) in [("haft/.git", "haft"), ("hidden/.git", "hidden"), (".", "home")] {
            let scene = Scene::new();
            let moved = scene.path(place);
            fs::create_dir_all(&moved).unwrap();
            for entry in ["HEAD", "objects", "refs", "worktrees"] {
                fs::rename(scene.path("main/.git").join(entry), moved.join(entry)).unwrap();
            }
            scene.write("tree/.git", &format!("gitdir: {}", moved.join("worktrees/tree").display()));
            assert_eq!(scene.shared_dir(), None, "{limit}");
        }
    }
}
