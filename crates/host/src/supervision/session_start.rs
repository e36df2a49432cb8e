//! The start of the current session, for the extensions that the host waits for.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_protocol::ext::{InterceptKind, InterceptSessionStart, SessionStartReason};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::extension::{Deadline, ExtensionHandle};

/// Asks each process of an extension once about the start of the session. Late processes are asked when they
/// become ready.
#[derive(Debug, Default)]
pub(crate) struct SessionStartNotice {
    /// The current session; `None` before the first one.
    current: Mutex<Option<InterceptSessionStart>>,
    /// Counts the sessions.
    number: AtomicU64,
    open: TaskTracker,
}

impl SessionStartNotice {
    /// Begins a session. All processes may be asked again.
    pub(crate) fn begin(&self, start: InterceptSessionStart) {
        *self.lock() = Some(start);
        self.number.fetch_add(1, Ordering::Relaxed);
    }

    /// Asks a process, unless it was asked or does not wait for session starts. Never waits. A failure is
    /// reported and has no other effect.
    pub(crate) fn ask_process(&self, process: &ExtensionHandle, within: Duration, is_late: bool) {
        let Some(mut question) = self.lock().clone() else { return };
        let is_subscribed = process.snapshot().offers.intercepts.contains(&InterceptKind::SessionStart);
        if !is_subscribed || !process.claim_session_start(self.number.load(Ordering::Relaxed)) {
            return;
        }
        if is_late {
            question.reason = SessionStartReason::Reload;
            question.previous_path = None;
        }
        let process = process.clone();
        self.open.spawn(async move {
            // The process outlives neither the deadline nor its own end.
            let never = CancellationToken::new();
            _ = process.query_hook(&never, question, Deadline::after(within)).await;
        });
    }

    /// True if no process is being asked.
    pub(crate) fn is_settled(&self) -> bool {
        self.open.is_empty()
    }

    /// Waits until all processes that were asked have answered or failed.
    pub(crate) async fn wait_until_settled(&self) {
        self.open.close();
        self.open.wait().await;
    }

    fn lock(&self) -> MutexGuard<'_, Option<InterceptSessionStart>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
