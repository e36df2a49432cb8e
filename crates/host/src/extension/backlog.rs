//! Events for an extension that is started because of them, until it is ready.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use haft_protocol::ext::Limits;

use crate::extension::send_queue::event::EventLine;
use crate::extension::{Extension, WAITING_EVENTS};

/// Events in order. Over for good once they were handed over, or never will be.
#[derive(Debug)]
pub(crate) struct Backlog {
    /// As many are kept as may wait to be read by the extension, so that what is kept arrives.
    most: usize,
    events: Mutex<VecDeque<EventLine>>,
    /// Changed under the lock alone.
    over: AtomicBool,
    dropped: AtomicUsize,
}

impl Backlog {
    /// Nothing kept yet.
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            most: limits.queue_frames.min(WAITING_EVENTS),
            events: Mutex::default(),
            over: AtomicBool::default(),
            dropped: AtomicUsize::default(),
        }
    }

    /// Whether events need not go through here any more.
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Keeps an event; what does not fit is dropped and counted. False when it is over.
    pub(crate) fn keep(&self, event: &EventLine) -> bool {
        let mut events = self.events();
        if self.is_over() {
            return false;
        }
        if events.len() < self.most {
            events.push_back(event.clone());
        } else {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        true
    }

    /// Whether somebody waits for events that are here.
    pub(crate) fn is_empty(&self) -> bool {
        self.events().is_empty()
    }

    /// Passes everything on, in order, before anything that comes now, and tells how much is missing behind it.
    pub(crate) fn hand_over(&self, to: &Extension) {
        let mut events = self.events();
        to.observe(events.make_contiguous());
        events.clear();
        to.observe_gap(self.dropped());
        self.over.store(true, Ordering::Release);
    }

    /// There will be nobody to pass them on to.
    pub(crate) fn give_up(&self) {
        let mut events = self.events();
        self.dropped.fetch_add(events.len(), Ordering::Relaxed);
        events.clear();
        self.over.store(true, Ordering::Release);
    }

    /// How many it did not keep.
    pub(crate) fn dropped(&self) -> usize {
        self.dropped.load(Ordering::Relaxed)
    }

    fn events(&self) -> MutexGuard<'_, VecDeque<EventLine>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
