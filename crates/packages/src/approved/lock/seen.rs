//! What this process read or wrote last, so that each extension that asks does not read it again.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::LockFile;
use crate::glance::Glance;

/// The last one, shared by all that look at the same lock file.
#[derive(Clone, Default)]
pub(super) struct Seen(Arc<Mutex<Option<Known>>>);

/// A lock file as it was.
pub(super) struct Known {
    /// What it looked like.
    pub(super) glance: Glance,
    pub(super) file: Arc<LockFile>,
}

impl Seen {
    /// What a file says that looks like this, if it is the last one.
    pub(super) fn looks(&self, now: Glance) -> Option<Arc<LockFile>> {
        self.known().as_ref().filter(|known| known.glance == now).map(|known| Arc::clone(&known.file))
    }

    pub(super) fn keep(&self, known: Known) {
        *self.known() = Some(known);
    }

    fn known(&self) -> MutexGuard<'_, Option<Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is remembered is nothing that tells two apart.
impl PartialEq for Seen {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Seen {}

impl fmt::Debug for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seen")
    }
}
