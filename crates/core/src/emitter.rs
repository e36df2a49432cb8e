//! Where a run's events go: first to the observers, then to whoever holds the run.

mod abridged;
mod channel;

use std::sync::{Arc, Mutex, PoisonError};

use haft_protocol::event::AgentEvent;

use crate::hooks::Observer;

pub(crate) use channel::{Receiver, RunMark, Sender, channel};

type Observers = Arc<[Arc<dyn Observer>]>;

/// Cheap to clone; every part of a run has one.
#[derive(Clone)]
pub(crate) struct Emitter {
    observers: Arc<Mutex<Observers>>,
    events: Events,
}

/// Who is told beside the observers.
#[derive(Clone)]
enum Events {
    /// Whoever holds the run.
    Run(Sender),
    /// Whoever has a call made outside of any run. It takes what comes at once, so it is told no more than the beginnings of
    /// what is long.
    Sink(Arc<dyn Fn(AgentEvent) + Send + Sync>),
}

impl Emitter {
    pub(crate) fn new(observers: Vec<Arc<dyn Observer>>, events: Sender) -> Self {
        Self::to(observers, Events::Run(events))
    }

    /// One outside of any run.
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
