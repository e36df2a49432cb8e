//! The requests of the host that handlers work on.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_protocol::ids::{RequestId, ToolCallId};
use tokio::sync::Notify;

/// The requests that are not answered yet. There are few at a time, and a linear search is faster than a hash.
#[derive(Debug, Default)]
pub(crate) struct OpenRequests(Mutex<Vec<Arc<HandledRequest>>>);

impl OpenRequests {
    pub(crate) fn begin(&self, request: Arc<HandledRequest>) {
        self.lock().push(request);
    }

    pub(crate) fn cancel(&self, id: &RequestId) {
        if let Some(request) = self.lock().iter().find(|request| request.id == *id) {
            request.is_cancelled.store(true, Ordering::Release);
            request.cancelled.notify_waiters();
        }
    }

    pub(crate) fn contains(&self, id: &RequestId) -> bool {
        self.lock().iter().any(|request| request.id == *id)
    }

    fn end(&self, ended: &Arc<HandledRequest>) {
        self.lock().retain(|request| !Arc::ptr_eq(request, ended));
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<HandledRequest>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The request that a handler answers.
#[derive(Debug)]
pub(crate) struct HandledRequest {
    pub(crate) id: RequestId,
    /// The call, if the request is one of a tool.
    pub(crate) tool_call: Option<HandledToolCall>,
    is_cancelled: AtomicBool,
    cancelled: Notify,
}

#[derive(Debug)]
pub(crate) struct HandledToolCall {
    /// The model's id of the call, if the host sent it.
    pub(crate) id: Option<ToolCallId>,
}

impl HandledRequest {
    pub(crate) fn new(id: RequestId, tool_call: Option<HandledToolCall>) -> Arc<Self> {
        Arc::new(Self { id, tool_call, is_cancelled: AtomicBool::new(false), cancelled: Notify::new() })
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Acquire)
    }

    pub(crate) async fn wait_until_cancelled(&self) {
        // Created before the check, so that no cancellation between the two is missed.
        let cancelled = self.cancelled.notified();
        if !self.is_cancelled() {
            cancelled.await;
        }
    }
}

/// Ends a request when it is dropped, before the answer.
#[derive(Debug)]
pub(crate) struct RequestGuard {
    pub(crate) requests: Arc<OpenRequests>,
    pub(crate) request: Arc<HandledRequest>,
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.requests.end(&self.request);
    }
}
