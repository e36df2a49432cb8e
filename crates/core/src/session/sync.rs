//! The thread that waits for the disk, so that the agent need not.
//!
//! Whoever needs an entry to be on the disk waits here; everybody who waits at the same time is served by one sync. What
//! nobody waits for is synced once a second. A file whose sync failed is never synced again: the system may have thrown
//! away what it could not write, and would then say that all is well.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::SessionError;
use super::disk::Disk;

/// Hands requests to the thread. The thread ends after the last one of these is dropped and what was left is synced.
#[derive(Debug)]
pub(super) struct SyncHandle {
    requests: Sender<SyncRequest>,
    /// The thread knows that something waits for the group.
    pending: Arc<AtomicBool>,
}

/// Says how a sync ended.
pub(super) type SyncReceiver = oneshot::Receiver<Result<(), SessionError>>;

struct SyncRequest {
    /// The caller that waits; none when the sync may take its time.
    waiter: Option<oneshot::Sender<Result<(), SessionError>>>,
}

impl SyncHandle {
    /// Starts the thread. `sync` waits until everything that was appended so far is on the disk, in the file that it is in
    /// or in another one.
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
            // The thread lives as long as this does.
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
        while let Ok(first) = self.receiver.recv() {
            let mut round = vec![first];
            self.collect(&mut round);
            // What is written from here on asks for a sync of its own.
            self.pending.store(false, Ordering::Release);
            round.extend(self.receiver.try_iter());
            self.sync(round);
        }
    }

    /// Waits for the end of the group, or for somebody who waits.
    fn collect(&self, round: &mut Vec<SyncRequest>) {
        let deadline = Instant::now() + self.group;
        while round.iter().all(|request| request.waiter.is_none()) {
            match self.receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(request) => round.push(request),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// One sync for everybody, since what is there now is what every one of them wrote.
    fn sync(&self, round: Vec<SyncRequest>) {
        let outcome = (self.sync)();
        for waiter in round.into_iter().filter_map(|request| request.waiter) {
            // Whoever gave up waiting need not be told.
            let _ = waiter.send(outcome.clone());
        }
    }
}
