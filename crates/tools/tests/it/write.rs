//! `write` with real files.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;

use serde_json::json;

use crate::ground::Ground;

#[tokio::test]
async fn creates_file_with_directories_and_replaces_content() {
    let ground = Ground::new();
    let text = ground.ok("write", json!({"path": "@a/b/c.txt", "content": "one\ntwo\n"})).await;
    assert_eq!(text, "created a/b/c.txt (2 lines, 8 bytes)");
    assert_eq!(ground.content("a/b/c.txt"), "one\ntwo\n");
    let text = ground.ok("write", json!({"path": "a/b/c.txt", "content": "x"})).await;
    assert_eq!(text, "replaced the content of a/b/c.txt (1 line, 1 byte)");
    assert_eq!(ground.content("a/b/c.txt"), "x");
    ground.assert_no_leftovers();
}

#[tokio::test]
async fn keeps_permissions_and_gives_new_files_default_ones() {
    let ground = Ground::new();
    let script = ground.known("run.sh", "old").await;
    // A umask or a change of owner would remove set-user-id and group write.
    fs::set_permissions(&script, fs::Permissions::from_mode(0o4775)).unwrap();
    ground.ok("write", json!({"path": "run.sh", "content": "new"})).await;
    assert_eq!((ground.mode("run.sh"), ground.content("run.sh").as_str()), (0o4775, "new"));
    // The same mode as the system gives to any new file here.
    ground.file("usual", "");
    ground.ok("write", json!({"path": "new", "content": "new"})).await;
    assert_eq!(ground.mode("new"), ground.mode("usual"));
}

#[tokio::test]
async fn keeps_symbolic_link_and_replaces_its_target() {
    let ground = Ground::new();
    let target = ground.known("dir/target", "old").await;
    symlink("dir/target", ground.path("link")).unwrap();
    let inode = fs::metadata(&target).unwrap().ino();
    ground.ok("write", json!({"path": "link", "content": "new"})).await;
    assert!(ground.path("link").is_symlink());
    assert_eq!(ground.content("dir/target"), "new");
    assert_ne!(
        fs::metadata(&target).unwrap().ino(),
        inode,
        "a new file replaces the old one, so readers never see a part of it"
    );
}

#[tokio::test]
async fn keeps_hard_link() {
    let ground = Ground::new();
    let file = ground.known("a", "a longer old text").await;
    fs::hard_link(&file, ground.path("b")).unwrap();
    let text = ground.ok("write", json!({"path": "a", "content": "new"})).await;
    assert!(text.ends_with("; overwritten in place, because it has hard links"), "{text}");
    assert_eq!(ground.content("b"), "new");
    ground.assert_no_leftovers();
}

#[tokio::test]
async fn rejects_paths_that_are_not_files() {
    let ground = Ground::new();
    let check = async |path: &str, expect: &str| {
        assert_eq!(ground.error("write", json!({"path": path, "content": "x"})).await, expect);
    };
    ground.ok("bash", json!({"command": "mkfifo fifo"})).await;
    check("fifo", "BASE/place/fifo: is not a regular file but a pipe, socket or device").await;
    let _socket = UnixListener::bind(ground.path("socket")).unwrap();
    check("socket", "BASE/place/socket: is not a regular file but a pipe, socket or device").await;
    check("/dev/null", "/dev/null: is not a regular file but a pipe, socket or device").await;
    fs::create_dir(ground.path("dir")).unwrap();
    check("dir", "BASE/place/dir: is a directory, not a file").await;
    symlink("nowhere", ground.path("dangling")).unwrap();
    check("dangling", "BASE/place/dangling: is a symbolic link to a missing file").await;
    ground.file("file", "");
    for path in ["new/", "@a/new/", "new/.", "new/..", "."] {
        check(path, &format!("{path} is a directory, not a file; add the file name")).await;
    }
    check("", "the path is empty").await;
    assert!(!ground.path("new").exists() && !ground.path("a").exists());
    check("file/below", "cannot create the directory BASE/place/file: File exists (os error 17)").await;
    ground.assert_no_leftovers();
}

/// A directory in which even the superuser may not create files.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn names_directory_that_cannot_be_written() {
    let text = Ground::new().error("write", json!({"path": "/sys/haft", "content": "x"})).await;
    assert!(text.starts_with("cannot create a file in the directory /sys: "), "{text}");
    assert!(text.contains("os error") && !text.contains(".tmp"), "{text}");
}

/// An access list is stored in an attribute, too: user 1 may read.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn keeps_attributes_and_access_lists() {
    use rustix::fs::{XattrFlags, getxattr, setxattr};
    let ground = Ground::new();
    let file = ground.known("a", "old").await;
    let entries =
        [(0x01, 6, u32::MAX), (0x02, 4, 1), (0x04, 4, u32::MAX), (0x10, 4, u32::MAX), (0x20, 0, u32::MAX)];
    let mut list = 2_u32.to_le_bytes().to_vec();
    for (tag, rights, id) in entries {
        list.extend([u16::to_le_bytes(tag), u16::to_le_bytes(rights)].concat());
        list.extend(id.to_le_bytes());
    }
    let attributes = [("user.haft", vec![7; 1000]), ("system.posix_acl_access", list)];
    for (name, value) in &attributes {
        setxattr(&file, *name, value, XattrFlags::empty()).unwrap();
    }
    let mode = ground.mode("a");
    assert_eq!(
        ground.ok("write", json!({"path": "a", "content": "new"})).await,
        "replaced the content of a (1 line, 3 bytes)"
    );
    for (name, value) in &attributes {
        let mut found = vec![0; 4096];
        let len = getxattr(&file, *name, &mut found).unwrap();
        assert_eq!(&found[..len], value, "{name}");
    }
    assert_eq!((ground.mode("a"), ground.content("a").as_str()), (mode, "new"));
}

/// The next write of another process in the same directory removes abandoned files.
#[tokio::test]
async fn removes_leftovers_of_interrupted_write() {
    let ground = Ground::new();
    let left = ground.file("dir/.a.haft-0123456789abcdef", "half");
    let busy = ground.file("dir/.b.haft-0123456789abcdef", "half");
    let other = ground.file("dir/.c.haft-0123456789abcdeX", "of the user");
    let writer = fs::File::open(&busy).unwrap();
    writer.lock().unwrap();
    ground.ok("write", json!({"path": "dir/new", "content": "new"})).await;
    assert!(!left.exists() && busy.exists() && other.exists());
}

/// As root a file can be created, and then nothing is overwritten in place.
#[tokio::test]
async fn overwrites_in_place_if_no_file_can_be_created() {
    let ground = Ground::new();
    ground.known("dir/a", "old").await;
    fs::set_permissions(ground.path("dir"), fs::Permissions::from_mode(0o555)).unwrap();
    let text = ground.ok("write", json!({"path": "dir/a", "content": "new"})).await;
    assert_eq!(text.contains("in place"), !rustix::process::geteuid().is_root(), "{text}");
    assert_eq!(ground.content("dir/a"), "new");
    fs::set_permissions(ground.path("dir"), fs::Permissions::from_mode(0o755)).unwrap();
}
