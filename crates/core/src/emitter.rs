//! Where a run's events go: first to the observers, then to whoever holds the run.

use std::sync::{Arc, Mutex, PoisonError};

use haft_protocol::event::AgentEvent;
use tokio::sync::mpsc;

use crate::hooks::Observer;

type Observers = Arc<[Arc<dyn Observer>]>;

/// Cheap to clone; every part of a run has one.
#[derive(Clone)]
pub(crate) struct Emitter {
    observers: Arc<Mutex<Observers>>,
    events: mpsc::UnboundedSender<AgentEvent>,
}

impl Emitter {
    pub(crate) fn new(observers: Vec<Arc<dyn Observer>>, events: mpsc::UnboundedSender<AgentEvent>) -> Self {
        Self { observers: Arc::new(Mutex::new(observers.into())), events }
    }

    /// One that tells only whoever holds the run.
    pub(crate) fn without_observers(&self) -> Self {
        Self::new(Vec::new(), self.events.clone())
    }

    /// Tells these from here on: extensions come and go while a run lives.
    pub(crate) fn watched_by(&self, observers: Vec<Arc<dyn Observer>>) {
        *self.observers.lock().unwrap_or_else(PoisonError::into_inner) = observers.into();
    }

    pub(crate) fn emit(&self, event: AgentEvent) {
        let observers = self.observers.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for observer in observers.iter() {
            observer.observe(&event);
        }
        // The receiver is gone only when the run was dropped: then nobody wants to know.
        drop(self.events.send(event));
    }
}
