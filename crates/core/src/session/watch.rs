//! Watchers: copies of a session that follow its changes.

use std::sync::{Arc, Weak};

use super::entry::{SessionEntry, SessionHeader};
use super::id::EntryId;

/// A change of a session.
#[derive(Debug, Clone, PartialEq)]
pub enum SessionChange {
    /// The session has a new entry, which is its leaf.
    Appended(Arc<SessionEntry>),
    /// The session moved to another entry, or to the root.
    LeafMoved(Option<EntryId>),
    /// The session has another header, because it moved to another file.
    HeaderChanged(SessionHeader),
    /// All entries were dropped.
    Cleared,
}

/// Follows the changes of a session.
pub trait SessionWatcher: Send + Sync {
    /// Receives a change, in the order of the changes.
    ///
    /// Called while the session is locked: must return soon, and must not call methods of the session.
    fn session_changed(&self, change: SessionChange);
}

/// The watchers of a session.
#[derive(Default)]
pub(super) struct SessionWatchers(Vec<Weak<dyn SessionWatcher>>);

impl SessionWatchers {
    pub(super) fn add(&mut self, watcher: Weak<dyn SessionWatcher>) {
        self.0.push(watcher);
    }

    /// Tells the watchers of a change. Costs nothing without a watcher.
    pub(super) fn notify_all(&mut self, change: impl Fn() -> SessionChange) {
        self.0.retain(|watcher| {
            let watcher = watcher.upgrade();
            watcher.iter().for_each(|watcher| watcher.session_changed(change()));
            watcher.is_some()
        });
    }
}
