//! A lock of a file, which the host holds for the extension.

use std::time::{Duration, Instant};

use haft_protocol::RawJson;
use haft_protocol::ext::{FileLease, HostCall, HostCallKind, UnlockFileCall};

use crate::host::Host;

/// An exclusive lock of a file, until it is dropped; see [`Host::lock_file`].
#[derive(Debug)]
#[must_use = "dropping the lock releases the file"]
#[doc(alias = "unlock_file")]
pub struct FileLock {
    host: Host,
    lease: FileLease,
    since: Instant,
}

impl FileLock {
    pub(crate) fn new(host: Host, lease: FileLease) -> Self {
        Self { host, lease, since: Instant::now() }
    }

    /// Returns the time after which the host releases the lock, from its beginning.
    pub fn time_limit(&self) -> Duration {
        Duration::from_millis(self.lease.lasts_ms)
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        if self.since.elapsed() >= self.time_limit() {
            // The host has released the lock.
            return;
        }
        let unlock = UnlockFileCall { lease: std::mem::take(&mut self.lease.lease) };
        if let Ok(args) = RawJson::from_value(&unlock) {
            let call = HostCallKind::UnlockFile.name().to_owned();
            self.host.outbox().push(HostCall { id: None, call, args, under: None, session: None });
        }
    }
}
