//! Tests of protected paths in workspaces with repositories.

use std::os::unix::fs::symlink;

use super::*;

/// A resolved temporary directory, in which `work` is writable.
struct Scene {
    dir: tempfile::TempDir,
}

impl Scene {
    fn new(dirs: &[&str], files: &[&str]) -> Self {
        let scene = Self { dir: tempfile::tempdir().unwrap() };
        for dir in ["work"].iter().chain(dirs) {
            fs::create_dir_all(scene.path(dir)).unwrap();
        }
        for file in files {
            fs::create_dir_all(scene.path(file).parent().unwrap()).unwrap();
            fs::write(scene.path(file), "").unwrap();
        }
        scene
    }

    fn base(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    fn path(&self, below: &str) -> PathBuf {
        self.base().join(below)
    }

    fn find(&self) -> ProtectedPaths {
        ProtectedPaths::find(&[self.path("work")], &self.path("work"), &[])
    }

    /// Returns the existing protected paths, separated by spaces.
    fn existing_paths(&self) -> String {
        self.show(&self.find().existing_below(&[self.path("work")]))
    }

    fn show(&self, paths: &[PathBuf]) -> String {
        let base = self.base();
        let shown = paths.iter().map(|path| path.strip_prefix(&base).unwrap().display().to_string());
        shown.collect::<Vec<_>>().join(" ")
    }
}

#[test]
fn finds_names_at_the_top() {
    let scene = Scene::new(&["work/.haft", "work/src"], &["work/.envrc", "work/.vscode/tasks.json"]);
    assert_eq!(scene.existing_paths(), "work/.envrc work/.haft work/.vscode");
}

#[test]
fn finds_repositories_below_the_working_directory() {
    let scene = Scene::new(
        &["work/a/b/c/d/.git/hooks", "work/a/b/c/d/e/.git/hooks", "work/node_modules/x/.git/hooks"],
        &["work/src/repo/.git/HEAD", "work/src/repo/.git/config", "work/sub/.git"],
    );
    assert_eq!(
        scene.existing_paths(),
        "work/a/b/c/d/.git/hooks work/src/repo/.git/config work/src/repo/.git/hooks work/sub/.git"
    );
}

#[test]
fn finds_files_of_worktrees_and_submodules() {
    let scene = Scene::new(
        &["work/.git/modules/a/hooks"],
        &[
            "work/.git/HEAD",
            "work/.git/config",
            "work/.git/modules/a/HEAD",
            "work/.git/modules/b/c/HEAD",
            "work/.git/modules/b/c/config",
            "work/.git/worktrees/w/commondir",
            "work/.git/worktrees/w/gitdir",
        ],
    );
    assert_eq!(
        scene.existing_paths().replace("work/.git/", ""),
        "config hooks modules/a/hooks modules/b/c/config modules/b/c/hooks worktrees/w/commondir \
         worktrees/w/gitdir"
    );
}

#[test]
fn finds_git_directory_that_a_file_names() {
    let scene = Scene::new(&[], &["work/store/HEAD", "work/store/config"]);
    fs::write(scene.path("work/.git"), "gitdir: store\n").unwrap();
    assert_eq!(scene.existing_paths(), "work/.git work/store/config work/store/hooks");
}

#[test]
fn finds_files_of_bare_repository_with_a_missing_entry() {
    let scene = Scene::new(&["work/objects", "work/refs"], &["work/config"]);
    assert_eq!(scene.existing_paths(), "work/config");
    fs::remove_dir(scene.path("work/refs")).unwrap();
    fs::write(scene.path("work/HEAD"), "").unwrap();
    assert_eq!(scene.existing_paths(), "work/config work/hooks");
}

#[test]
fn finds_links_and_their_targets() {
    let scene = Scene::new(&["work/.git", "work/shared", "outside"], &["work/real/HEAD", "work/real/config"]);
    symlink("../shared", scene.path("work/first")).unwrap();
    symlink("../first", scene.path("work/.git/hooks")).unwrap();
    fs::remove_file(scene.path("work/first")).unwrap();
    symlink("shared", scene.path("work/first")).unwrap();
    symlink(scene.path("work/real"), scene.path("work/.claude")).unwrap();
    symlink("nowhere", scene.path("work/.envrc")).unwrap();
    symlink(scene.path("outside"), scene.path("work/.vscode")).unwrap();
    assert_eq!(
        scene.existing_paths(),
        "work/.claude work/.envrc work/.git/hooks work/.vscode work/first work/real work/shared"
    );
}

#[test]
fn creates_only_names_without_effect() {
    let scene = Scene::new(&[], &["work/.git/HEAD", "work/.git/config", "outside/HEAD"]);
    symlink(scene.path("outside"), scene.path("work/.pi")).unwrap();
    fs::create_dir(scene.path("work/sub")).unwrap();
    symlink(scene.path("outside"), scene.path("work/sub/.git")).unwrap();
    scene.find();
    assert!(scene.path("work/.git/hooks").is_dir());
    assert!(!scene.path("work/.git/config.worktree").exists());
    assert!(!scene.path("outside/hooks").exists());
    fs::write(scene.path("work/.git/config"), "[extensions]\n\tworktreeConfig = true\n").unwrap();
    scene.find();
    assert!(scene.path("work/.git/config.worktree").exists());
}

#[test]
fn reports_names_that_appear() {
    let scene = Scene::new(&[], &["work/.git/HEAD", "work/.mcp.json", "work/sub/.git/HEAD"]);
    let protected = scene.find();
    assert_eq!(protected.take_appeared(), AppearedNames::default());
    for (file, text) in [(".git/commondir", "../evil"), ("sub/.git/commondir", "x"), (".envrc", "")] {
        fs::write(scene.path("work").join(file), text).unwrap();
    }
    let appeared = protected.take_appeared();
    assert_eq!(scene.show(&appeared.created), "work/.envrc");
    assert_eq!(scene.show(&appeared.removed), "work/.git/commondir work/sub/.git/commondir");
    assert!(!scene.path("work/.git/commondir").exists());
    assert_eq!(protected.take_appeared(), AppearedNames::default());
    // A removed name is removed again.
    symlink("../evil", scene.path("work/.git/commondir")).unwrap();
    assert_eq!(scene.show(&protected.take_appeared().removed), "work/.git/commondir");
    assert!(!scene.path("work/.git/commondir").is_symlink());
}

#[track_caller]
fn check(root: &str, path: &str, expect: bool) {
    assert_eq!(has_protected_name(Path::new(root), Path::new(path)), expect, "{root} {path}");
}

#[test]
fn recognizes_protected_names_at_any_depth() {
    for path in [
        "/w/.haft",
        "/w/.haft/config.toml",
        "/w/a/b/.vscode/tasks.json",
        "/w/a/.envrc",
        "/w/.git",
        "/w/a/.git",
        "/w/a/.git/hooks/pre-commit",
        "/w/a/.GIT/config",
        "/w/.git/modules/x/config",
        "/w/.git/commondir",
        "/w/.git/worktrees/x/gitdir",
    ] {
        check("/w", path, true);
    }
    for path in ["/w/src/config", "/w/hooks/x", "/w/.git/HEAD", "/w/.git/refs/heads/main", "/w/.github/x"] {
        check("/w", path, false);
    }
    check("/main/.git", "/main/.git/config", true);
    check("/main/.git", "/main/.git/index", false);
    check("/v/.pi/w", "/v/.pi/w/src", false);
    check("/w", "/v/.haft", false);
}

#[test]
fn names_of_git_are_protected_in_every_git_directory() {
    let scene = Scene::new(
        &["work/.bare/objects", "work/.bare/refs", "work/app/config"],
        &["work/.bare/HEAD", "repo.git/worktrees/w/commondir", "repo.git/worktrees/w/gitdir", "work/HEAD"],
    );
    let check = |root: &str, path: &str, expect: bool| {
        assert_eq!(has_protected_name(&scene.path(root), &scene.path(path)), expect, "{path}");
    };
    check("work", "work/.bare/hooks/pre-commit", true);
    check("repo.git", "repo.git/worktrees/w/commondir", true);
    check("work", "work/app/config/x", false);
    check("work", "work/config/x", false);
}

#[test]
fn target_of_a_link_that_leads_nowhere_is_reported() {
    let scene = Scene::new(&["work/.git/objects"], &["work/.git/HEAD"]);
    symlink("../githooks", scene.path("work/.git/hooks")).unwrap();
    let found = scene.find();
    fs::create_dir(scene.path("work/githooks")).unwrap();
    let created = found.take_appeared().created;
    assert!(created.iter().any(|path| path.ends_with("../githooks")), "{created:?}");
}

#[test]
fn file_below_a_new_link_is_not_removed() {
    let scene = Scene::new(&["work/.git/objects", "other"], &["work/.git/HEAD"]);
    let found = scene.find();
    fs::rename(scene.path("work/.git"), scene.path("work/old")).unwrap();
    fs::write(scene.path("other/commondir"), "").unwrap();
    symlink(scene.path("other"), scene.path("work/.git")).unwrap();
    assert!(found.take_appeared().removed.is_empty());
    assert!(scene.path("other/commondir").exists());
}
