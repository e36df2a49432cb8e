//! Files that an extension without permissions wrote beside its code stay across versions.

use std::fs;
use std::path::{Path, PathBuf};

use haft_packages::install::lock::ApprovalMethod;
use haft_packages::install::{ApprovalOutcome, ExtensionStore, InstallSource, PreservedPath};
use tempfile::TempDir;

const PLAIN: &str = r#"{"name":"x","exec":"./run"}"#;
const CONFINED: &str = r#"{"name":"x","exec":"./run","permissions":{}}"#;

/// An extension whose version 1 is approved and has written files.
struct World {
    root: TempDir,
    store: ExtensionStore,
}

impl World {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let store = ExtensionStore::for_home(&root.path().join("home"), None);
        let world = Self { root, store };
        world.approve(PLAIN, &[("shared", "code 1"), ("old/code", "code 1")]);
        world.write("shared", "spoiled");
        world.write("todos.json", "[\"mine\"]");
        world.write("notes/one", "mine");
        world.write("lib", "mine");
        world
    }

    fn approve(&self, manifest: &str, files: &[(&str, &str)]) -> ApprovalOutcome {
        let source = tempfile::tempdir_in(self.root.path()).unwrap();
        for (name, text) in [("extension.json", manifest), ("run", "#!/bin/sh\n")].iter().chain(files) {
            put(&source.path().join(name), text);
        }
        #[cfg(unix)]
        fs::set_permissions(source.path().join("run"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .unwrap();
        let source = InstallSource::Directory(source.path().into());
        self.store.propose(&source).unwrap().accept(ApprovalMethod::Yes, "1").unwrap()
    }

    /// Approves version 2, which brings files with the same names.
    fn update(&self) -> Vec<PreservedPath> {
        let files = [
            ("shared", "code 2"),
            ("todos.json", "[]"),
            ("notes", "code 2"),
            ("lib/a", "code 2"),
            ("lib.kept-1", "code 2"),
            ("old", "code 2"),
        ];
        self.approve(PLAIN, &files).kept
    }

    fn copy(&self) -> PathBuf {
        self.root.path().join("home/copies/x")
    }

    fn write(&self, name: &str, text: &str) {
        put(&self.copy().join(name), text);
    }

    #[track_caller]
    fn check(&self, expect: &[(&str, &str)]) {
        for (name, text) in expect {
            assert_eq!(fs::read_to_string(self.copy().join(name)).ok().as_deref(), Some(*text), "{name}");
        }
    }

    /// Returns pairs of names.
    fn names(&self, kept: &[PreservedPath]) -> Vec<(String, String)> {
        let name = |path: &Path| path.strip_prefix(self.copy()).unwrap().to_str().unwrap().to_owned();
        kept.iter().map(|PreservedPath { from, to }| (name(from), name(to))).collect()
    }
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn pair(from: &str, to: &str) -> (String, String) {
    (from.to_owned(), to.to_owned())
}

#[test]
fn update_moves_aside_files_of_the_extension() {
    let world = World::new();
    let kept = world.update();
    let aside =
        [pair("lib", "lib.kept-2"), pair("notes", "notes.kept-1"), pair("todos.json", "todos.json.kept-1")];
    assert_eq!(world.names(&kept), aside, "files of version 1 are not moved aside");
    world.check(&[
        ("lib.kept-2", "mine"),
        ("notes.kept-1/one", "mine"),
        ("todos.json.kept-1", "[\"mine\"]"),
        ("lib/a", "code 2"),
        ("notes", "code 2"),
        ("todos.json", "[]"),
        ("shared", "code 2"),
        ("old", "code 2"),
    ]);
    assert!(!world.copy().join("shared.kept-1").exists() && !world.copy().join("old.kept-1").exists());
    assert!(world.update().is_empty(), "the version is installed already");
}

#[test]
fn rollback_moves_aside_files_of_the_extension() {
    let world = World::new();
    world.approve(PLAIN, &[]);
    world.write("old/code", "mine");
    let row = world.store.find("x", None).unwrap();
    let kept = world.store.roll_back(&row, &world.store.find_rollback_target(&row).unwrap()).unwrap().kept;
    // It was changed, so the version in between, which does not have the file, left it as it was.
    let aside = [pair("old/code", "old/code.kept-1"), pair("shared", "shared.kept-1")];
    assert_eq!(world.names(&kept), aside);
    world.check(&[("old/code", "code 1"), ("old/code.kept-1", "mine"), ("todos.json", "[\"mine\"]")]);
}

#[test]
fn ignores_versions_that_ran_elsewhere() {
    let world = World::new();
    world.approve(CONFINED, &[("todos.json", "never ran here")]);
    let kept = world.update();
    assert_eq!(kept.len(), 3, "{kept:?}");
    world.check(&[("todos.json.kept-1", "[\"mine\"]"), ("shared", "code 2")]);
}

#[test]
fn files_left_by_removed_extension_are_moved_aside() {
    let world = World::new();
    world.store.remove(&world.store.find("x", None).unwrap()).unwrap();
    let kept = world.update();
    // After the removal, the origin of the files is unknown.
    assert_eq!(kept.len(), 4, "{kept:?}");
    world.check(&[("shared.kept-1", "spoiled"), ("todos.json.kept-1", "[\"mine\"]")]);
}

#[cfg(unix)]
#[test]
fn does_not_touch_link_targets() {
    let world = World::new();
    let outside = world.root.path().join("outside");
    put(&outside.join("code"), "precious");
    put(&outside.join("new"), "precious");
    fs::remove_dir_all(world.copy().join("old")).unwrap();
    std::os::unix::fs::symlink(&outside, world.copy().join("old")).unwrap();
    world.approve(PLAIN, &[("old/code", "code 2"), ("old/new", "code 2")]);
    world.check(&[("old/code", "code 2"), ("old/new", "code 2")]);
    let names: Vec<_> = fs::read_dir(&outside).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert_eq!(fs::read_to_string(outside.join("new")).unwrap(), "precious");
}
