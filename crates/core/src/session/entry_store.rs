//! `EntryStore`: a session in a store of the embedding program.

use std::io;

/// The lines of one session in a store of the embedding program, such as a table of a database. A line is one entry in
/// JSON and ends with a newline.
///
/// haft calls the methods on threads without a runtime. An async database runs there with
/// [`Handle::block_on`](tokio::runtime::Handle::block_on) of a handle that the store keeps. A panic counts as an error.
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
///     fn load_lines(&self) -> io::Result<Vec<u8>> {
///         Ok(self.0.lock().unwrap().clone())
///     }
///
///     fn append_lines(&self, lines: &[u8]) -> io::Result<()> {
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
    /// Returns all lines that were appended so far, in order; nothing for a new session. Empty lines, and the absence of
    /// the last newline, make no difference. May block the thread.
    ///
    /// # Errors
    /// The store's error; the session is not opened.
    fn load_lines(&self) -> io::Result<Vec<u8>>;

    /// Appends lines of JSON: the header of a new session, then one line for each entry. When this returns, an entry
    /// that the agent waits for counts as saved. haft calls this on a thread of its own, never twice at the same time,
    /// so it may block.
    ///
    /// # Errors
    /// The store's error. The store has none of the lines then; haft appends them again with the next ones.
    fn append_lines(&self, lines: &[u8]) -> io::Result<()>;
}
