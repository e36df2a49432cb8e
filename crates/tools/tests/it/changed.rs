//! A file that another process changes between reading and writing.

use std::fs;
use std::path::{Path, PathBuf};

use haft_tools::{ClaimedFile, Environment, HostEnvironment, ParentPolicy};

/// Reads a file, and returns it with its path.
async fn read(dir: &Path) -> (Box<dyn ClaimedFile>, PathBuf) {
    let path = dir.canonicalize().unwrap().join("file");
    let environment = HostEnvironment::new(dir).with_backup_dir(dir.join("state"));
    let mut file = environment.claim(&path, ParentPolicy::Exist).await.unwrap();
    assert_eq!(file.read(100).await.unwrap(), Some(b"old".to_vec()));
    (file, path)
}

#[tokio::test]
async fn does_not_recreate_deleted_file() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), "old").unwrap();
    let (mut file, path) = read(dir.path()).await;
    fs::remove_file(&path).unwrap();
    let refused = file.replace(b"new".to_vec()).await.unwrap_err().to_string();
    assert!(refused.ends_with("has changed since it was read; read it again"), "{refused}");
    assert!(!path.exists());
    // After a read that found no file, the file may be created.
    assert_eq!(file.read(100).await.unwrap(), None);
    file.replace(b"new".to_vec()).await.unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
}

/// Overwriting in place waits for other processes that do the same; an editor does not wait.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn keeps_save_made_while_overwrite_waits_for_backup() {
    let saves: [fn(&Path); 2] = [
        |path| fs::write(path, "of the editor").unwrap(),
        |path| {
            fs::write(path.with_extension("new"), "of the editor").unwrap();
            fs::rename(path.with_extension("new"), path).unwrap();
        },
    ];
    for save in saves {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), "old").unwrap();
        fs::hard_link(dir.path().join("file"), dir.path().join("other")).unwrap();
        let (mut file, path) = read(dir.path()).await;
        let lock = other_process(&dir.path().join("state"));
        let writing = tokio::spawn(async move { file.replace(b"new".to_vec()).await });
        until_waiting(&lock).await;
        save(&path);
        drop(lock);
        let refused = writing.await.unwrap().unwrap_err().to_string();
        assert!(refused.ends_with("has changed since it was read; read it again"), "{refused}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "of the editor");
        assert_eq!(fs::read_dir(dir.path().join("state")).unwrap().count(), 1, "only the lock file is left");
    }
}

/// Takes the lock of the backup directory, like a process that overwrites a file.
#[cfg(target_os = "linux")]
fn other_process(state: &Path) -> fs::File {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().mode(0o700).create(state).unwrap();
    let lock = fs::File::create(state.join("lock")).unwrap();
    lock.lock().unwrap();
    lock
}

/// Waits until a process waits for the lock, according to the system.
#[cfg(target_os = "linux")]
async fn until_waiting(lock: &fs::File) {
    use std::os::unix::fs::MetadataExt;
    let inode = format!(":{} ", lock.metadata().unwrap().ino());
    let waits = || {
        let locks = fs::read_to_string("/proc/locks").unwrap();
        locks.lines().any(|line| line.contains("->") && line.contains(&inode))
    };
    let waiting = async {
        while !waits() {
            // sleep: looks again
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(crate::ground::PATIENCE, waiting).await.expect("no process waits for the lock");
}
