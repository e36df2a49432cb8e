//! The locks of files that one extension process holds.

use std::collections::HashMap;
use std::future::pending;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_core::file_queue::{FileGuard, FileQueue};
use haft_core::services::{FileLockError, ServiceReach};
use haft_protocol::RawJson;
use haft_protocol::defense::{Defense, is_up};
use haft_protocol::ext::{FileLease, FileLockCall, HostCallError, HostResult, LockFileCall, UnlockFileCall};
use haft_protocol::ids::RequestId;
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::ServiceProvider;
use crate::extension::frontend::FaultReporter;
use crate::timeouts::Timeouts;
use crate::wire::decode::excerpt;
use crate::wire::fault::FaultCode;

/// The maximum number of locks that one process holds.
const MOST_LOCKS: usize = 16;

/// Locks files for one extension process.
pub(crate) struct FileLocks {
    provided: Arc<ServiceProvider>,
    reach: ServiceReach,
    reporter: FaultReporter,
    timeouts: Arc<Timeouts>,
    held: Arc<Mutex<HeldLocks>>,
}

#[derive(Default)]
struct HeldLocks {
    last: u64,
    locks: HashMap<String, HeldLock>,
}

/// A lock, which ends when it is dropped.
struct HeldLock {
    _guard: FileGuard,
    /// Ends the task that limits the time of the lock.
    _watch: DropGuard,
}

/// The code of a failed call, and the reason for people.
type LockFailure = (HostCallError, String);

impl FileLocks {
    pub(crate) fn new(
        provided: Arc<ServiceProvider>,
        reach: ServiceReach,
        reporter: FaultReporter,
        timeouts: Arc<Timeouts>,
    ) -> Self {
        Self { provided, reach, reporter, timeouts, held: Arc::default() }
    }

    /// Serves a call. The locks end with `process`.
    pub(crate) async fn serve(
        &self,
        cancel: &CancellationToken,
        process: CancellationToken,
        id: RequestId,
        call: FileLockCall,
    ) -> HostResult {
        let service = call.kind().service();
        let outcome = match call {
            FileLockCall::LockFile(LockFileCall { path }) => {
                self.lock_file(cancel, process, path).await.map(|lease| RawJson::from_value(&lease).ok())
            }
            FileLockCall::UnlockFile(UnlockFileCall { lease }) => self.release_lock(&lease).map(|()| None),
        };
        match outcome {
            Ok(value) => HostResult { value, ..HostResult::with_content(id, Vec::new()) },
            Err((code, text)) => {
                let is_denied = code == HostCallError::PermissionDenied;
                let permission = is_denied.then(|| service.name().to_owned());
                HostResult { permission, ..HostResult::from_failure(id, code, text) }
            }
        }
    }

    async fn lock_file(
        &self,
        cancel: &CancellationToken,
        process: CancellationToken,
        path: String,
    ) -> Result<FileLease, LockFailure> {
        let (queue, file) = self.find_file(path.clone()).await?;
        let path = excerpt(path.as_bytes());
        let limit = self.timeouts.host_call;
        let queue = queue.for_owner(self.reach.lock_owner);
        let locked = timeout(limit, queue.lock_for_long(&file));
        let guard = match cancel.run_until_cancelled(locked).await {
            None => return Err((HostCallError::Cancelled, "the call was cancelled".to_owned())),
            Some(Err(_)) => {
                let seconds = limit.as_secs_f64();
                let text = format!(
                    "{path} is still locked after {seconds} s: another extension or a tool uses it; try again later"
                );
                return Err((HostCallError::TimedOut, text));
            }
            Some(Ok(Err(error))) => return Err(unreachable_file(&path, &error)),
            Some(Ok(Ok(guard))) => guard,
        };
        self.keep_lock(guard, process, path)
    }

    /// Returns the file that a path means, and the queue of its changes.
    async fn find_file(&self, path: String) -> Result<(FileQueue, PathBuf), LockFailure> {
        let (provided, reach) = (Arc::clone(&self.provided), self.reach.clone());
        let found = spawn_blocking(move || provided.services.file_to_lock(&reach, &path)).await;
        let found = found.map_err(|error| (HostCallError::Failed, error.to_string()))?;
        found.map_err(|FileLockError { code, text, .. }| (code, text))
    }

    fn keep_lock(
        &self,
        guard: FileGuard,
        process: CancellationToken,
        path: String,
    ) -> Result<FileLease, LockFailure> {
        let mut held = lock_held(&self.held);
        if held.locks.len() >= MOST_LOCKS {
            let text =
                format!("the extension holds {MOST_LOCKS} locks, which is the limit; release one of them");
            return Err((HostCallError::Busy, text));
        }
        held.last += 1;
        let lease = format!("lock-{}", held.last);
        let watched = CancellationToken::new();
        let (longest, reporter) = (self.timeouts.file_lock, self.reporter.clone());
        let (all, ending, name) = (Arc::clone(&self.held), watched.clone(), lease.clone());
        tokio::spawn(async move {
            let limit = async {
                match is_up(Defense::Leases) {
                    true => sleep(longest).await,
                    false => pending().await,
                }
            };
            // The outer end is a release, the inner one the end of the process.
            let Some(end) = ending.run_until_cancelled(process.run_until_cancelled(limit)).await else {
                return;
            };
            let was_held = lock_held(&all).locks.remove(&name).is_some();
            if was_held && end.is_some() {
                let seconds = longest.as_secs_f64();
                let text =
                    format!("did not release its lock of {path} within {seconds} s; haft has released it");
                reporter.report_fault(FaultCode::LockExpired, text);
            }
        });
        let watch = watched.drop_guard();
        held.locks.insert(lease.clone(), HeldLock { _guard: guard, _watch: watch });
        let lasts_ms = u64::try_from(longest.as_millis()).unwrap_or(u64::MAX);
        Ok(FileLease { lease, lasts_ms })
    }

    fn release_lock(&self, lease: &str) -> Result<(), LockFailure> {
        let released = lock_held(&self.held).locks.remove(lease);
        let missing = || "the extension holds no such lock; it may have expired".to_owned();
        released.map(drop).ok_or_else(|| (HostCallError::NotFound, missing()))
    }
}

fn unreachable_file(path: &str, error: &io::Error) -> LockFailure {
    let is_missing = error.kind() == io::ErrorKind::NotFound;
    let code = if is_missing { HostCallError::NotFound } else { HostCallError::Failed };
    (code, format!("cannot lock {path}: {error}"))
}

fn lock_held(held: &Mutex<HeldLocks>) -> MutexGuard<'_, HeldLocks> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}
