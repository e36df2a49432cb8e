//! Removing: what goes, what stays, and what is refused.

use std::fs;
use std::path::{Path, PathBuf};

use haft_packages::install::lock::ApprovalMethod;
use haft_packages::install::{ExtensionStore, InstallError, InstallStatus};

use super::{PLAIN, World, extension, names, one};

#[test]
fn removing_deletes_what_was_approved_and_nothing_else() {
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
fn removing_what_is_as_it_was_approved_leaves_nothing() {
    let world = World::new();
    let dir = world.placed("dir");
    let removed = world.store.remove(&world.row()).unwrap();
    assert_eq!((removed.kept, removed.warnings), (None, Vec::new()));
    assert!(!dir.exists() && names(&world.store.global).is_empty());
}

#[test]
fn what_nobody_approved_is_moved_aside_whole() {
    let world = World::new();
    let dir = extension(&world.store.global.join("dir"), PLAIN, "one");
    let kept = world.store.remove(&world.row()).unwrap().kept.unwrap();
    assert!(!dir.exists());
    assert_eq!(names(&kept.to), ["extension.json", "run"]);
    // A project's own lies in a repository, and is deleted as it always was.
    let project = world.at("project");
    let store = ExtensionStore { project: Some(project.clone()), ..world.store.clone() };
    extension(&project.join("x"), PLAIN, "one");
    let row = store.find("x", None).unwrap();
    assert_eq!(store.remove(&row).unwrap().kept, None);
    assert!(!project.join("x").exists() && !project.join(".removed").exists());
}

#[test]
fn without_a_lock_file_that_can_be_changed_nothing_is_removed() {
    let world = World::new();
    let (dir, row) = (world.placed("dir"), world.row());
    fs::write(world.store.approved.lock_file_path(), "{").unwrap();
    world.store.remove(&row).unwrap_err();
    assert_eq!(names(&dir), ["extension.json", "run"]);
    assert!(!world.store.global.join(".removed").exists());
}

/// In the place of a directory of an extension's lies a link to one of the user's, with the same files in it.
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
fn nothing_is_deleted_through_a_link_in_a_placed_directory() {
    let world = World::new();
    let dir = with_library(&world.store.global.join("dir"));
    world.store.propose_in_place(&dir).unwrap().accept(ApprovalMethod::Yes, "1").unwrap();
    let precious = lead_out(&world, &dir);
    let removed = world.store.remove(&world.row()).unwrap();
    assert_eq!(names(&removed.kept.unwrap().to), ["lib"], "the link is not what was approved");
    assert_eq!(fs::read_to_string(precious).unwrap(), "precious");
}

#[test]
#[cfg(unix)]
fn nothing_is_deleted_through_a_link_in_a_private_copy() {
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
fn a_directory_that_nobody_may_write_to_is_removed_whole() {
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

/// A yes is for what was shown: what is approved by the time of the answer stays, with all its files.
#[test]
fn what_was_approved_meanwhile_is_not_removed() {
    let world = World::new();
    world.install(PLAIN, "one");
    let shown = world.row();
    let second = world.install(PLAIN, "two").entry;
    let refused = |error| assert!(matches!(error, InstallError::Meanwhile { .. }), "{error}");
    refused(world.store.remove(&shown).unwrap_err());
    assert_eq!((world.entry(), world.row().state), (second, InstallStatus::Enabled));
    assert_eq!(names(&world.at("home/copies/x")), ["extension.json", "run"]);
    let shown = world.row();
    // What a person switches meanwhile is no other version.
    world.store.set_enabled(&shown, false).unwrap();
    world.store.remove(&shown).unwrap();
    refused(world.store.remove(&shown).unwrap_err());
}

#[test]
fn what_was_approved_where_it_lies_meanwhile_is_not_removed() {
    let world = World::new();
    let dir = extension(&world.store.global.join("dir"), PLAIN, "one");
    let shown = world.row();
    let dirs = || (names(&dir), names(&world.store.global));
    let before = dirs();
    for run in ["one", "two"] {
        extension(&dir, PLAIN, run);
        world.store.propose_in_place(&dir).unwrap().accept(ApprovalMethod::Yes, "1").unwrap();
        let error = world.store.remove(&shown).unwrap_err();
        assert!(matches!(error, InstallError::Meanwhile { .. }), "{error}");
        assert_eq!((dirs(), world.row().state), (before.clone(), InstallStatus::Enabled));
    }
}

#[test]
fn what_an_interrupted_removal_moved_aside_is_told() {
    let world = World::new();
    let dir = world.placed("dir");
    let aside = world.store.global.join(".removed/dir-1");
    fs::create_dir_all(world.store.global.join(".removed/dir-mine")).unwrap();
    fs::rename(&dir, &aside).unwrap();
    let removed = world.store.remove(&world.row()).unwrap();
    one(&removed.warnings, &format!("is in {}", aside.display()));
    assert_eq!(names(&aside), ["extension.json", "run"]);
    assert!(world.store.approved.load().unwrap().extensions.is_empty());
}
