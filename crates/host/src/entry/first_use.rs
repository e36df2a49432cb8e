//! The first use of an extension that was not started before it was needed.

use haft_protocol::ext::Event;
use tokio_util::sync::CancellationToken;

use super::Entry;
use crate::session::offers::Topic;
use crate::supervision::slot::Stage;
use crate::wire::fault::CallError;

impl Entry {
    /// Starts it if it has not been needed before, and waits until that has come to an end, one way or another. What
    /// needs it first does not pay for that with its own deadline: a start has deadlines of its own.
    ///
    /// # Errors
    /// The run was cancelled.
    pub(crate) async fn awake(&self, cancel: &CancellationToken) -> Result<(), CallError> {
        self.wake();
        let starts = {
            let slot = self.slot.borrow();
            slot.stand_in.is_some() && matches!(slot.stage, Stage::Starting { .. })
        };
        match starts {
            true => cancel.run_until_cancelled(self.settled()).await.ok_or(CallError::Cancelled),
            false => Ok(()),
        }
    }

    /// Starts it if it has not been needed before, and waits for nothing.
    pub(crate) fn wake(&self) {
        if self.slot.borrow().sleeps() {
            self.dormant.wake();
        }
    }

    /// Passes on an event that it watches, unless the log tells it. One that has not been needed before is started by it,
    /// and gets it when it is ready, before all that come later.
    pub(crate) fn pass_on(&self, topic: Topic<'_>, event: impl FnOnce() -> Option<Event>) {
        if self.watching.is_told_by_log() {
            return;
        }
        if let Some(backlog) = self.backlog.as_ref().filter(|backlog| !backlog.is_over()) {
            if !self.offers().watches(topic) {
                return;
            }
            self.wake();
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

    /// Whether events wait for it to be ready.
    pub(crate) fn has_backlog(&self) -> bool {
        self.backlog.as_ref().is_some_and(|backlog| !backlog.is_over() && !backlog.is_empty())
    }

    /// Events that it was not told.
    pub(crate) fn events_dropped(&self) -> usize {
        let kept = self.backlog.as_ref().map_or(0, |backlog| backlog.dropped());
        kept + self.extension().map_or(0, |extension| extension.events_dropped())
    }
}
