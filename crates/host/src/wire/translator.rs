//! The translator of a connection, shared with the thread that decodes a long line.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_protocol::foreign::LineTranslator;

/// The translator of one connection.
#[derive(Debug, Clone)]
pub(crate) struct SharedTranslator(Arc<Mutex<Box<dyn LineTranslator>>>);

impl SharedTranslator {
    pub(crate) fn new(translator: Box<dyn LineTranslator>) -> Self {
        Self(Arc::new(Mutex::new(translator)))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Box<dyn LineTranslator>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
