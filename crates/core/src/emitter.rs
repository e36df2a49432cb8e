//! Where a run's events go: first to the observers, then to whoever holds the run.

mod abridged;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use haft_protocol::event::AgentEvent;
use tokio::sync::mpsc;

use crate::hooks::Observer;

type Observers = Arc<[Arc<dyn Observer>]>;

/// Cheap to clone; every part of a run has one.
#[derive(Clone)]
pub(crate) struct Emitter {
    observers: Arc<Mutex<Observers>>,
    events: Events,
}

/// The receiver of events beside the observers.
#[derive(Clone)]
enum Events {
    Run(Sender),
    /// Whoever has a call made outside of any run. It takes what comes at once, so it is told no more than the beginnings of
    /// what is long.
    Sink(Arc<dyn Fn(AgentEvent) + Send + Sync>),
}

impl Emitter {
    pub(crate) fn new(observers: Vec<Arc<dyn Observer>>, events: Sender) -> Self {
        Self::to(observers, Events::Run(events))
    }

    pub(crate) fn outside(
        observers: Vec<Arc<dyn Observer>>,
        sink: Arc<dyn Fn(AgentEvent) + Send + Sync>,
    ) -> Self {
        Self::to(observers, Events::Sink(sink))
    }

    fn to(observers: Vec<Arc<dyn Observer>>, events: Events) -> Self {
        Self { observers: Arc::new(Mutex::new(observers.into())), events }
    }

    /// The run that it tells of; none for a call outside of any.
    pub(crate) fn run(&self) -> Option<&RunMark> {
        match &self.events {
            Events::Run(sender) => Some(sender.run()),
            Events::Sink(_) => None,
        }
    }

    /// One that tells only whoever holds the run.
    pub(crate) fn without_observers(&self) -> Self {
        Self::to(Vec::new(), self.events.clone())
    }

    /// Tells these from here on: extensions come and go while a run lives.
    pub(crate) fn watched_by(&self, observers: Vec<Arc<dyn Observer>>) {
        *self.observers.lock().unwrap_or_else(PoisonError::into_inner) = observers.into();
    }

    pub(crate) fn emit(&self, event: AgentEvent) {
        let event = match &self.events {
            Events::Run(_) => event,
            Events::Sink(_) => abridged::event(event),
        };
        let observers = self.observers.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for observer in observers.iter() {
            observer.observe(&event);
        }
        match &self.events {
            Events::Run(events) => events.send(event),
            Events::Sink(sink) => sink(event),
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
pub(crate) struct Sender {
    events: mpsc::UnboundedSender<AgentEvent>,
    run: RunMark,
}

/// From the run.
pub(crate) struct Receiver {
    events: mpsc::UnboundedReceiver<AgentEvent>,
    run: RunMark,
}

/// Which run it is. Keeps nothing of it alive.
#[derive(Clone, Default)]
pub(crate) struct RunMark(Arc<Marked>);

#[derive(Default)]
struct Marked {
    progress: AtomicUsize,
    /// The agent was asked to begin it, whether or not it was free.
    begun: AtomicBool,
}

impl RunMark {
    /// Called and asked under the lock of the queues, so that the order is theirs.
    pub(crate) fn begin(&self) {
        self.0.begun.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_begun(&self) -> bool {
        self.0.begun.load(Ordering::Relaxed)
    }

    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

pub(crate) fn channel() -> (Sender, Receiver) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let run = RunMark::default();
    (Sender { events: sender, run: run.clone() }, Receiver { events: receiver, run })
}

impl Sender {
    fn run(&self) -> &RunMark {
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

impl Receiver {
    pub(crate) fn run(&self) -> &RunMark {
        &self.run
    }

    pub(crate) fn take(&mut self) -> Option<AgentEvent> {
        self.events.try_recv().ok().inspect(|event| self.taken(event))
    }

    /// Returns the next event; none when no sender is left.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<AgentEvent>> {
        let next = self.events.poll_recv(context);
        if let Poll::Ready(Some(event)) = &next {
            self.taken(event);
        }
        next
    }

    fn taken(&self, event: &AgentEvent) {
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
        let (sender, mut receiver) = channel();
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
