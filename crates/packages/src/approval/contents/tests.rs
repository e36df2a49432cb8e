//! Tests of the contents of a tree.

use std::fs;

use super::digest::digest_of;
use super::*;

fn tree() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("lib/.git/hooks")).unwrap();
    fs::create_dir(dir.path().join("empty")).unwrap();
    fs::write(dir.path().join("run"), "one").unwrap();
    fs::write(dir.path().join("lib/a"), "two").unwrap();
    dir
}

/// Checks that the change gives the tree a new digest and this difference.
#[track_caller]
fn check(change: impl FnOnce(&Path), expect: &str) {
    let dir = tree();
    let before = TreeContents::read(dir.path()).unwrap();
    change(dir.path());
    let now = TreeContents::read(dir.path()).unwrap();
    assert_eq!(now.digest() == before.digest(), expect.is_empty());
    assert_eq!(now.difference_from(&before).to_string(), expect);
}

#[test]
fn digest_changes_with_content_names_and_directories() {
    check(|_| (), "");
    check(|dir| fs::write(dir.join("run"), "six").unwrap(), "run (changed)");
    check(|dir| fs::rename(dir.join("run"), dir.join("ran")).unwrap(), "ran (added), run (removed)");
    check(|dir| fs::remove_dir(dir.join("empty")).unwrap(), "empty (removed)");
    check(|dir| fs::write(dir.join("lib/.git/hooks/post-checkout"), "x").unwrap(), "");
    // The boundary between two files counts, not only their joined content.
    check(
        |dir| {
            fs::write(dir.join("run"), "onetwo").unwrap();
            fs::write(dir.join("lib/a"), "").unwrap();
        },
        "lib/a (changed), run (changed)",
    );
}

#[test]
#[cfg(unix)]
fn digest_changes_with_modes_and_links() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let mode = |mode: u32| {
        move |dir: &Path| fs::set_permissions(dir.join("run"), fs::Permissions::from_mode(mode)).unwrap()
    };
    check(mode(0o755), "run (changed)");
    check(mode(0o600), "");
    check(|dir| symlink("run", dir.join("link")).unwrap(), "link (added)");
    check(
        |dir| {
            fs::remove_file(dir.join("lib/a")).unwrap();
            // The target of the link has the same content.
            fs::write(dir.join("b"), "two").unwrap();
            symlink("../b", dir.join("lib/a")).unwrap();
        },
        "lib/a (changed), b (added)",
    );
}

#[test]
#[cfg(unix)]
fn rejects_pipe_without_waiting() {
    let dir = tree();
    haft_test_support::create_pipe(&dir.path().join("pipe")).unwrap();
    let error = TreeContents::read(dir.path()).unwrap_err().to_string();
    assert!(error.contains("is not a regular file or a directory"), "{error}");
}

#[test]
fn digest_is_stable_across_versions_and_machines() {
    let contents = TreeContents::read(tree().path()).unwrap();
    assert_eq!((contents.file_count(), contents.bytes()), (2, 6));
    assert_eq!(contents.file_digest(Path::new("run")), Some(digest_of(b"one")));
    insta::assert_snapshot!(
        contents.digest(),
        @"sha256:e39218f7d893c53a677cc23e4f8b6e8e89cc35d49778090dab0ca40d11253ef6"
    );
}
