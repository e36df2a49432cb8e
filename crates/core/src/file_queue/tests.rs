//! One file under many names: no change is lost, and the order is kept.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::FileQueue;

/// A directory of its own, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("haft-file-queue-{name}-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        Self(dir.canonicalize().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

/// Adds one to the number in the file, giving every other task the chance to come between.
async fn increment(queue: FileQueue, path: PathBuf, in_place: bool) {
    let guard = queue.lock(&path).await.unwrap();
    let number: u32 = fs::read_to_string(guard.path()).unwrap_or_default().trim().parse().unwrap_or(0);
    tokio::task::yield_now().await;
    let text = (number + 1).to_string();
    if in_place {
        fs::write(guard.path(), text).unwrap();
    } else {
        let next = guard.path().with_extension("next");
        fs::write(&next, text).unwrap();
        fs::rename(&next, guard.path()).unwrap();
    }
}

async fn count_to_64(file: &Path, names: &[PathBuf], in_place: bool) {
    let queue = FileQueue::default();
    let tasks: Vec<_> = (0..64)
        .map(|n| tokio::spawn(increment(queue.clone(), names[n % names.len()].clone(), in_place)))
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(fs::read_to_string(file).unwrap(), "64");
}

#[tokio::test]
async fn sixty_four_changes_of_a_file_that_does_not_exist_yet() {
    let dir = Scratch::new("new");
    let file = dir.path("n");
    count_to_64(&file, &[file.clone(), dir.path("./n")], false).await;
}

#[cfg(unix)]
#[tokio::test]
async fn symbolic_links_share_the_queue_although_the_file_is_replaced() {
    let dir = Scratch::new("symlink");
    let file = dir.path("n");
    fs::write(&file, "0").unwrap();
    std::os::unix::fs::symlink(&file, dir.path("link")).unwrap();
    std::os::unix::fs::symlink(&dir.0, dir.path("dir")).unwrap();
    count_to_64(&file, &[file.clone(), dir.path("link"), dir.path("dir/n")], false).await;
    assert!(dir.path("link").is_symlink());
}

#[cfg(unix)]
#[tokio::test]
async fn hard_links_share_the_queue() {
    let dir = Scratch::new("hardlink");
    let file = dir.path("n");
    fs::write(&file, "0").unwrap();
    fs::hard_link(&file, dir.path("other")).unwrap();
    count_to_64(&file, &[file.clone(), dir.path("other")], true).await;
}

#[tokio::test]
async fn first_come_first_served() {
    let dir = Scratch::new("order");
    let file = dir.path("n");
    let queue = FileQueue::default();
    let order = Arc::new(Mutex::new(Vec::new()));
    let held = queue.lock(&file).await.unwrap();
    let mut tasks = Vec::new();
    for n in 0..8 {
        let (queue, file, order) = (queue.clone(), file.clone(), Arc::clone(&order));
        let path = held.path().to_owned();
        let waiting = Arc::strong_count(&queue_lock(&queue, &path));
        let after = queue.clone();
        tasks.push(tokio::spawn(async move {
            let guard = queue.lock(&file).await.unwrap();
            order.lock().unwrap().push(n);
            fs::write(guard.path(), n.to_string()).unwrap();
        }));
        // The next one comes only when this one stands in line.
        while Arc::strong_count(&queue_lock(&after, &path)) <= waiting {
            tokio::task::yield_now().await;
        }
    }
    drop(held);
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3, 4, 5, 6, 7]);
}

/// The lock of a path; its count grows with every task in line.
fn queue_lock(queue: &FileQueue, path: &Path) -> Arc<tokio::sync::Mutex<()>> {
    let locks = queue.locks.lock().unwrap();
    locks.get(&super::Key::Path(path.to_owned())).unwrap().upgrade().unwrap()
}

#[tokio::test]
async fn other_files_do_not_wait_and_nothing_is_kept() {
    let dir = Scratch::new("others");
    let queue = FileQueue::default();
    let first = queue.lock(&dir.path("a")).await.unwrap();
    let second = queue.lock(&dir.path("b")).await.unwrap();
    drop((first, second));
    drop(queue.lock(&dir.path("c")).await.unwrap());
    assert_eq!(queue.locks.lock().unwrap().len(), 1);
    assert!(queue.lock(&dir.path("missing/x")).await.is_err());
}
