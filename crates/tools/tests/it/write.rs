//! `write` with real files.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;

use serde_json::json;

use crate::ground::Ground;

#[tokio::test]
async fn creates_with_directories_and_replaces() {
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
async fn permissions_are_kept_and_new_files_get_the_usual_ones() {
    let ground = Ground::new();
    let script = ground.known("run.sh", "old").await;
    // Set-user-id and group write are what a mask or a change of owner would take away.
    fs::set_permissions(&script, fs::Permissions::from_mode(0o4775)).unwrap();
    ground.ok("write", json!({"path": "run.sh", "content": "new"})).await;
    assert_eq!((ground.mode("run.sh"), ground.content("run.sh").as_str()), (0o4775, "new"));
    // The same mode as the system gives to any new file here.
    ground.file("usual", "");
    ground.ok("write", json!({"path": "new", "content": "new"})).await;
    assert_eq!(ground.mode("new"), ground.mode("usual"));
}

#[tokio::test]
async fn a_symbolic_link_stays_and_its_target_is_replaced() {
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
        "a new file takes the place, so no reader sees half of it"
    );
}

#[tokio::test]
async fn a_hard_link_stays_one() {
    let ground = Ground::new();
    let file = ground.known("a", "a longer old text").await;
    fs::hard_link(&file, ground.path("b")).unwrap();
    let text = ground.ok("write", json!({"path": "a", "content": "new"})).await;
    assert!(text.ends_with("; overwritten in place, because it has hard links"), "{text}");
    assert_eq!(ground.content("b"), "new");
    ground.assert_no_leftovers();
}

#[tokio::test]
async fn what_is_not_a_file_is_refused() {
    let ground = Ground::new();
    let check = async |path: &str, expect: &str| {
        assert_eq!(ground.error("write", json!({"path": path, "content": "x"})).await, expect);
    };
    ground.ok("bash", json!({"command": "mkfifo fifo"})).await;
    check("fifo", "BASE/place/fifo: is a pipe, a socket or a device, not a regular file").await;
    let _socket = UnixListener::bind(ground.path("socket")).unwrap();
    check("socket", "BASE/place/socket: is a pipe, a socket or a device, not a regular file").await;
    check("/dev/null", "/dev/null: is a pipe, a socket or a device, not a regular file").await;
    fs::create_dir(ground.path("dir")).unwrap();
    check("dir", "BASE/place/dir: is a directory, not a file").await;
    symlink("nowhere", ground.path("dangling")).unwrap();
    check("dangling", "BASE/place/dangling: is a symbolic link to something that does not exist").await;
    ground.file("file", "");
    for path in ["new/", "@a/new/", "new/.", "new/..", "."] {
        check(path, &format!("{path} names a directory, not a file; add the name of the file")).await;
    }
    check("", "the path is empty").await;
    assert!(!ground.path("new").exists() && !ground.path("a").exists());
    check("file/below", "cannot create the directory BASE/place/file: File exists (os error 17)").await;
    ground.assert_no_leftovers();
}

/// Where even the superuser may not create files.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_directory_that_cannot_be_written_is_named() {
    let text = Ground::new().error("write", json!({"path": "/sys/haft", "content": "x"})).await;
    assert!(text.starts_with("cannot create a file in the directory /sys: "), "{text}");
    assert!(text.contains("os error") && !text.contains(".tmp"), "{text}");
}

/// An access list is kept in an attribute too: user 1 may read.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn attributes_and_access_lists_are_kept() {
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

/// The next write in the same directory by another run takes away what is nobody's.
#[tokio::test]
async fn what_an_interrupted_write_left_is_removed() {
    let ground = Ground::new();
    let left = ground.file("dir/.a.haft-0123456789abcdef", "half");
    let busy = ground.file("dir/.b.haft-0123456789abcdef", "half");
    let other = ground.file("dir/.c.haft-0123456789abcdeX", "of the user");
    let writer = fs::File::open(&busy).unwrap();
    writer.lock().unwrap();
    ground.ok("write", json!({"path": "dir/new", "content": "new"})).await;
    assert!(!left.exists() && busy.exists() && other.exists());
}

/// As root it can, and then nothing is done in place.
#[tokio::test]
async fn where_no_file_can_be_created_the_old_one_is_overwritten() {
    let ground = Ground::new();
    ground.known("dir/a", "old").await;
    fs::set_permissions(ground.path("dir"), fs::Permissions::from_mode(0o555)).unwrap();
    let text = ground.ok("write", json!({"path": "dir/a", "content": "new"})).await;
    assert_eq!(text.contains("in place"), !rustix::process::geteuid().is_root(), "{text}");
    assert_eq!(ground.content("dir/a"), "new");
    fs::set_permissions(ground.path("dir"), fs::Permissions::from_mode(0o755)).unwrap();
}
