//! The first use of an extension that waits for it.

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::Entry;
use crate::extension::send_queue::event::{EventBatch, EventFilter};
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

    /// Passes on the events that the extension watches. An event starts an extension that waits for its first use; the
    /// extension gets it when it is ready, before all that come later.
    pub(crate) fn pass_on(&self, batch: &EventBatch) {
        let backlog = self.backlog.as_ref().filter(|backlog| !backlog.is_over());
        let kept = backlog.and_then(|backlog| backlog.keep(batch, &EventFilter::of(&self.offers())));
        match kept {
            Some(0) => {}
            Some(_) if self.slot.borrow().sleeps() => _ = self.orders.unbounded_send(Order::Wake(None)),
            Some(_) => {}
            None => self.slot.borrow().instance.iter().for_each(|extension| extension.observe(batch)),
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
