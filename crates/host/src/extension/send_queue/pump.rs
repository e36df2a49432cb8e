//! The path of events to the extensions of a host: first to all queues in batches, then into the pipes, one
//! extension after the other.
//!
//! An event for a hundred extensions locks a hundred queues, so consecutive events are distributed together.
//! It also needs a hundred system calls, each of which wakes a process. A query in the meantime waits for at
//! most one of these calls. Every other addition to a queue first distributes the earlier events, so each
//! extension receives all messages in the order in which they were sent.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use haft_protocol::ext::Limits;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::yield_now;

use super::SendQueue;
use super::event::{BatchBuilder, EventBatch, EventFilter, OutgoingEvent, kind};
use crate::session::offers::EventTopic;

/// The maximum number of events in one distribution, which fits into every queue.
const MAX_BATCH_EVENTS: usize = 128;

/// The maximum number of bytes in one distribution.
const MAX_BATCH_BYTES: usize = 64 * 1024;

/// Extensions that receive events.
pub(crate) trait EventRecipients: Send + Sync {
    fn deliver(&self, batch: &EventBatch);
}

/// Other work of the pump.
pub(crate) trait PumpTask: Send + Sync {
    fn run_task(&self);
}

/// The event pump of a host.
pub(crate) struct EventPump {
    longest: usize,
    watched: AtomicU64,
    /// The id of the session, for the session form of events.
    session: Mutex<Arc<str>>,
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
    Task(Arc<dyn PumpTask>),
}

impl EventPump {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            longest: limits.max_result_line,
            watched: AtomicU64::new(0),
            session: Mutex::new(Arc::from("")),
            staged: Mutex::default(),
            has_staged: AtomicBool::new(false),
            turns: OnceLock::new(),
        }
    }

    pub(crate) fn add_watched(&self, filter: &EventFilter) {
        self.watched.fetch_or(filter.kinds, Ordering::Relaxed);
    }

    /// Sets the session to which all later events belong.
    pub(crate) fn set_session(&self, id: &str) {
        *self.session.lock().unwrap_or_else(PoisonError::into_inner) = id.into();
    }

    /// Returns the id of the session; empty before the session is known.
    pub(crate) fn session(&self) -> Arc<str> {
        Arc::clone(&self.session.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// True if an extension watches, or watched before, an event of this topic.
    pub(crate) fn is_watched(&self, topic: EventTopic<'_>) -> bool {
        self.watched.load(Ordering::Relaxed) & kind(topic.form, topic.name) != 0
    }

    /// Sends the forms of one event to extensions. Each form is encoded once, and only if it is watched. Never
    /// waits.
    pub(crate) fn publish_event(&self, recipients: &Arc<dyn EventRecipients>, forms: &[OutgoingEvent<'_>]) {
        let watched = forms.iter().filter(|form| self.is_watched(form.topic));
        let lines: Vec<_> = watched.map(|form| (form.topic, (form.encode)())).collect();
        if lines.is_empty() {
            return;
        }
        let mut staged = self.lock_staged();
        if staged.recipients.as_ref().is_some_and(|others| !Arc::ptr_eq(others, recipients)) {
            staged.hand_out();
        }
        staged.recipients.get_or_insert_with(|| Arc::clone(recipients));
        for (index, (topic, line)) in lines.into_iter().enumerate() {
            staged.batch.add(topic, line, self.longest);
            if index > 0 {
                staged.batch.mark_repeated();
            }
        }
        let is_full = staged.batch.lines() >= MAX_BATCH_EVENTS || staged.batch.bytes() >= MAX_BATCH_BYTES;
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

    /// Schedules a task. Returns false if the pump does not run.
    pub(crate) fn schedule_task(&self, task: Arc<dyn PumpTask>) -> bool {
        self.add_turn(PumpJob::Task(task))
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
            PumpJob::Task(task) => task.run_task(),
            PumpJob::Distribute => pump.upgrade().iter().for_each(|pump| pump.distribute_events()),
            PumpJob::Write(queue) => {
                queue.write_some();
                drop(queue);
                yield_now().await;
            }
        }
    }
}
