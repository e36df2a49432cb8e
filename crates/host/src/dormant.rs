//! The keeper of an extension that has not been needed yet: neither a process nor a task.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::runtime::Handle;

use crate::supervision::keeper::Keeper;
use crate::supervision::slot::Stage;

/// Holds a keeper until it is needed, if it ever is.
pub(crate) struct Dormant {
    keeper: Mutex<Option<(Box<Keeper>, Handle)>>,
}

impl Dormant {
    /// Nobody sleeps here.
    pub(crate) fn awake() -> Self {
        Self { keeper: Mutex::new(None) }
    }

    /// Must be called within the runtime in which the extension will run.
    pub(crate) fn new(keeper: Box<Keeper>) -> Self {
        Self { keeper: Mutex::new(Some((keeper, Handle::current()))) }
    }

    /// Starts the extension. False when that was done before.
    pub(crate) fn wake(&self) -> bool {
        let mut sleeper = self.lock();
        let Some((keeper, runtime)) = sleeper.take() else { return false };
        // Before anybody else can find that it was woken already.
        keeper.set(Stage::NEW);
        drop(sleeper);
        runtime.spawn(keeper.run(None));
        true
    }

    /// It is not needed any more. Nothing to do when it was woken before: then it has a task, which sees to it.
    pub(crate) fn dismiss(&self) {
        if let Some((keeper, _)) = self.lock().take() {
            keeper.set(Stage::Stopped);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<(Box<Keeper>, Handle)>> {
        self.keeper.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Dormant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Dormant")
    }
}
