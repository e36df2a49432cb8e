//! What is tested here is in the module above.

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

/// The tree has another digest, and this difference, after something was done to it.
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
fn whatever_counts_changes_the_digest() {
    check(|_| (), "");
    check(|dir| fs::write(dir.join("run"), "six").unwrap(), "run (changed)");
    check(|dir| fs::rename(dir.join("run"), dir.join("ran")).unwrap(), "ran (added), run (removed)");
    check(|dir| fs::remove_dir(dir.join("empty")).unwrap(), "empty (removed)");
    check(|dir| fs::write(dir.join("lib/.git/hooks/post-checkout"), "x").unwrap(), "");
    // What two files hold is not what one holds.
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
fn modes_and_links_count() {
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
            // What it leads to holds the same.
            fs::write(dir.join("b"), "two").unwrap();
            symlink("../b", dir.join("lib/a")).unwrap();
        },
        "lib/a (changed), b (added)",
    );
}

#[test]
#[cfg(unix)]
fn a_pipe_is_refused_and_not_waited_for() {
    let dir = tree();
    rustix::fs::mkfifoat(rustix::fs::CWD, dir.path().join("pipe"), rustix::fs::Mode::RUSR).unwrap();
    let error = TreeContents::read(dir.path()).unwrap_err().to_string();
    assert!(error.contains("neither a file nor a directory"), "{error}");
}

#[test]
fn the_digest_is_that_of_every_version_and_machine() {
    let contents = TreeContents::read(tree().path()).unwrap();
    assert_eq!((contents.file_count(), contents.bytes()), (2, 6));
    assert_eq!(contents.file_digest(Path::new("run")), Some(digest_of(b"one")));
    insta::assert_snapshot!(
        contents.digest(),
        @"sha256:e39218f7d893c53a677cc23e4f8b6e8e89cc35d49778090dab0ca40d11253ef6"
    );
}
