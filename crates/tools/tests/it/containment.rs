//! A file is written where it was resolved, and never outside of the root.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use haft_tools::{ClaimedFile, Environment, FileWriteOutcome, HostEnvironment, ParentPolicy};
use serde_json::json;

use crate::ground::Ground;

/// `in/dir`, and `out` beside it, which links lead to.
struct LinkedDirectories {
    dir: tempfile::TempDir,
}

impl LinkedDirectories {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("in/dir")).unwrap();
        fs::create_dir(dir.path().join("out")).unwrap();
        fs::write(dir.path().join("in/dir/file"), "ours").unwrap();
        fs::write(dir.path().join("out/file"), "theirs").unwrap();
        Self { dir }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    async fn claim(&self, environment: HostEnvironment, name: &str) -> Box<dyn ClaimedFile> {
        environment
            .with_backup_dir(self.path("state"))
            .claim(&self.path(name), ParentPolicy::Exist)
            .await
            .unwrap()
    }

    /// Replaces `in/dir`.
    fn swap(&self, other: impl FnOnce(&Path)) {
        fs::rename(self.path("in/dir"), self.path("in/moved")).unwrap();
        other(&self.path("in/dir"));
    }

    fn assert_untouched(&self) {
        assert_eq!(names(&self.path("out")), ["file"]);
        assert_eq!(fs::read_to_string(self.path("out/file")).unwrap(), "theirs");
        assert_eq!(names(&self.path("in/moved")), ["file"]);
        assert_eq!(fs::read_to_string(self.path("in/moved/file")).unwrap(), "ours");
    }
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Links are followed when the file is resolved, not afterwards.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn does_not_follow_directory_that_becomes_a_link() {
    for rooted in [false, true] {
        for name in ["in/dir/file", "in/dir/new"] {
            let place = LinkedDirectories::new();
            let mut environment = HostEnvironment::new(place.path("in"));
            if rooted {
                environment = environment.with_root(place.path("in")).unwrap();
            }
            let mut file = place.claim(environment, name).await;
            file.read(100).await.unwrap();
            place.swap(|dir| symlink(place.path("out"), dir).unwrap());
            let refused = file.replace(b"new".to_vec()).await.unwrap_err().to_string();
            assert!(
                refused.ends_with("was moved or replaced in the meantime; try again"),
                "{name}: {refused}"
            );
            assert!(file.read(100).await.is_err());
            place.assert_untouched();
        }
    }
}

/// Another directory takes the name. It does not contain the file that was read.
#[tokio::test]
async fn does_not_write_into_replaced_directory() {
    let place = LinkedDirectories::new();
    let mut file = place.claim(HostEnvironment::new(place.path("in")), "in/dir/file").await;
    file.read(100).await.unwrap();
    place.swap(|dir| {
        fs::create_dir(dir).unwrap();
        fs::write(dir.join("file"), "another").unwrap();
    });
    let refused = file.replace(b"new".to_vec()).await.unwrap_err().to_string();
    assert!(refused.ends_with("has changed since it was read; read it again"), "{refused}");
    assert_eq!(fs::read_to_string(place.path("in/dir/file")).unwrap(), "another");
    place.assert_untouched();
}

/// Another directory takes the name of the root itself.
#[tokio::test]
async fn does_not_write_into_moved_root() {
    let place = LinkedDirectories::new();
    let environment = HostEnvironment::new(place.path("in")).with_root(place.path("in")).unwrap();
    fs::rename(place.path("in"), place.path("before")).unwrap();
    fs::create_dir_all(place.path("in/dir")).unwrap();
    let mut file = place.claim(environment, "in/dir/new").await;
    file.read(100).await.unwrap();
    let refused = file.replace(b"new".to_vec()).await.unwrap_err().to_string();
    assert!(refused.ends_with("was moved or replaced in the meantime; try again"), "{refused}");
    assert!(names(&place.path("in/dir")).is_empty() && names(&place.path("before/dir")) == ["file"]);
}

/// Creates tools that may write only in `place`.
fn rooted() -> Ground {
    let ground = Ground::with(|environment| {
        let root = environment.cwd().to_owned();
        environment.with_root(root).unwrap()
    });
    fs::create_dir(ground.base().join("outside")).unwrap();
    fs::write(ground.base().join("outside/file"), "theirs").unwrap();
    ground
}

#[tokio::test]
async fn writes_normally_inside_root() {
    let ground = rooted();
    ground.ok("write", json!({"path": "a/b/c", "content": "one"})).await;
    symlink("a", ground.path("link")).unwrap();
    ground.ok("write", json!({"path": "link/b/c", "content": "two"})).await;
    assert_eq!(ground.content("a/b/c"), "two");
    ground.ok("write", json!({"path": "new/../b", "content": "three"})).await;
    assert_eq!(ground.content("b"), "three");
    let path = ground.path("a/d").display().to_string();
    ground.ok("write", json!({"path": path, "content": "four"})).await;
    assert_eq!(ground.content("a/d"), "four");
    ground.assert_no_leftovers();
}

#[tokio::test]
async fn reads_but_does_not_write_outside_root() {
    let ground = rooted();
    symlink("../outside", ground.path("link")).unwrap();
    symlink("../outside/file", ground.path("alias")).unwrap();
    for path in ["link/file", "alias", "../outside/file"] {
        assert_eq!(ground.ok("read", json!({"path": path})).await, "theirs");
    }
    let outside = ground.base().join("outside").display().to_string();
    let absolute = format!("{outside}/new");
    let paths = [
        "link/file",
        "alias",
        "../outside/file",
        "link/new",
        "link/a/b",
        "../outside/a/b",
        "../new",
        &absolute,
    ];
    for path in paths {
        let text = ground.error("write", json!({"path": path, "content": "ours"})).await;
        assert!(
            text.ends_with("is outside of BASE/place, and only files in there can be written"),
            "{path}: {text}"
        );
    }
    assert_eq!(names(&ground.base().join("outside")), ["file"]);
    assert_eq!(fs::read_to_string(ground.base().join("outside/file")).unwrap(), "theirs");
    assert!(!ground.base().join("new").exists());
}

/// Another name of the file may be outside and would be overwritten, too.
#[tokio::test]
async fn does_not_write_hard_link_in_root() {
    let ground = rooted();
    fs::hard_link(ground.base().join("outside/file"), ground.path("hard")).unwrap();
    ground.ok("read", json!({"path": "hard"})).await;
    let text = ground.error("write", json!({"path": "hard", "content": "ours"})).await;
    assert_eq!(text, "BASE/place/hard: has hard links, which may be outside of the writable directories");
    assert_eq!(ground.content("hard"), "theirs");
}

#[tokio::test]
async fn root_must_be_a_directory() {
    let place = LinkedDirectories::new();
    for name in ["nothing", "in/dir/file"] {
        assert!(HostEnvironment::new(place.path("in")).with_root(place.path(name)).is_err(), "{name}");
    }
}

/// Missing parents are created, whatever the form of the path.
#[tokio::test]
async fn creates_nested_directories() {
    let place = LinkedDirectories::new();
    let environment = HostEnvironment::new(place.path("in")).with_backup_dir(place.path("state"));
    for name in ["in/a/b/c/file", "in/x/../y/file", "in/dir/file", "in/dir/../z/./file"] {
        let mut file = environment.claim(&place.path(name), ParentPolicy::Create).await.unwrap();
        file.read(100).await.unwrap();
        file.replace(Vec::new()).await.unwrap();
    }
    assert_eq!(names(&place.path("in")), ["a", "dir", "x", "y", "z"]);
    symlink("nowhere", place.path("in/dangling")).unwrap();
    let dangling = environment.claim(&place.path("in/dangling/file"), ParentPolicy::Create).await;
    let text = dangling.err().unwrap().to_string();
    assert!(text.starts_with("cannot create the directory ") && text.contains("File exists"), "{text}");
    let FileWriteOutcome::Created = environment
        .claim(&place.path("in/w/f"), ParentPolicy::Create)
        .await
        .unwrap()
        .replace(vec![])
        .await
        .unwrap()
    else {
        panic!("it was not there");
    };
}
