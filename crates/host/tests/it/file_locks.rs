//! Locks of files: exclusive between extensions, and limited in time.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use haft_core::file_queue::FileQueue;
use haft_core::tool::Tool;
use haft_host::{ExtensionToolSource, FileLockError, Host, ServiceReach};
use haft_protocol::ext::HostCallError;
use haft_test_support::FakePeer;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::support::{Events, builder, fault};

/// Services with a queue of changes and no tools.
struct Locks {
    queue: FileQueue,
    dir: PathBuf,
}

impl ExtensionToolSource for Locks {
    fn tools(&self, _reach: &ServiceReach) -> Result<Vec<Arc<dyn Tool>>, String> {
        Ok(Vec::new())
    }

    fn file_to_lock(&self, _reach: &ServiceReach, path: &str) -> Result<(FileQueue, PathBuf), FileLockError> {
        if path == "denied" {
            let text = "not this file".to_owned();
            return Err(FileLockError::new(HostCallError::PermissionDenied, text));
        }
        Ok((self.queue.clone(), self.dir.join(path)))
    }
}

/// Returns a host with two extensions, and the queue of its own changes.
async fn locking(dir: &tempfile::TempDir) -> (Host, [FakePeer; 2], Events, FileQueue) {
    let (events, queue) = (Events::default(), FileQueue::default());
    let (mut one, reader, writer) = FakePeer::pair();
    let locks = Locks { queue: queue.clone(), dir: dir.path().to_owned() };
    let host = builder(&events).services(Arc::new(locks)).streams("one", reader, writer);
    let (mut two, reader, writer) = FakePeer::pair();
    let start = host.streams("two", reader, writer).start();
    let (host, (), ()) = tokio::join!(start, one.greet("one", []), two.greet("two", []));
    (host, [one, two], events, queue)
}

async fn call(peer: &mut FakePeer, id: &str, call: &str, args: Value) {
    peer.send(json!({"type": "host_call", "id": id, "call": call, "args": args})).await;
}

async fn lock(peer: &mut FakePeer, path: &str) -> Value {
    call(peer, "l", "lock_file", json!({ "path": path })).await;
    peer.expect("host_result").await
}

#[tokio::test(start_paused = true)]
async fn lock_is_exclusive_and_ends_with_its_extension() {
    let dir = tempfile::tempdir().unwrap();
    let (host, [mut one, mut two], events, queue) = locking(&dir).await;
    let held = lock(&mut one, "a").await;
    assert_eq!(held["value"], json!({"lease": "lock-1", "lasts_ms": 60_000}));
    assert_eq!(lock(&mut two, "b").await["value"]["lease"], "lock-1");
    call(&mut two, "a", "lock_file", json!({"path": "a"})).await;
    one.send(json!({"type": "host_call", "call": "unlock_file", "args": {"lease": "lock-1"}})).await;
    let next = two.expect("host_result").await;
    assert_eq!((&next["id"], &next["value"]["lease"]), (&json!("a"), &json!("lock-2")));
    // haft's own changes wait, too.
    let path = dir.path().join("a");
    let mut change = Box::pin(queue.lock(&path));
    assert!(tokio::time::timeout(Duration::from_secs(5), change.as_mut()).await.is_err());
    drop(two);
    let begun = Instant::now();
    drop(change.await.unwrap());
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    call(&mut one, "u", "unlock_file", json!({"lease": "lock-1"})).await;
    assert_eq!(one.expect("host_result").await["code"], "not_found");
    assert_eq!(lock(&mut one, "missing/a").await["code"], "not_found");
    let denied = lock(&mut one, "denied").await;
    assert_eq!((&denied["code"], &denied["permission"]), (&json!("permission_denied"), &json!("files.lock")));
    assert_eq!(events.faults(), [fault("two", "exited"), fault("one", "permission_denied")]);
    drop(host);
}

#[tokio::test(start_paused = true)]
async fn waiting_and_holding_end_after_their_times() {
    let dir = tempfile::tempdir().unwrap();
    let (host, [mut one, mut two], events, _) = locking(&dir).await;
    let begun = Instant::now();
    assert_eq!(lock(&mut one, "a").await["value"]["lease"], "lock-1");
    let late = lock(&mut two, "a").await;
    assert_eq!((&late["code"], begun.elapsed().as_secs()), (&json!("timed_out"), 30));
    let text = late["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("a is still locked after 30 s"), "{text}");
    call(&mut two, "c", "lock_file", json!({"path": "a"})).await;
    two.send(json!({"type": "host_call_cancel", "id": "c"})).await;
    assert_eq!(two.expect("host_result").await["code"], "cancelled");
    tokio::time::sleep(Duration::from_secs(25)).await;
    assert_eq!(lock(&mut two, "a").await["value"]["lease"], "lock-1");
    assert_eq!(begun.elapsed().as_secs(), 60);
    call(&mut one, "u", "unlock_file", json!({"lease": "lock-1"})).await;
    assert_eq!(one.expect("host_result").await["code"], "not_found");
    assert_eq!(events.faults(), [fault("one", "lock_expired")]);
    assert_eq!(events.only_message(), "did not release its lock of a within 60 s; haft has released it");
    drop(host);
}
