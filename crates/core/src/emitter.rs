//! Where a run's events go: first to the observers, then to whoever holds the run.

mod abridged;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use haft_protocol::event::AgentEvent;
use tokio::sync::mpsc;

use crate::hooks::Observer;

type ObserverList = Arc<[Arc<dyn Observer>]>;

/// Cheap to clone; every part of a run has one.
#[derive(Clone)]
pub(crate) struct EventEmitter {
    observers: Arc<Mutex<ObserverList>>,
    events: EventTarget,
}

/// The receiver of events beside the observers.
#[derive(Clone)]
enum EventTarget {
    Run(EventSender),
    /// Whoever has a call made outside of any run. It takes what comes at once, so it is told no more than the beginnings of
    /// what is long.
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

    /// The run that it tells of; none for a call outside of any.
    pub(crate) fn run(&self) -> Option<&RunToken> {
        match &self.events {
            EventTarget::Run(sender) => Some(sender.run()),
            EventTarget::Sink(_) => None,
        }
    }

    /// One that tells only whoever holds the run.
    pub(crate) fn without_observers(&self) -> Self {
        Self::from_parts(Vec::new(), self.events.clone())
    }

    /// Tells these from here on: extensions come and go while a run lives.
    pub(crate) fn set_observers(&self, observers: Vec<Arc<dyn Observer>>) {
        *self.observers.lock().unwrap_or_else(PoisonError::into_inner) = observers.into();
    }

    pub(crate) fn emit(&self, event: AgentEvent) {
        let event = match &self.events {
            EventTarget::Run(_) => event,
            EventTarget::Sink(_) => abridged::abridge_event(event),
        };
        let observers = self.observers.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for observer in observers.iter() {
            observer.observe(&event);
        }
        match &self.events {
            EventTarget::Run(events) => events.send(event),
            EventTarget::Sink(sink) => sink(event),
        }
    }
}

/// Pieces of progress that may wait. Those of haft's own tools have 8 KiB at most.
const PROGRESS: usize = 1024;

/// To whoever holds the run.
///
/// Bounded, although the channel beneath is not. What the run's own work tells is there until the work is polled again,
/// which is when all of it was taken; what people put into the queues meanwhile is as much as people say. The progress of
/// tools that work in tasks of their own comes whenever it likes, so it is counted, and left out where too much of it
/// waits: what matters of it is in the result.
#[derive(Clone)]
pub(crate) struct EventSender {
    events: mpsc::UnboundedSender<AgentEvent>,
    run: RunToken,
}

/// From the run.
pub(crate) struct EventReceiver {
    events: mpsc::UnboundedReceiver<AgentEvent>,
    run: RunToken,
}

/// Which run it is. Keeps nothing of it alive.
#[derive(Clone, Default)]
pub(crate) struct RunToken(Arc<RunTokenState>);

#[derive(Default)]
struct RunTokenState {
    progress: AtomicUsize,
    /// The agent was asked to begin it, whether or not it was free.
    begun: AtomicBool,
}

impl RunToken {
    /// Called and asked under the lock of the queues, so that the order is theirs.
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
        // The receiver is gone only when the run was dropped: then nobody wants to know.
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

    /// Returns the next event; none when no sender is left.
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
    fn too_much_progress_is_left_out_and_nothing_else() {
        let (sender, mut receiver) = event_channel();
        let progress = || AgentEvent::ToolProgress { id: ToolCallId::new("t1"), text: "x".into() };
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
