//! Delivers a run's events, first to the observers, then to the owner of the run.

mod abridge;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use haft_protocol::event::AgentEvent;
use tokio::sync::mpsc;

use crate::hooks::Observer;

type ObserverList = Arc<[Arc<dyn Observer>]>;

/// The sender of events. Cheap to clone; every part of a run has one.
#[derive(Clone)]
pub(crate) struct EventEmitter {
    observers: Arc<Mutex<ObserverList>>,
    events: EventTarget,
}

/// The receiver of events in addition to the observers.
#[derive(Clone)]
enum EventTarget {
    Run(EventSender),
    /// The caller of a tool outside of any run. It handles events at once, so that long values are truncated for it.
    Sink(Arc<dyn Fn(AgentEvent) + Send + Sync>),
}

impl EventEmitter {
    pub(crate) fn new(observers: Vec<Arc<dyn Observer>>, events: EventSender) -> Self {
        Self::from_parts(observers, EventTarget::Run(events))
    }

    pub(crate) fn with_sink(
        observers: Vec<Arc<dyn Observer>>,
        sink: Arc<dyn Fn(AgentEvent) + Send + Sync>,
    ) -> Self {
        Self::from_parts(observers, EventTarget::Sink(sink))
    }

    fn from_parts(observers: Vec<Arc<dyn Observer>>, events: EventTarget) -> Self {
        Self { observers: Arc::new(Mutex::new(observers.into())), events }
    }

    /// Returns the token of the run; `None` for a call outside of a run.
    pub(crate) fn run(&self) -> Option<&RunToken> {
        match &self.events {
            EventTarget::Run(sender) => Some(sender.run()),
            EventTarget::Sink(_) => None,
        }
    }

    /// Returns an emitter without observers.
    pub(crate) fn without_observers(&self) -> Self {
        Self::from_parts(Vec::new(), self.events.clone())
    }

    /// Replaces the observers, because extensions start and stop during a run.
    pub(crate) fn set_observers(&self, observers: Vec<Arc<dyn Observer>>) {
        *self.observers.lock().unwrap_or_else(PoisonError::into_inner) = observers.into();
    }

    pub(crate) fn emit(&self, event: AgentEvent) {
        let event = match &self.events {
            EventTarget::Run(_) => event,
            EventTarget::Sink(_) => abridge::abridge_event(event),
        };
        let observers = self.observers.lock().unwrap_or_else(PoisonError::into_inner).clone();
        notify_observers(&observers, &event);
        match &self.events {
            EventTarget::Run(events) => events.send(event),
            EventTarget::Sink(sink) => sink(event),
        }
    }
}

/// Passes an event to the observers. A panic of an observer is ignored, because an observer decides nothing.
pub(crate) fn notify_observers(observers: &[Arc<dyn Observer>], event: &AgentEvent) {
    for observer in observers {
        _ = catch_unwind(AssertUnwindSafe(|| observer.observe(event)));
    }
}

/// The maximum number of waiting progress events. Those of built-in tools have at most 8 KiB each.
const PROGRESS: usize = 1024;

/// The sending half, which delivers events to the owner of the run.
///
/// The number of events is bounded, although the channel is not. Events of the run's own work wait only until the work
/// is polled again, when all of them have been taken. Events of the queues are few. Progress of tools comes from their
/// own tasks, so it is counted and dropped while too much of it waits; the result contains the important part.
#[derive(Clone)]
pub(crate) struct EventSender {
    events: mpsc::UnboundedSender<AgentEvent>,
    run: RunToken,
}

/// The receiving half.
pub(crate) struct EventReceiver {
    events: mpsc::UnboundedReceiver<AgentEvent>,
    run: RunToken,
}

/// Identifies a run without keeping any part of it alive.
#[derive(Clone, Default)]
pub(crate) struct RunToken(Arc<RunTokenState>);

#[derive(Default)]
struct RunTokenState {
    progress: AtomicUsize,
    /// True after the agent was asked to begin the run, even if it was busy.
    begun: AtomicBool,
}

impl RunToken {
    /// Called under the lock of the queues, so that both see the same order.
    pub(crate) fn begin(&self) {
        self.0.begun.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_begun(&self) -> bool {
        self.0.begun.load(Ordering::Relaxed)
    }

    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

pub(crate) fn event_channel() -> (EventSender, EventReceiver) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let run = RunToken::default();
    (EventSender { events: sender, run: run.clone() }, EventReceiver { events: receiver, run })
}

impl EventSender {
    fn run(&self) -> &RunToken {
        &self.run
    }

    fn send(&self, event: AgentEvent) {
        if is_progress(&event) {
            let more = |waiting| (waiting < PROGRESS).then_some(waiting + 1);
            if self.run.0.progress.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_err() {
                return;
            }
        }
        // The receiver is gone only if the run was dropped, so the event is not needed.
        drop(self.events.send(event));
    }
}

impl EventReceiver {
    pub(crate) fn run(&self) -> &RunToken {
        &self.run
    }

    pub(crate) fn take(&mut self) -> Option<AgentEvent> {
        self.events.try_recv().ok().inspect(|event| self.release_progress_slot(event))
    }

    /// Returns the next event; `None` after the last sender is dropped.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<AgentEvent>> {
        let next = self.events.poll_recv(context);
        if let Poll::Ready(Some(event)) = &next {
            self.release_progress_slot(event);
        }
        next
    }

    fn release_progress_slot(&self, event: &AgentEvent) {
        if is_progress(event) {
            self.run.0.progress.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

fn is_progress(event: &AgentEvent) -> bool {
    matches!(event, AgentEvent::ToolProgress { .. })
}

#[cfg(test)]
mod tests {
    use haft_protocol::ids::ToolCallId;

    use super::*;

    #[test]
    fn drops_only_progress_events_on_overflow() {
        let (sender, mut receiver) = event_channel();
        let progress = || AgentEvent::ToolProgress {
            id: ToolCallId::new("t1"),
            text: "x".into(),
            replaces: false,
            details: None,
        };
        for _ in 0..PROGRESS + 10 {
            sender.send(progress());
        }
        sender.send(AgentEvent::Done);
        assert_eq!(receiver.take(), Some(progress()));
        sender.send(progress());
        sender.send(progress());
        let left: Vec<AgentEvent> = std::iter::from_fn(|| receiver.take()).collect();
        assert_eq!(left.len(), PROGRESS + 1);
        assert_eq!((&left[PROGRESS - 1], &left[PROGRESS]), (&AgentEvent::Done, &progress()));
    }
}
