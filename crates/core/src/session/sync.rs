//! The thread that waits for the disk, so that the agent need not.
//!
//! Whoever needs an entry to be on the disk waits here; everybody who waits at the same time is served by one sync. What
//! nobody waits for is synced once a second. A sync that failed is never tried again: the system may have thrown away
//! what it could not write, and would then say that all is well.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::disk::DiskFile;
use super::error::SessionError;

/// Who is told when a sync fails.
pub(super) trait OnFailure: Send + Sync + 'static {
    /// Saves what was written to `file` somewhere else.
    fn sync_failed(&self, file: &Arc<dyn DiskFile>, error: &io::Error) -> Result<(), SessionError>;
}

/// Hands files to the thread. The thread ends after the last one of these is dropped and what was left is synced.
#[derive(Debug)]
pub(super) struct Syncer {
    requests: Sender<Request>,
    /// The thread knows that something waits for the group.
    pending: Arc<AtomicBool>,
}

/// Says how a sync ended.
pub(super) type Synced = oneshot::Receiver<Result<(), SessionError>>;

struct Request {
    file: Arc<dyn DiskFile>,
    /// Who waits; nobody when it may take its time.
    waiter: Option<oneshot::Sender<Result<(), SessionError>>>,
}

impl Syncer {
    /// Starts the thread.
    pub(super) fn start<F: OnFailure>(owner: Weak<F>, group: Duration) -> io::Result<Self> {
        let (requests, receiver) = channel();
        let pending = Arc::new(AtomicBool::new(false));
        let worker = Worker { receiver, pending: Arc::clone(&pending), owner, group };
        std::thread::Builder::new().name("haft-session".to_owned()).spawn(move || worker.run())?;
        Ok(Self { requests, pending })
    }

    /// Has it synced with the next group.
    pub(super) fn soon(&self, file: &Arc<dyn DiskFile>) {
        if !self.pending.swap(true, Ordering::AcqRel) {
            // The thread lives as long as this does.
            let _ = self.requests.send(Request { file: Arc::clone(file), waiter: None });
        }
    }

    /// Has it synced at once.
    pub(super) fn now(&self, file: &Arc<dyn DiskFile>) -> Synced {
        let (waiter, synced) = oneshot::channel();
        let _ = self.requests.send(Request { file: Arc::clone(file), waiter: Some(waiter) });
        synced
    }
}

struct Worker<F> {
    receiver: Receiver<Request>,
    pending: Arc<AtomicBool>,
    owner: Weak<F>,
    group: Duration,
}

impl<F: OnFailure> Worker<F> {
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
    fn collect(&self, round: &mut Vec<Request>) {
        let deadline = Instant::now() + self.group;
        while round.iter().all(|request| request.waiter.is_none()) {
            match self.receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(request) => round.push(request),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// One sync for everybody. A session changes its file only when a sync has failed, and the new one is synced when it
    /// is made, so that the last file is the one that counts.
    fn sync(&self, round: Vec<Request>) {
        let Some(file) = round.last().map(|request| Arc::clone(&request.file)) else { return };
        let outcome = match file.sync() {
            Ok(()) => Ok(()),
            Err(error) => match self.owner.upgrade() {
                Some(owner) => owner.sync_failed(&file, &error),
                None => Err(SessionError::Unknown),
            },
        };
        for waiter in round.into_iter().filter_map(|request| request.waiter) {
            // Whoever gave up waiting need not be told.
            let _ = waiter.send(outcome.clone());
        }
    }
}
