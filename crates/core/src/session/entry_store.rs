//! `EntryStore`: a session in a store of the embedding program.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::state::SessionState;
use super::{Session, SessionError};

/// The lines of one session in a store of the embedding program, such as a table of a database.
///
/// ```
/// use std::io;
/// use std::sync::{Arc, Mutex};
///
/// use haft_core::session::entry::Name;
/// use haft_core::session::{Durability, EntryStore, Session};
///
/// /// Keeps the lines in memory.
/// #[derive(Default)]
/// struct Lines(Mutex<Vec<u8>>);
///
/// impl EntryStore for Lines {
///     fn load(&self) -> io::Result<Vec<u8>> {
///         Ok(self.0.lock().unwrap().clone())
///     }
///
///     fn append(&self, lines: &[u8]) -> io::Result<()> {
///         self.0.lock().unwrap().extend_from_slice(lines);
///         Ok(())
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = Arc::new(Lines::default());
/// let session = Session::in_store(store.clone(), "/srv/app".as_ref())?;
/// session.append(Name { name: "release".into() }, Durability::Now).await?;
///
/// let again = Session::in_store(store, "/srv/app".as_ref())?; // in another process, for example
/// assert_eq!((again.id(), again.name()?.as_deref()), (session.id(), Some("release")));
/// # Ok(())
/// # }
/// ```
pub trait EntryStore: Send + Sync {
    /// Returns all lines that were appended so far; nothing for a new session. May block the thread.
    ///
    /// # Errors
    /// The store's error; the session is not opened.
    fn load(&self) -> io::Result<Vec<u8>>;

    /// Appends lines of JSON: the header of a new session, then one line for each entry. When this returns, an entry
    /// that the agent waits for counts as saved. haft calls this on a thread of its own, never twice at the same time,
    /// so it may block.
    ///
    /// # Errors
    /// The store's error. The store has none of the lines then; haft appends them again with the next ones.
    fn append(&self, lines: &[u8]) -> io::Result<()>;
}

impl Session {
    /// Opens the session in a store of the embedding program, or creates a session for a working directory if the store
    /// has no lines. A session without content leaves nothing in the store. All entries stay in memory. No lock
    /// prevents another process from using the same lines. Blocks the thread while it loads the lines.
    ///
    /// # Errors
    /// [`SessionError::Newer`], [`SessionError::Io`].
    pub fn in_store(store: Arc<dyn EntryStore>, cwd: &Path) -> Result<Self, SessionError> {
        SessionState::in_store(store, cwd).map(Self::new)
    }

    /// Saves a session in memory, such as a fork of a session in a store, to a store without lines. The entries so far
    /// are stored with the next one, or by [`flush`](Self::flush).
    ///
    /// # Errors
    /// [`SessionError::AlreadySaved`] if the session has a file or a store.
    pub fn save_in(&self, store: Arc<dyn EntryStore>) -> Result<(), SessionError> {
        self.shared.lock().save_in(store)
    }
}
