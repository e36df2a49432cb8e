//! Events that wait until the extension that they start is ready.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use haft_protocol::ext::Limits;

use crate::extension::send_queue::event::{BatchBuilder, EventBatch, EventFilter};
use crate::extension::{ExtensionHandle, WAITING_EVENTS};

/// Waiting events in order. Closed permanently after the hand-over or a discard.
#[derive(Debug)]
pub(crate) struct EventBacklog {
    /// The maximum number of events: as many as may wait for the extension, so that all of them arrive.
    max_events: usize,
    events: Mutex<BatchBuilder>,
    /// Changed only under the lock.
    is_closed: AtomicBool,
    dropped: AtomicUsize,
}

impl EventBacklog {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            max_events: limits.queue_frames.min(WAITING_EVENTS),
            events: Mutex::default(),
            is_closed: AtomicBool::default(),
            dropped: AtomicUsize::default(),
        }
    }

    /// True if events no longer pass through the backlog.
    pub(crate) fn is_over(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Stores the wanted events of a batch; events beyond the limit are dropped and counted. Returns the
    /// number of wanted events; `None` when the backlog is closed.
    pub(crate) fn push_wanted(&self, batch: &EventBatch, filter: &EventFilter) -> Option<usize> {
        let mut events = self.events();
        if self.is_over() {
            return None;
        }
        let before = events.len();
        let wanted = events.copy_wanted(batch, filter, self.max_events);
        self.dropped.fetch_add(before + wanted - events.len(), Ordering::Relaxed);
        Some(wanted)
    }

    /// True if no event waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.events().len() == 0
    }

    /// Passes all events on in order, before any new event, and reports the number of lost events.
    pub(crate) fn hand_over(&self, to: &ExtensionHandle) {
        let mut events = self.events();
        to.observe(&events.take());
        to.observe_gap(self.dropped_count());
        self.is_closed.store(true, Ordering::Release);
    }

    /// Drops all events, because no extension will receive them.
    pub(crate) fn discard(&self) {
        let mut events = self.events();
        self.dropped.fetch_add(events.len(), Ordering::Relaxed);
        events.take();
        self.is_closed.store(true, Ordering::Release);
    }

    pub(crate) fn dropped_count(&self) -> usize {
        self.dropped.load(Ordering::Relaxed)
    }

    fn events(&self) -> MutexGuard<'_, BatchBuilder> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
