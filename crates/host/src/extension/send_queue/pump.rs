//! The path of events to the extensions of a host: first to all queues in batches, then into the pipes, one
//! extension after the other.
//!
//! An event for a hundred extensions locks a hundred queues, so consecutive events are distributed together.
//! It also needs a hundred system calls, each of which wakes a process. A query in the meantime waits for at
//! most one of these calls. Every other addition to a queue first distributes the earlier events, so each
//! extension receives all messages in the order in which they were sent.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use haft_protocol::ext::{LifecycleEvent, Limits};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::yield_now;

use super::SendQueue;
use super::event::{BatchBuilder, EventBatch, EventFilter, kind};
use crate::session::offers::EventTopic;

/// The maximum number of events in one distribution, which fits into every queue.
const MAX_BATCH_EVENTS: usize = 128;

/// The maximum number of bytes in one distribution.
const MAX_BATCH_BYTES: usize = 64 * 1024;

/// Extensions that receive events.
pub(crate) trait EventRecipients: Send + Sync {
    fn deliver(&self, batch: &EventBatch);
}

/// The event pump of a host.
pub(crate) struct EventPump {
    longest: usize,
    watched: AtomicU8,
    staged: Mutex<StagedEvents>,
    /// True if events are staged.
    has_staged: AtomicBool,
    turns: OnceLock<mpsc::UnboundedSender<PumpJob>>,
}

/// Consecutive events for the same extensions.
#[derive(Default)]
struct StagedEvents {
    recipients: Option<Arc<dyn EventRecipients>>,
    batch: BatchBuilder,
}

enum PumpJob {
    Distribute,
    Write(Arc<SendQueue>),
}

impl EventPump {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            longest: limits.max_result_line,
            watched: AtomicU8::new(0),
            staged: Mutex::default(),
            has_staged: AtomicBool::new(false),
            turns: OnceLock::new(),
        }
    }

    pub(crate) fn add_watched(&self, filter: &EventFilter) {
        self.watched.fetch_or(filter.kinds, Ordering::Relaxed);
    }

    /// Sends an event to extensions. Never waits.
    pub(crate) fn publish_event(
        &self,
        recipients: &Arc<dyn EventRecipients>,
        topic: EventTopic<'_>,
        event: impl FnOnce() -> Option<LifecycleEvent>,
    ) {
        if self.watched.load(Ordering::Relaxed) & kind(topic.name) == 0 {
            return;
        }
        let event = event();
        let mut staged = self.lock_staged();
        if staged.recipients.as_ref().is_some_and(|others| !Arc::ptr_eq(others, recipients)) {
            staged.hand_out();
        }
        staged.recipients.get_or_insert_with(|| Arc::clone(recipients));
        staged.batch.add(topic, event, self.longest);
        let is_full = staged.batch.len() >= MAX_BATCH_EVENTS || staged.batch.bytes() >= MAX_BATCH_BYTES;
        if is_full || !self.has_staged.swap(true, Ordering::AcqRel) && !self.add_turn(PumpJob::Distribute) {
            self.hand_out(staged);
        }
    }

    /// Distributes the staged events.
    pub(crate) fn distribute_events(&self) {
        if self.has_staged.load(Ordering::Acquire) {
            self.hand_out(self.lock_staged());
        }
    }

    /// Runs the pump on this runtime, unless it runs already.
    pub(super) fn run_on(self: &Arc<Self>, runtime: &Handle) {
        self.turns.get_or_init(|| {
            let (sender, turns) = mpsc::unbounded_channel();
            runtime.spawn(run_pump(Arc::downgrade(self), turns));
            sender
        });
    }

    /// Schedules a queue for its turn of writing. Returns false if the pump has ended.
    pub(super) fn add(&self, queue: &Arc<SendQueue>) -> bool {
        self.add_turn(PumpJob::Write(Arc::clone(queue)))
    }

    fn add_turn(&self, turn: PumpJob) -> bool {
        self.turns.get().is_some_and(|turns| turns.send(turn).is_ok())
    }

    fn hand_out(&self, mut staged: MutexGuard<'_, StagedEvents>) {
        staged.hand_out();
        self.has_staged.store(false, Ordering::Release);
    }

    fn lock_staged(&self) -> MutexGuard<'_, StagedEvents> {
        self.staged.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StagedEvents {
    /// Runs under the lock, so that concurrent events reach all queues in the same order.
    fn hand_out(&mut self) {
        if let Some(recipients) = self.recipients.take() {
            recipients.deliver(&self.batch.take());
        }
    }
}

/// The task of the pump. It yields after each system call.
async fn run_pump(pump: Weak<EventPump>, mut turns: mpsc::UnboundedReceiver<PumpJob>) {
    while let Some(turn) = turns.recv().await {
        match turn {
            PumpJob::Distribute => pump.upgrade().iter().for_each(|pump| pump.distribute_events()),
            PumpJob::Write(queue) => {
                queue.write_some();
                drop(queue);
                yield_now().await;
            }
        }
    }
}
