//! The thread that syncs to disk, so that the agent does not wait.
//!
//! A caller that needs an entry on disk waits here; one sync serves all current waiters. Entries without a waiter are
//! synced once per second. A file whose sync failed is never synced again: the system may have discarded the failed
//! data, and the next sync would report success.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::SessionError;
use super::disk::Disk;

/// Sends requests to the thread. The thread ends after the last handle is dropped and the remaining entries are synced.
#[derive(Debug)]
pub(super) struct SyncHandle {
    requests: Sender<SyncRequest>,
    /// True if the thread knows that entries wait for the group sync.
    pending: Arc<AtomicBool>,
}

/// Receives the outcome of a sync.
pub(super) type SyncReceiver = oneshot::Receiver<Result<(), SessionError>>;

struct SyncRequest {
    /// The waiting caller; `None` if the sync can be delayed.
    waiter: Option<oneshot::Sender<Result<(), SessionError>>>,
}

impl SyncHandle {
    /// Starts the thread. `sync` waits until all appended entries are on disk, in the current file or in a new one.
    pub(super) fn start(
        disk: &dyn Disk,
        sync: impl Fn() -> Result<(), SessionError> + Send + 'static,
        group: Duration,
    ) -> io::Result<Self> {
        let (requests, receiver) = channel();
        let pending = Arc::new(AtomicBool::new(false));
        let worker = SyncWorker { receiver, pending: Arc::clone(&pending), sync, group };
        disk.start_thread(Box::new(move || worker.run()))?;
        Ok(Self { requests, pending })
    }

    pub(super) fn schedule_sync(&self) {
        if !self.pending.swap(true, Ordering::AcqRel) {
            // The thread runs as long as this handle exists.
            let _ = self.requests.send(SyncRequest { waiter: None });
        }
    }

    pub(super) fn request_sync(&self) -> SyncReceiver {
        let (waiter, synced) = oneshot::channel();
        let _ = self.requests.send(SyncRequest { waiter: Some(waiter) });
        synced
    }
}

struct SyncWorker<F> {
    receiver: Receiver<SyncRequest>,
    pending: Arc<AtomicBool>,
    sync: F,
    group: Duration,
}

impl<F: Fn() -> Result<(), SessionError>> SyncWorker<F> {
    fn run(self) {
        let mut failed = false;
        while let Ok(first) = self.receiver.recv() {
            let mut round = vec![first];
            self.collect(&mut round);
            // Later writes request their own sync.
            self.pending.store(false, Ordering::Release);
            round.extend(self.receiver.try_iter());
            failed = self.sync(round).is_err();
        }
        // No caller can ask again, so entries of the last rounds have this last attempt.
        if failed {
            let _ = (self.sync)();
        }
    }

    /// Waits for the end of the group's delay, or for a caller that waits.
    fn collect(&self, round: &mut Vec<SyncRequest>) {
        let deadline = Instant::now() + self.group;
        while round.iter().all(|request| request.waiter.is_none()) {
            match self.receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(request) => round.push(request),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Performs one sync for all requests, because it covers everything written so far.
    fn sync(&self, round: Vec<SyncRequest>) -> Result<(), SessionError> {
        let outcome = (self.sync)();
        for waiter in round.into_iter().filter_map(|request| request.waiter) {
            // A caller that stopped waiting does not need the outcome.
            let _ = waiter.send(outcome.clone());
        }
        outcome
    }
}
