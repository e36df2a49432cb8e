//! Changes of installed extensions, and the state after a partial failure.

mod removal;

use std::fs;
use std::path::{Path, PathBuf};

use haft_packages::install::lock::{ApprovalMethod, InstallOrigin, LockEntry};
use haft_packages::install::{
    ApprovalOutcome, ExtensionStore, InstallProposal, InstallSource, InstallStatus, InstalledExtension,
    RollbackOutcome,
};
use tempfile::TempDir;

const PLAIN: &str = r#"{"name":"x","exec":"./run"}"#;
const CONFINED: &str = r#"{"name":"x","exec":"./run","permissions":{}}"#;
const MORE: &str = r#"{"name":"x","exec":"./run","permissions":{"net":"all"}}"#;

struct World {
    root: TempDir,
    store: ExtensionStore,
}

impl World {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let store = ExtensionStore::for_home(&root.path().join("home"), None);
        Self { root, store }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    fn propose(&self, dir: &str, manifest: &str, run: &str) -> InstallProposal {
        let dir = extension(&self.at(dir), manifest, run);
        self.store.propose(&InstallSource::Directory(dir)).unwrap()
    }

    fn install(&self, manifest: &str, run: &str) -> ApprovalOutcome {
        self.propose("source", manifest, run).accept(ApprovalMethod::Yes, "1").unwrap()
    }

    /// Approves an extension in the user's directory.
    fn placed(&self, dir: &str) -> PathBuf {
        let dir = extension(&self.store.global.join(dir), PLAIN, "one");
        self.store.propose_in_place(&dir).unwrap().accept(ApprovalMethod::Yes, "1").unwrap();
        dir
    }

    fn back(&self) -> RollbackOutcome {
        let row = self.row();
        self.store.roll_back(&row, &self.store.find_rollback_target(&row).unwrap()).unwrap()
    }

    fn row(&self) -> InstalledExtension {
        self.store.find("x", None).unwrap()
    }

    fn entry(&self) -> LockEntry {
        self.row().entry.unwrap()
    }

    /// Makes every creation of a private copy fail.
    fn break_copies(&self) {
        let copies = self.at("home/copies");
        fs::create_dir_all(&copies).unwrap();
        fs::remove_dir_all(&copies).unwrap();
        fs::write(copies, "").unwrap();
    }
}

fn extension(dir: &Path, manifest: &str, run: &str) -> PathBuf {
    fs::create_dir_all(dir).unwrap();
    fs::write(dir.join("extension.json"), manifest).unwrap();
    fs::write(dir.join("run"), format!("#!/bin/sh\n# {run}\n")).unwrap();
    #[cfg(unix)]
    fs::set_permissions(dir.join("run"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    dir.into()
}

/// Returns the names in a directory, sorted.
fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[track_caller]
fn one(warnings: &[String], expect: &str) {
    assert!(matches!(warnings, [warning] if warning.contains(expect)), "{warnings:?}");
}

#[test]
fn failure_after_approval_is_a_warning() {
    let world = World::new();
    world.break_copies();
    let first = world.install(PLAIN, "one");
    one(&first.warnings, "cannot restore its private copy: cannot create");
    assert_eq!((world.row().state, world.entry()), (InstallStatus::Enabled, first.entry.clone()));
    fs::remove_file(world.at("home/copies")).unwrap();
    let second = world.install(PLAIN, "two");
    assert!(second.warnings.is_empty() && world.entry() == second.entry);

    world.break_copies();
    let back = world.back();
    one(&back.warnings, "cannot restore its private copy: cannot create");
    assert_eq!((back.entry.tree, world.entry()), (first.entry.tree, back.entry));
}

#[test]
#[cfg(unix)]
fn leftovers_that_cannot_be_removed_are_a_warning() {
    let world = World::new();
    world.install(CONFINED, "one");
    let stray = world.at("home/store/stray");
    let half = || vec!["d".repeat(200); 15].join("/");
    fs::create_dir_all(stray.join(half())).unwrap();
    fs::create_dir_all(world.at("half").join(half())).unwrap();
    // Joined, the two paths are longer than any path may be.
    fs::rename(world.at("half"), stray.join(half()).join("half")).unwrap();
    let accepted = world.install(CONFINED, "two");
    one(&accepted.warnings, "unused code is left in the store: cannot remove");
    assert_eq!(world.entry(), accepted.entry);
    assert!(world.install(CONFINED, "three").warnings.is_empty(), "leftovers do not prevent changes");
}

#[test]
fn rollback_drops_pending_update() {
    for runs in [true, false] {
        let world = World::new();
        let first = world.install(CONFINED, "one").entry;
        let second = world.install(CONFINED, "two").entry;
        world.store.set_enabled(&world.row(), runs).unwrap();
        assert!(world.propose("source", MORE, "three").decline().unwrap());
        assert!(world.entry().waiting.is_some() && world.row().state == InstallStatus::Disabled);

        let back = world.back().entry;
        assert_eq!((back.tree, back.enabled, &back.waiting), (first.tree, runs, &None));
        let again = world.back().entry;
        assert_eq!((again.tree, again.enabled, &again.waiting), (second.tree, runs, &None));
        // The pending update is shown and asked about again.
        assert!(!world.propose("source", MORE, "three").excess_permissions().is_empty());
    }
}

#[test]
fn disabling_drops_pending_update() {
    let world = World::new();
    world.install(CONFINED, "one");
    assert!(world.propose("source", MORE, "two").decline().unwrap());
    assert!(world.store.set_enabled(&world.row(), false).unwrap());
    assert!(!world.store.set_enabled(&world.row(), false).unwrap());
    assert_eq!((world.entry().waiting, world.row().state), (None, InstallStatus::Disabled));
    // The pending update is shown and asked about again.
    assert!(!world.propose("source", MORE, "two").excess_permissions().is_empty());
    let accepted = world.propose("source", MORE, "two").accept(ApprovalMethod::Yes, "1").unwrap();
    assert!(!accepted.entry.enabled, "it stays disabled");
}

#[test]
fn same_code_from_another_source_is_shown_and_recorded() {
    let world = World::new();
    let first = world.install(PLAIN, "one");
    let again = world.propose("source", PLAIN, "one");
    assert!(again.is_approved() && !again.record_origin().unwrap());
    let moved = world.propose("elsewhere", PLAIN, "one");
    assert!(!moved.is_approved());
    let source = format!("previous source: the directory {}", world.at("source").display());
    assert!(moved.lines().iter().any(|line| line.red && line.text.contains(&source)), "{:?}", moved.lines());
    let accepted = moved.accept(ApprovalMethod::Yes, "1").unwrap();
    assert_eq!(accepted.entry.tree, first.entry.tree);
    assert_eq!(world.entry().source, InstallOrigin::Directory { path: world.at("elsewhere") });
    assert!(world.entry().previous.is_empty(), "the version is the same");
    assert!(world.propose("elsewhere", PLAIN, "one").is_approved());
}

#[test]
fn moved_extension_is_approved_in_new_directory() {
    let world = World::new();
    let (dir, moved) = (world.placed("dir"), world.store.global.join("moved"));
    fs::rename(dir, &moved).unwrap();
    let proposal = world.store.propose_in_place(&moved).unwrap();
    assert!(!proposal.is_approved());
    proposal.accept(ApprovalMethod::Yes, "1").unwrap();
    assert_eq!((world.row().state, world.row().dir), (InstallStatus::Enabled, moved));
}
