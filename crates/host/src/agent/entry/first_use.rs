//! The first use of an extension that waits for it.

use haft_protocol::ext::Event;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::Entry;
use crate::session::offers::Topic;
use crate::supervision::keeper::Order;
use crate::wire::fault::CallError;

impl Entry {
    /// Starts an extension that waits for its first use, and waits until that start has come to an end. The start does
    /// not count towards the deadline of the use: it has deadlines of its own.
    ///
    /// # Errors
    /// The run was cancelled.
    pub(crate) async fn awake(&self, cancel: &CancellationToken) -> Result<(), CallError> {
        if self.slot.borrow().stand_in.is_none() {
            return Ok(());
        }
        let start = async {
            if self.slot.borrow().sleeps() {
                let (begun, has_begun) = oneshot::channel();
                _ = self.orders.unbounded_send(Order::Wake(Some(begun)));
                // An error means that the start has begun before, or that the extension has left.
                _ = has_begun.await;
            }
            self.settled().await;
        };
        cancel.run_until_cancelled(start).await.ok_or(CallError::Cancelled)
    }

    /// Passes on an event that the extension watches, unless the log tells it. An event starts an extension that waits
    /// for its first use; the extension gets it when it is ready, before all that come later.
    pub(crate) fn pass_on(&self, topic: Topic<'_>, event: impl FnOnce() -> Option<Event>) {
        if self.watching.is_told_by_log() {
            return;
        }
        if let Some(backlog) = self.backlog.as_ref().filter(|backlog| !backlog.is_over()) {
            if !self.offers().watches(topic) {
                return;
            }
            if self.slot.borrow().sleeps() {
                _ = self.orders.unbounded_send(Order::Wake(None));
            }
            match backlog.keep(event) {
                Ok(()) => {}
                Err(event) => self.pass_to_process(topic, event),
            }
        } else {
            self.pass_to_process(topic, event);
        }
    }

    fn pass_to_process(&self, topic: Topic<'_>, event: impl FnOnce() -> Option<Event>) {
        if let Some(extension) = self.extension() {
            extension.observe(topic, event);
        }
    }

    /// True if events wait for the extension to be ready.
    pub(crate) fn has_backlog(&self) -> bool {
        self.backlog.as_ref().is_some_and(|backlog| !backlog.is_over() && !backlog.is_empty())
    }

    /// The number of events that the extension was not told.
    pub(crate) fn events_dropped(&self) -> usize {
        let kept = self.backlog.as_ref().map_or(0, |backlog| backlog.dropped());
        kept + self.extension().map_or(0, |extension| extension.events_dropped())
    }
}
