//! The calls to the host that wait for their results.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use haft_protocol::ext::HostResult;
use haft_protocol::ids::RequestId;
use tokio::sync::oneshot;

#[derive(Debug, Default)]
pub(crate) struct PendingCalls {
    last: AtomicU64,
    open: Mutex<HashMap<RequestId, oneshot::Sender<HostResult>>>,
}

impl PendingCalls {
    /// Delivers a result, or returns it if its caller is gone.
    pub(crate) fn complete(&self, result: HostResult) -> Option<HostResult> {
        match self.lock_open().remove(&result.id) {
            Some(waiting) => waiting.send(result).err(),
            None => Some(result),
        }
    }

    pub(crate) fn close(&self) {
        self.lock_open().clear();
    }

    pub(crate) fn begin(&self) -> (RequestId, oneshot::Receiver<HostResult>) {
        let id = RequestId::new(format!("c{}", self.last.fetch_add(1, Ordering::Relaxed) + 1));
        let (sender, receiver) = oneshot::channel();
        self.lock_open().insert(id.clone(), sender);
        (id, receiver)
    }

    /// Removes a call. Returns true if its result had not arrived.
    pub(crate) fn forget(&self, id: &RequestId) -> bool {
        self.lock_open().remove(id).is_some()
    }

    fn lock_open(&self) -> MutexGuard<'_, HashMap<RequestId, oneshot::Sender<HostResult>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
