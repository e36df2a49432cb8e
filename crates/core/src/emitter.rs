//! Where a run's events go: first to the observers, then to whoever holds the run.

use std::sync::Arc;

use haft_protocol::event::AgentEvent;
use tokio::sync::mpsc;

use crate::hooks::Observer;

/// Cheap to clone; every part of a run has one.
#[derive(Clone)]
pub(crate) struct Emitter {
    observers: Arc<[Arc<dyn Observer>]>,
    events: mpsc::UnboundedSender<AgentEvent>,
}

impl Emitter {
    pub(crate) fn new(observers: Vec<Arc<dyn Observer>>, events: mpsc::UnboundedSender<AgentEvent>) -> Self {
        Self { observers: observers.into(), events }
    }

    /// One that tells only whoever holds the run.
    pub(crate) fn without_observers(&self) -> Self {
        Self::new(Vec::new(), self.events.clone())
    }

    pub(crate) fn emit(&self, event: AgentEvent) {
        for observer in self.observers.iter() {
            observer.observe(&event);
        }
        // The receiver is gone only when the run was dropped: then nobody wants to know.
        drop(self.events.send(event));
    }
}
