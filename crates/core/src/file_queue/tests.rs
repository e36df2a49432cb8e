//! One file under many names: no change is lost, and the order is kept.

use std::fs;
use std::path::{Path, PathBuf};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};

use tokio::time::Instant;

use super::{FileQueue, LockOwner};
use crate::timeouts;

/// A temporary directory that is removed at the end.
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

/// Increments the number in the file, yielding to every other task in between.
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
async fn serializes_changes_of_a_new_file() {
    let dir = Scratch::new("new");
    let file = dir.path("n");
    count_to_64(&file, &[file.clone(), dir.path("./n")], false).await;
}

#[cfg(unix)]
#[tokio::test]
async fn symbolic_links_share_the_queue_after_replacement() {
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

/// Calls are served in the order in which they started, whatever name they use and however long the disk takes.
#[cfg(unix)]
#[tokio::test]
async fn calls_are_served_in_order_under_every_name() {
    let dir = Scratch::new("order");
    let file = dir.path("n");
    fs::write(&file, "").unwrap();
    std::os::unix::fs::symlink(&file, dir.path("link")).unwrap();
    fs::hard_link(&file, dir.path("other")).unwrap();
    let names = [file, dir.path("link"), dir.path("other")];
    let queue = FileQueue::default();
    let held = queue.lock(&names[0]).await.unwrap();
    let order = Arc::new(Mutex::new(Vec::new()));
    let tasks: Vec<_> = (0..24)
        .map(|n| (n, queue.take_ticket(), names[n % names.len()].clone(), Arc::clone(&order)))
        .map(|(n, place, path, order)| {
            tokio::spawn(async move {
                let _guard = place.lock(&path).await.unwrap();
                order.lock().unwrap().push(n);
            })
        })
        .collect();
    drop(held);
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(*order.lock().unwrap(), (0..24).collect::<Vec<_>>());
}

/// True if the task still waits when no other task can run; the paused clock advances only then.
async fn waits<T>(somebody: Pin<&mut impl Future<Output = T>>) -> bool {
    tokio::time::timeout(timeouts::UNNAMED_FILE * 2, somebody).await.is_err()
}

#[tokio::test(start_paused = true)]
async fn names_that_differ_in_case_share_the_queue() {
    let dir = Scratch::new("case");
    count_to_64(&dir.path("n"), &[dir.path("n")], false).await;
    let queue = FileQueue::default();
    let held = queue.lock(&dir.path("New")).await.unwrap();
    let path = dir.path("nEW");
    let mut waiting = pin!(queue.lock(&path));
    assert!(waits(waiting.as_mut()).await, "two have the file");
    drop(held);
    let guard = waiting.await.unwrap();
    assert_eq!(guard.path(), path);
}

/// Both tasks lock both files in opposite order. The first ticket never names its file, as if its disk were gone.
#[tokio::test(start_paused = true)]
async fn does_not_wait_forever_for_an_unnamed_file() {
    let dir = Scratch::new("silent");
    let queue = FileQueue::default();
    let silent = queue.take_ticket();
    let path = dir.path("a");
    let begun = Instant::now();
    let second = tokio::time::timeout(timeouts::UNNAMED_FILE * 2, queue.lock(&path)).await;
    let guard = second.expect("it is not waited for for ever").unwrap();
    assert_eq!(begun.elapsed(), timeouts::UNNAMED_FILE, "it is waited for at first");
    // The late ticket has lost its place, but the file still has only one holder.
    let mut late = pin!(silent.lock(&path));
    assert!(waits(late.as_mut()).await, "two have the file");
    drop(guard);
    drop(late.await.unwrap());
}

#[tokio::test]
async fn other_files_do_not_wait_and_claims_are_removed() {
    let dir = Scratch::new("others");
    let queue = FileQueue::default();
    let first = queue.lock(&dir.path("a")).await.unwrap();
    let second = queue.lock(&dir.path("b")).await.unwrap();
    drop((first, second));
    drop(queue.take_ticket());
    assert!(queue.lock(&dir.path("missing/x")).await.is_err());
    assert!(queue.line.lock_claims().is_empty());
}

#[tokio::test(start_paused = true)]
async fn long_lock_is_passed_only_by_changes_of_its_owner() {
    let dir = Scratch::new("long");
    let (path, queue) = (dir.path("a"), FileQueue::default());
    let owned = queue.for_owner(LockOwner::new());
    let held = owned.lock_for_long(&path).await.unwrap();
    let other = queue.for_owner(LockOwner::new());
    let mut of_haft = pin!(queue.lock(&path));
    assert!(waits(of_haft.as_mut()).await, "a change passed the lock");
    let mut of_other = pin!(other.lock_for_long(&path));
    assert!(waits(of_other.as_mut()).await, "two have the lock");
    // The owner's change does not wait for those that wait for the owner.
    let change = owned.lock(&path).await.unwrap();
    let mut second = pin!(owned.lock(&path));
    assert!(waits(second.as_mut()).await, "two changes of the owner run at once");
    drop(held);
    assert!(waits(of_haft.as_mut()).await, "a change of the owner still runs");
    drop(change);
    // Without the lock, the change is the last in the order again.
    drop(of_haft.await.unwrap());
    assert!(waits(second.as_mut()).await, "the change overtook the other lock");
    drop(of_other.await.unwrap());
    drop(second.await.unwrap());
    assert!(queue.line.lock_claims().is_empty());
}

#[tokio::test(start_paused = true)]
async fn owner_cannot_lock_a_file_twice() {
    let dir = Scratch::new("twice");
    let owned = FileQueue::default().for_owner(LockOwner::new());
    let held = owned.lock_for_long(&dir.path("a")).await.unwrap();
    let path = dir.path("a");
    let mut again = pin!(owned.lock_for_long(&path));
    assert!(waits(again.as_mut()).await, "the owner has the lock twice");
    drop(held);
    drop(again.await.unwrap());
}
