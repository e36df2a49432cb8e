//! Events for an extension that is started because of them, until it is ready.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use haft_protocol::ext::Limits;

use crate::extension::send_queue::event::{BatchBuilder, EventBatch, EventFilter};
use crate::extension::{ExtensionHandle, WAITING_EVENTS};

/// Events in order. Over for good once they were handed over, or never will be.
#[derive(Debug)]
pub(crate) struct EventBacklog {
    /// As many are kept as may wait to be read by the extension, so that what is kept arrives.
    most: usize,
    events: Mutex<BatchBuilder>,
    /// Changed under the lock alone.
    over: AtomicBool,
    dropped: AtomicUsize,
}

impl EventBacklog {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            most: limits.queue_frames.min(WAITING_EVENTS),
            events: Mutex::default(),
            over: AtomicBool::default(),
            dropped: AtomicUsize::default(),
        }
    }

    /// True if events need not go through here any more.
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Keeps the wanted events of a batch; those that do not fit are dropped and counted. Returns how many were wanted, and
    /// none when it is over.
    pub(crate) fn push_wanted(&self, batch: &EventBatch, filter: &EventFilter) -> Option<usize> {
        let mut events = self.events();
        if self.is_over() {
            return None;
        }
        let before = events.len();
        let wanted = events.copy_wanted(batch, filter, self.most);
        self.dropped.fetch_add(before + wanted - events.len(), Ordering::Relaxed);
        Some(wanted)
    }

    /// True if somebody waits for events that are here.
    pub(crate) fn is_empty(&self) -> bool {
        self.events().len() == 0
    }

    /// Passes everything on, in order, before anything that comes now, and tells how much is missing behind it.
    pub(crate) fn hand_over(&self, to: &ExtensionHandle) {
        let mut events = self.events();
        to.observe(&events.take());
        to.observe_gap(self.dropped_count());
        self.over.store(true, Ordering::Release);
    }

    /// There will be nobody to pass them on to.
    pub(crate) fn discard(&self) {
        let mut events = self.events();
        self.dropped.fetch_add(events.len(), Ordering::Relaxed);
        events.take();
        self.over.store(true, Ordering::Release);
    }

    pub(crate) fn dropped_count(&self) -> usize {
        self.dropped.load(Ordering::Relaxed)
    }

    fn events(&self) -> MutexGuard<'_, BatchBuilder> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
