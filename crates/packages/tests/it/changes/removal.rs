//! Removal of extensions: deleted files, kept files, and rejected removals.

use std::fs;
use std::path::{Path, PathBuf};

use haft_packages::install::lock::ApprovalMethod;
use haft_packages::install::{ExtensionStore, InstallError, InstallStatus};

use super::{PLAIN, World, extension, names, one};

#[test]
fn removal_deletes_only_approved_files() {
    let world = World::new();
    for number in 1..3 {
        let dir = world.placed("dir");
        fs::write(dir.join("run"), "changed since").unwrap();
        fs::create_dir_all(dir.join(".git/objects")).unwrap();
        fs::create_dir_all(dir.join("notes")).unwrap();
        fs::write(dir.join("notes/mine"), "mine").unwrap();
        let removed = world.store.remove(&world.row()).unwrap();
        assert!(removed.warnings.is_empty() && !dir.exists());
        let kept = removed.kept.unwrap();
        assert_eq!(kept.to, world.store.global.join(format!(".removed/dir-{number}")));
        assert_eq!(
            (&kept.from, names(&kept.to)),
            (&dir, [".git", "notes", "run"].map(str::to_owned).to_vec())
        );
        assert_eq!(fs::read_to_string(kept.to.join("notes/mine")).unwrap(), "mine");
        assert!(matches!(world.store.find("x", None), Err(InstallError::NotFound { .. })));
        assert!(world.store.approved.load().unwrap().extensions.is_empty());
    }
}

#[test]
fn removal_of_unchanged_extension_leaves_nothing() {
    let world = World::new();
    let dir = world.placed("dir");
    let removed = world.store.remove(&world.row()).unwrap();
    assert_eq!((removed.kept, removed.warnings), (None, Vec::new()));
    assert!(!dir.exists() && names(&world.store.global).is_empty());
}

#[test]
fn moves_aside_whole_directory_without_approval() {
    let world = World::new();
    let dir = extension(&world.store.global.join("dir"), PLAIN, "one");
    let kept = world.store.remove(&world.row()).unwrap().kept.unwrap();
    assert!(!dir.exists());
    assert_eq!(names(&kept.to), ["extension.json", "run"]);
    // A project's extension is in a repository and is deleted directly.
    let project = world.at("project");
    let store = ExtensionStore { project: Some(project.clone()), ..world.store.clone() };
    extension(&project.join("x"), PLAIN, "one");
    let row = store.find("x", None).unwrap();
    assert_eq!(store.remove(&row).unwrap().kept, None);
    assert!(!project.join("x").exists() && !project.join(".removed").exists());
}

#[test]
fn removes_nothing_if_lock_file_cannot_be_changed() {
    let world = World::new();
    let (dir, row) = (world.placed("dir"), world.row());
    fs::write(world.store.approved.lock_file_path(), "{").unwrap();
    world.store.remove(&row).unwrap_err();
    assert_eq!(names(&dir), ["extension.json", "run"]);
    assert!(!world.store.global.join(".removed").exists());
}

/// Replaces a directory of the extension by a link to one of the user's with the same files.
#[cfg(unix)]
fn lead_out(world: &World, dir: &Path) -> PathBuf {
    let outside = world.at("outside");
    fs::create_dir_all(outside.join("lib")).unwrap();
    fs::rename(dir.join("lib/deep"), outside.join("lib/deep")).unwrap();
    fs::remove_dir_all(dir.join("lib")).unwrap();
    std::os::unix::fs::symlink(outside.join("lib"), dir.join("lib")).unwrap();
    outside.join("lib/deep/file")
}

#[cfg(unix)]
fn with_library(dir: &Path) -> PathBuf {
    fs::create_dir_all(dir.join("lib/deep")).unwrap();
    fs::write(dir.join("lib/deep/file"), "precious").unwrap();
    extension(dir, PLAIN, "one")
}

#[test]
#[cfg(unix)]
fn deletes_nothing_through_link_in_placed_directory() {
    let world = World::new();
    let dir = with_library(&world.store.global.join("dir"));
    world.store.propose_in_place(&dir).unwrap().accept(ApprovalMethod::Yes, "1").unwrap();
    let precious = lead_out(&world, &dir);
    let removed = world.store.remove(&world.row()).unwrap();
    assert_eq!(names(&removed.kept.unwrap().to), ["lib"], "the link differs from the approved directory");
    assert_eq!(fs::read_to_string(precious).unwrap(), "precious");
}

#[test]
#[cfg(unix)]
fn deletes_nothing_through_link_in_private_copy() {
    let change: [fn(&World); 3] = [
        |world| drop(world.store.remove(&world.row()).unwrap()),
        |world| {
            fs::remove_dir_all(world.at("source/lib")).unwrap();
            world.install(PLAIN, "two");
        },
        |world| drop(world.back()),
    ];
    for change in change {
        let world = World::new();
        world.install(PLAIN, "zero");
        with_library(&world.at("source"));
        world.install(PLAIN, "one");
        let precious = lead_out(&world, &world.at("home/copies/x"));
        change(&world);
        assert_eq!(fs::read_to_string(precious).unwrap(), "precious");
    }
}

#[test]
#[cfg(unix)]
fn removes_read_only_directory() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new();
    let dir = with_library(&world.store.global.join("dir"));
    world.store.propose_in_place(&dir).unwrap().accept(ApprovalMethod::Yes, "1").unwrap();
    for path in ["lib/deep", "lib", ""] {
        fs::set_permissions(dir.join(path), fs::Permissions::from_mode(0o500)).unwrap();
    }
    let removed = world.store.remove(&world.row()).unwrap();
    assert_eq!((removed.kept, removed.warnings), (None, Vec::new()));
    assert!(!dir.exists() && names(&world.store.global).is_empty());
}

/// The confirmation is valid for the shown version: a version that was approved in the meantime stays with its files.
#[test]
fn does_not_remove_version_approved_in_the_meantime() {
    let world = World::new();
    world.install(PLAIN, "one");
    let shown = world.row();
    let second = world.install(PLAIN, "two").entry;
    let refused = |error| assert!(matches!(error, InstallError::ConcurrentChange { .. }), "{error}");
    refused(world.store.remove(&shown).unwrap_err());
    assert_eq!((world.entry(), world.row().state), (second, InstallStatus::Enabled));
    assert_eq!(names(&world.at("home/copies/x")), ["extension.json", "run"]);
    let shown = world.row();
    // Enabling or disabling does not make another version.
    world.store.set_enabled(&shown, false).unwrap();
    world.store.remove(&shown).unwrap();
    refused(world.store.remove(&shown).unwrap_err());
}

#[test]
fn does_not_remove_placed_version_approved_in_the_meantime() {
    let world = World::new();
    let dir = extension(&world.store.global.join("dir"), PLAIN, "one");
    let shown = world.row();
    let dirs = || (names(&dir), names(&world.store.global));
    let before = dirs();
    for run in ["one", "two"] {
        extension(&dir, PLAIN, run);
        world.store.propose_in_place(&dir).unwrap().accept(ApprovalMethod::Yes, "1").unwrap();
        let error = world.store.remove(&shown).unwrap_err();
        assert!(matches!(error, InstallError::ConcurrentChange { .. }), "{error}");
        assert_eq!((dirs(), world.row().state), (before.clone(), InstallStatus::Enabled));
    }
}

#[test]
fn reports_files_moved_aside_by_interrupted_removal() {
    let world = World::new();
    let dir = world.placed("dir");
    let aside = world.store.global.join(".removed/dir-1");
    fs::create_dir_all(world.store.global.join(".removed/dir-mine")).unwrap();
    fs::rename(&dir, &aside).unwrap();
    let removed = world.store.remove(&world.row()).unwrap();
    one(&removed.warnings, &format!("moved its other files to {}", aside.display()));
    assert_eq!(names(&aside), ["extension.json", "run"]);
    assert!(world.store.approved.load().unwrap().extensions.is_empty());
}
