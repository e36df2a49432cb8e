//! The way of events to the extensions of a host: first to their queues, many at once, then into their pipes, one
//! extension after the other.
//!
//! An event for a hundred extensions is a hundred queues to lock, so events that come in a row are handed out together;
//! and a hundred system calls, each of which wakes a process. A question that is asked beside them waits for one of these
//! at most. Whoever adds anything else to a queue has the events before it handed out first, so each extension sees
//! everything in the order it was sent in.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use haft_protocol::ext::{LifecycleEvent, Limits};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::yield_now;

use super::SendQueue;
use super::event::{BatchBuilder, EventBatch, EventFilter, kind};
use crate::session::offers::EventTopic;

/// Events that are handed out together at most: no more than any queue has room for.
const TOGETHER: usize = 128;

/// The same in bytes.
const TOGETHER_BYTES: usize = 64 * 1024;

/// Extensions that are told events.
pub(crate) trait EventRecipients: Send + Sync {
    fn deliver(&self, batch: &EventBatch);
}

/// See the module.
pub(crate) struct EventPump {
    longest: usize,
    watched: AtomicU8,
    staged: Mutex<StagedEvents>,
    /// True if events are staged.
    has_staged: AtomicBool,
    turns: OnceLock<mpsc::UnboundedSender<PumpJob>>,
}

/// Events that came in a row, for the same extensions.
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

    /// Tells extensions an event. Never waits.
    pub(crate) fn publish(
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
        let is_full = staged.batch.len() >= TOGETHER || staged.batch.bytes() >= TOGETHER_BYTES;
        if is_full || !self.has_staged.swap(true, Ordering::AcqRel) && !self.add_turn(PumpJob::Distribute) {
            self.hand_out(staged);
        }
    }

    /// Hands out the events that came before.
    pub(crate) fn distribute(&self) {
        if self.has_staged.load(Ordering::Acquire) {
            self.hand_out(self.lock_staged());
        }
    }

    /// Has the pump work on this runtime, unless it works already.
    pub(super) fn run_on(self: &Arc<Self>, runtime: &Handle) {
        self.turns.get_or_init(|| {
            let (sender, turns) = mpsc::unbounded_channel();
            runtime.spawn(run_pump(Arc::downgrade(self), turns));
            sender
        });
    }

    /// Has a queue written in its turn. False when nobody does that any more.
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
    /// Under the lock, so that what several tell at once comes to all in the same order.
    fn hand_out(&mut self) {
        if let Some(recipients) = self.recipients.take() {
            recipients.deliver(&self.batch.take());
        }
    }
}

/// The task of the pump. It lets everything else go first after each system call.
async fn run_pump(pump: Weak<EventPump>, mut turns: mpsc::UnboundedReceiver<PumpJob>) {
    while let Some(turn) = turns.recv().await {
        match turn {
            PumpJob::Distribute => pump.upgrade().iter().for_each(|pump| pump.distribute()),
            PumpJob::Write(queue) => {
                queue.write_some();
                drop(queue);
                yield_now().await;
            }
        }
    }
}
