//! The requests of the host that handlers work on.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_protocol::ids::{RequestId, ToolCallId};
use tokio::sync::watch;

/// The requests that are not answered yet. The value becomes true when the host cancels the request.
#[derive(Debug, Default)]
pub(crate) struct OpenRequests(Mutex<HashMap<RequestId, watch::Sender<bool>>>);

impl OpenRequests {
    pub(crate) fn begin(&self, id: RequestId) -> watch::Receiver<bool> {
        let (cancel, cancelled) = watch::channel(false);
        self.lock().insert(id, cancel);
        cancelled
    }

    pub(crate) fn cancel(&self, id: &RequestId) {
        if let Some(cancel) = self.lock().get(id) {
            cancel.send_replace(true);
        }
    }

    pub(crate) fn contains(&self, id: &RequestId) -> bool {
        self.lock().contains_key(id)
    }

    fn end(&self, id: &RequestId) {
        self.lock().remove(id);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RequestId, watch::Sender<bool>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The request that a handler answers.
#[derive(Debug)]
pub(crate) struct HandledRequest {
    pub(crate) id: RequestId,
    /// The call, if the request is one of a tool.
    pub(crate) tool_call: Option<HandledToolCall>,
    pub(crate) cancelled: watch::Receiver<bool>,
}

#[derive(Debug)]
pub(crate) struct HandledToolCall {
    /// The model's id of the call, if the host sent it.
    pub(crate) id: Option<ToolCallId>,
}

/// Ends a request when it is dropped, before the answer.
#[derive(Debug)]
pub(crate) struct RequestGuard {
    pub(crate) requests: Arc<OpenRequests>,
    pub(crate) id: RequestId,
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.requests.end(&self.id);
    }
}
