//! The calls to the host that wait for their results.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use haft_protocol::RawJson;
use haft_protocol::ext::{HostCallProgress, HostResult};
use haft_protocol::ids::RequestId;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

#[derive(Debug, Default)]
pub(crate) struct PendingCalls {
    last: AtomicU64,
    open: Mutex<HashMap<RequestId, PendingCall>>,
}

/// The receivers of a result and of parts of its value.
#[derive(Debug)]
struct PendingCall {
    result: oneshot::Sender<HostResult>,
    pieces: Option<UnboundedSender<RawJson>>,
}

impl PendingCalls {
    /// Delivers a result, or returns it if its caller is gone.
    pub(crate) fn complete(&self, result: HostResult) -> Option<HostResult> {
        match self.lock_open().remove(&result.id) {
            Some(waiting) => waiting.result.send(result).err(),
            None => Some(result),
        }
    }

    /// Delivers a part of a value. A part that no caller wants is ignored.
    pub(crate) fn deliver_piece(&self, HostCallProgress { id, value }: HostCallProgress) {
        let open = self.lock_open();
        if let Some(pieces) = open.get(&id).and_then(|call| call.pieces.as_ref()) {
            // The caller may be gone.
            drop(pieces.send(value));
        }
    }

    pub(crate) fn close(&self) {
        self.lock_open().clear();
    }

    pub(crate) fn begin(
        &self,
        pieces: Option<UnboundedSender<RawJson>>,
    ) -> (RequestId, oneshot::Receiver<HostResult>) {
        let id = RequestId::new(format!("c{}", self.last.fetch_add(1, Ordering::Relaxed) + 1));
        let (sender, receiver) = oneshot::channel();
        self.lock_open().insert(id.clone(), PendingCall { result: sender, pieces });
        (id, receiver)
    }

    /// Removes a call. Returns true if its result had not arrived.
    pub(crate) fn forget(&self, id: &RequestId) -> bool {
        self.lock_open().remove(id).is_some()
    }

    fn lock_open(&self) -> MutexGuard<'_, HashMap<RequestId, PendingCall>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
