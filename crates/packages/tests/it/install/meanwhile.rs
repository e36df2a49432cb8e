//! Changes while the user is asked, and rollback past versions that cannot be used.

use haft_packages::install::lock::{ApprovalMethod, InstallOrigin, LockEntry};
use haft_packages::install::{InstallError, InstallProposal, check_approved};

use super::{HELLO, World};

fn version(world: &World, version: &str) -> InstallProposal {
    let manifest = format!(r#"{{"name":"hello","version":"{version}","exec":"./run","permissions":{{}}}}"#);
    world.propose(&world.source("src", &manifest)).unwrap()
}

fn entry(world: &World) -> LockEntry {
    world.row("hello").entry.unwrap()
}

/// Changes the stored code of this entry.
fn tamper(world: &World, entry: &LockEntry) {
    let file = world.store.approved.tree_store().tree_path(&entry.tree).join("run");
    #[cfg(unix)]
    for path in [file.parent().unwrap(), &file] {
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    std::fs::write(file, "#!/bin/sh\nevil\n").unwrap();
}

#[test]
fn open_proposal_blocks_no_other_change() {
    let world = World::new();
    let other = world.source("other", r#"{"name":"other","exec":"./run"}"#);
    world.install(&other);
    let asked = version(&world, "1");
    assert!(world.store.set_enabled(&world.row("other"), false).unwrap());
    world.store.remove(&world.row("other")).unwrap();
    let too = world.propose(&other).unwrap();
    too.accept(ApprovalMethod::Terminal, "1").unwrap();
    let accepted = asked.accept(ApprovalMethod::Terminal, "1").unwrap();
    assert_eq!((accepted.name.as_str(), world.stored()), ("hello", (2, 0)));
    assert!(check_approved(&world.store.approved, &accepted.entry).is_empty());
}

#[test]
fn approval_is_valid_only_for_shown_state() {
    let world = World::new();
    let (first, second) = (version(&world, "1"), version(&world, "2"));
    first.accept(ApprovalMethod::Terminal, "1").unwrap();
    let before = entry(&world);
    let error = second.accept(ApprovalMethod::Terminal, "1").unwrap_err();
    assert!(matches!(error, InstallError::ConcurrentChange { .. }), "{error}");
    assert_eq!((entry(&world), world.stored()), (before, (1, 0)));

    let third = version(&world, "3");
    world.store.remove(&world.row("hello")).unwrap();
    assert!(matches!(
        third.accept(ApprovalMethod::Terminal, "1"),
        Err(InstallError::ConcurrentChange { .. })
    ));
    assert_eq!(world.stored(), (0, 0), "the removed extension does not come back");
}

#[test]
fn enabling_in_the_meantime_keeps_the_version() {
    let world = World::new();
    version(&world, "1").accept(ApprovalMethod::Terminal, "1").unwrap();
    let second = version(&world, "2");
    world.store.set_enabled(&world.row("hello"), false).unwrap();
    assert!(!second.accept(ApprovalMethod::Terminal, "1").unwrap().entry.enabled);
}

#[test]
fn declining_superseded_proposal_disables_nothing() {
    let world = World::new();
    version(&world, "1").accept(ApprovalMethod::Terminal, "1").unwrap();
    let more = r#"{"name":"hello","exec":"./run","permissions":{"net":"all"}}"#;
    let asks = |world: &World| world.propose(&world.source("more", more)).unwrap();
    let (declined, accepted) = (asks(&world), asks(&world));
    accepted.accept(ApprovalMethod::Terminal, "1").unwrap();
    assert!(!declined.decline().unwrap());
    assert!(entry(&world).enabled && entry(&world).waiting.is_none());
}

#[test]
fn rollback_skips_changed_versions() {
    let world = World::new();
    let versions = ["1", "2", "3"]
        .map(|text| version(&world, text).accept(ApprovalMethod::Terminal, "1").unwrap().entry);
    tamper(&world, &versions[1]);
    let row = world.row("hello");
    let older = world.store.find_rollback_target(&row).unwrap();
    assert_eq!((older.entry.tree, older.unusable_versions.len()), (versions[0].tree, 1));
    assert_eq!(older.unusable_versions[0].entry.tree, versions[1].tree);
    assert!(
        older.unusable_versions[0].why.ends_with("differs from the approved code"),
        "{}",
        older.unusable_versions[0].why
    );
    world.store.roll_back(&row, &older).unwrap();
    let trees = |entry: &LockEntry| entry.previous.iter().map(|older| older.tree).collect::<Vec<_>>();
    let now = entry(&world);
    assert_eq!((now.tree, trees(&now)), (versions[0].tree, vec![versions[2].tree, versions[1].tree]));

    let error = world.store.roll_back(&row, &older).unwrap_err();
    assert!(matches!(error, InstallError::ConcurrentChange { .. }), "{error}");
    tamper(&world, &versions[2]);
    let error = world.store.find_rollback_target(&world.row("hello")).unwrap_err().to_string();
    assert!(error.contains("cannot roll back hello: "), "{error}");
    assert_eq!(error.matches("differs from the approved code").count(), 2, "{error}");
    assert_eq!(entry(&world), now);
}

#[test]
fn changed_code_in_store_is_approved_again() {
    let world = World::new();
    let source = world.source("src", HELLO);
    let first = world.install(&source);
    tamper(&world, &first.entry);
    let again = world.propose(&source).unwrap();
    assert!(!again.is_approved());
    again.accept(ApprovalMethod::Terminal, "1").unwrap();
    assert!(check_approved(&world.store.approved, &entry(&world)).is_empty());
}

#[test]
fn does_not_record_origin_after_another_approval() {
    let world = World::new();
    let source = world.source("src", HELLO);
    world.install(&source);
    let same = world.propose(&source).unwrap();
    assert!(same.is_approved());
    world.store.remove(&world.row("hello")).unwrap();
    let other = world.source("elsewhere", HELLO);
    world.install(&other);
    let error = same.record_origin().unwrap_err();
    assert!(matches!(error, InstallError::ConcurrentChange { .. }), "{error}");
    assert_eq!(entry(&world).source, InstallOrigin::Directory { path: other });
}
