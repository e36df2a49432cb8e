//! `Session`: the conversation, saved to disk while it happens.
//!
//! A session is a tree of entries in an append-only file of lines. An acknowledged entry survives the end of the
//! program. It survives a power failure if it was requested to be durable at once. A damaged line never affects another
//! line.
//!
//! * [`entry`]: the content of a file; [`intervention`]: the effects of extensions on calls, answers and turns;
//!   [`recover()`]: reads a file despite damage;
//! * [`Session`]: an open session, used by the agent; [`build_context`]: the part of it that the model receives;
//! * [`store`]: the location of sessions.

mod context;
mod digest;
mod disk;
pub mod entry;
mod entry_store;
mod id;
pub mod intervention;
mod line;
mod log;
mod recover;
mod relocation;
mod resume;
mod snapshot;
mod state;
pub mod store;
mod sync;
mod tags;
mod tree;
mod watch;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::{fmt, io};

use haft_protocol::event::AgentEvent;
use haft_protocol::message::{Message, Rfc3339Time};

use crate::timeouts;
use disk::{Disk, RealDisk};
use entry::{EntryBody, FORMAT_VERSION, ForkOrigin, MessageEntry, SessionEntry, SessionHeader};
use state::{AppendOutcome, SessionState, SyncTask, append_lines};
use sync::{SyncHandle, SyncReceiver};

pub use context::{INTERRUPTED, NOT_RUN, SessionContext, build_context};
pub(crate) use context::{compaction_text, complete_tool_calls, missing_result};
pub use entry_store::EntryStore;
pub use id::{EntryId, InvalidId, SessionId};
pub use line::EntryLineLimits;
pub use recover::{RecoveredSession, SessionRepair, recover};
pub use snapshot::WatchedSession;
pub use tags::tag_text;
pub use tree::{fold_tags, labels, left_branch};
pub use watch::{SessionChange, SessionWatcher};

/// The guarantee that an entry needs before it is acknowledged. In a file, it survives the end of the program in both
/// cases; for a store of the program, see [`Session::in_store`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Durability {
    /// The entry is on disk and survives a power failure.
    Now,
    /// The entry is written to the system and is on disk within a second.
    Soon,
}

impl Durability {
    /// Returns the default guarantee of an entry. User messages, answers that end a turn, tool starts and compactions
    /// are durable at once.
    pub fn for_body(body: &EntryBody) -> Self {
        match body {
            EntryBody::MessageEntry(MessageEntry { message: Message::User { .. }, .. })
            | EntryBody::ToolStart(_)
            | EntryBody::Compaction(_) => Self::Now,
            EntryBody::MessageEntry(MessageEntry { message: Message::Assistant(said), .. })
                if said.tool_calls().next().is_none() =>
            {
                Self::Now
            }
            EntryBody::MessageEntry(_)
            | EntryBody::ModelChange(_)
            | EntryBody::ThinkingChange(_)
            | EntryBody::ToolsChange(_)
            | EntryBody::BranchSummary(_)
            | EntryBody::Custom(_)
            | EntryBody::CustomMessage(_)
            | EntryBody::Label(_)
            | EntryBody::Tags(_)
            | EntryBody::Name(_)
            | EntryBody::Unknown(_) => Self::Soon,
        }
    }
}

/// An open session. Clones are the same session; the file is closed and unlocked when the last clone is dropped.
///
/// ```
/// use std::path::Path;
///
/// use haft_core::model::Model;
/// use haft_core::session::store::SessionStore;
/// use haft_core::session::{Session, SessionError};
/// use haft_core::{Agent, BuildError};
///
/// fn resume(sessions: &Path, project: &Path) -> Result<Session, SessionError> {
///     SessionStore::new(sessions).open_latest(project) // creates the first session of a project
/// }
///
/// fn agent(model: impl Model + 'static, session: Session) -> Result<Agent, BuildError> {
///     Agent::builder(model).session(session).build() // the agent uses its transcript
/// }
///
/// # let dir = tempfile::tempdir()?;
/// let session = resume(dir.path(), Path::new("/srv/app"))?;
/// assert!(session.path().is_some_and(|path| !path.exists())); // created with the first message
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Session {
    shared: Arc<SharedSession>,
    clock: Clock,
}

type Clock = Arc<dyn Fn() -> Rfc3339Time + Send + Sync>;

impl Session {
    /// Creates a session without a file.
    pub fn in_memory(cwd: &Path) -> Self {
        Self::new(SessionState::in_memory(header(cwd, None)))
    }

    /// Creates a session whose file will be in `dir`. The file and the directory are created with the first content: a
    /// message, a name or a label.
    pub fn create(dir: &Path, cwd: &Path) -> Self {
        Self::create_on(Arc::new(RealDisk), dir, cwd)
    }

    fn create_on(disk: Arc<dyn Disk>, dir: &Path, cwd: &Path) -> Self {
        let header = header(cwd, None);
        let path = dir.join(header.id.file_name());
        Self::new(SessionState::not_created(disk, header, path))
    }

    /// Opens a session's file to continue it, and locks the file. An incomplete last line is cut off and saved. A file
    /// of a newer format is opened as by [`open_read_only`](Self::open_read_only). Blocks the thread while it reads the
    /// current branch, or the whole file if the branch is damaged.
    ///
    /// # Errors
    /// [`SessionError::Locked`] if the session is open elsewhere, [`SessionError::Io`].
    pub fn open(path: &Path) -> Result<Self, SessionError> {
        Self::open_on(Arc::new(RealDisk), path)
    }

    fn open_on(disk: Arc<dyn Disk>, path: &Path) -> Result<Self, SessionError> {
        SessionState::open(disk, path).map(Self::new)
    }

    /// Opens a session's file for reading, even if it is open elsewhere. Appending fails.
    ///
    /// # Errors
    /// [`SessionError::Io`].
    pub fn open_read_only(path: &Path) -> Result<Self, SessionError> {
        SessionState::open_read_only(path).map(Self::new)
    }

    /// Opens the session in a store of the embedding program, or creates a session for a working directory if the store
    /// has no lines. A session without content leaves nothing in the store. All entries stay in memory. No lock
    /// prevents another process from using the same lines. Blocks the thread while it loads the lines.
    ///
    /// An entry for which the agent does not wait ([`Durability::Soon`]) is in the store within a second, or after
    /// [`flush`](Self::flush): unlike a file, the store does not have it yet if the program ends before that.
    ///
    /// # Errors
    /// [`SessionError::Newer`], [`SessionError::Store`].
    pub fn in_store(store: Arc<dyn EntryStore>, cwd: &Path) -> Result<Self, SessionError> {
        SessionState::in_store(store, cwd).map(Self::new)
    }

    /// Saves a session in memory, such as a fork of a session in a store, to a store without lines. The entries so far
    /// are stored with the next one, or by [`flush`](Self::flush).
    ///
    /// # Errors
    /// [`SessionError::AlreadySaved`] if the session has a file or a store, or the store has lines;
    /// [`SessionError::Store`].
    pub fn save_in(&self, store: Arc<dyn EntryStore>) -> Result<(), SessionError> {
        self.shared.lock().save_in(store)
    }

    fn new(state: SessionState) -> Self {
        let shared = SharedSession { state: Arc::new(Mutex::new(state)), syncer: OnceLock::new() };
        Self { shared: Arc::new(shared), clock: Arc::new(current_time) }
    }

    /// Replaces the clock for the times of entries, for reproducible output.
    #[must_use]
    pub fn with_clock(mut self, clock: impl Fn() -> Rfc3339Time + Send + Sync + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Appends an entry after the [leaf](Self::leaf) and makes it the leaf.
    ///
    /// The entry is written before this function returns, so that entries are in the order of the calls. The future
    /// waits only for the disk, if necessary. While the session moves to another file, entries and their futures wait
    /// for that file. An entry that the future acknowledged is never lost; an entry without acknowledgement may or may
    /// not exist. Needs no async runtime.
    ///
    /// # Errors
    /// [`SessionError::NotSynced`] if the session has the entry as its leaf, but the entry may not be on disk. With any
    /// other error nothing is written: [`SessionError::ReadOnly`], [`SessionError::Newer`], or [`SessionError::Io`] if
    /// a retry may succeed.
    pub fn append(
        &self,
        body: impl Into<EntryBody>,
        durability: Durability,
    ) -> impl Future<Output = Result<EntryId, SessionError>> + Send + 'static {
        let written = self.append_entry(body.into(), durability);
        async move {
            let (id, synced) = written?;
            synced.await.map(|()| id)
        }
    }

    /// Appends an entry as [`append`](Self::append) does. Returns its id at once.
    pub(crate) fn append_entry(
        &self,
        body: EntryBody,
        durability: Durability,
    ) -> Result<(EntryId, impl Future<Output = Result<(), SessionError>> + Send + 'static), SessionError>
    {
        let (id, synced) = self.shared.append(None, body, (self.clock)(), durability)?;
        let synced =
            async { wait_synced(synced).await.map_err(|error| SessionError::NotSynced(Arc::new(error))) };
        Ok((id, synced))
    }

    /// Appends an entry as [`append`](Self::append) does, with an id that the caller chose. A caller in another process
    /// can thus refer to its entry before it knows that the entry is written.
    ///
    /// Blocks the thread at the first call on a continued session while it reads the ids in the file.
    ///
    /// ```
    /// use haft_core::protocol::RawJson;
    /// use haft_core::session::entry::{Custom, Tags};
    /// use haft_core::session::{Durability, EntryId, Session, SessionError};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let session = Session::in_memory("/srv/app".as_ref());
    /// let id: EntryId = "0f3a5c7e9b1d2f4061728394a5b6c7d8".parse()?;
    /// let list = Custom::new("todo", "list", RawJson::empty_object());
    /// session.append_with_id(id, list, Durability::Soon).await?;
    ///
    /// let again = session.append_with_id(id, Tags::default(), Durability::Soon).await;
    /// assert!(matches!(again, Err(SessionError::DuplicateId(_))));
    /// assert_eq!(session.leaf(), Some(id));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`SessionError::DuplicateId`] if a line of the session's file has the id, on any branch; nothing is written. The
    /// other errors are those of [`append`](Self::append).
    pub fn append_with_id(
        &self,
        id: EntryId,
        body: impl Into<EntryBody>,
        durability: Durability,
    ) -> impl Future<Output = Result<(), SessionError>> + Send + 'static {
        let written = self.shared.append(Some(id), body.into(), (self.clock)(), durability);
        async move {
            let (_, synced) = written?;
            wait_synced(synced).await.map_err(|error| SessionError::NotSynced(Arc::new(error)))
        }
    }

    /// Waits until all appended entries are on disk.
    ///
    /// # Errors
    /// [`SessionError::Io`].
    pub fn flush(&self) -> impl Future<Output = Result<(), SessionError>> + Send + 'static {
        let synced = self.shared.flush();
        async move { wait_synced(synced?).await }
    }

    /// Returns the event that describes the session to front ends.
    pub fn event(&self) -> AgentEvent {
        let path = self.path().map(|path| path.to_string_lossy().into_owned());
        AgentEvent::Session { id: self.id().to_string(), path }
    }

    /// Returns the session's id. It changes when the session moves to another file: [`SessionRepair::Moved`].
    pub fn id(&self) -> SessionId {
        self.header().id
    }

    /// Returns the header of the file.
    pub fn header(&self) -> SessionHeader {
        self.shared.lock().header.clone()
    }

    /// Returns the file; `None` for a session in memory. The file may not exist yet.
    pub fn path(&self) -> Option<PathBuf> {
        self.shared.lock().path().map(Path::to_owned)
    }

    /// True if appending fails.
    pub fn is_read_only(&self) -> bool {
        self.shared.lock().is_read_only()
    }

    /// Returns the entry that the next entry will follow; `None` at the root.
    pub fn leaf(&self) -> Option<EntryId> {
        self.shared.lock().leaf
    }

    /// Moves to another entry, or to the root: the next entry starts a branch there. Nothing is written before that, so
    /// that another reader of the file finds its last line as the leaf. Blocks the thread while it reads a branch that
    /// is not in memory.
    ///
    /// # Errors
    /// [`SessionError::NoEntry`], [`SessionError::Io`].
    pub fn move_to(&self, entry: Option<EntryId>) -> Result<(), SessionError> {
        self.shared.lock().move_to(entry)
    }

    /// Returns an entry if it is in memory: entries of the current branch, and all appended ones.
    pub fn entry(&self, id: EntryId) -> Option<Arc<SessionEntry>> {
        self.shared.lock().entry(id)
    }

    /// Returns the entries on the way to the leaf, oldest first: from the root, or from the first entry that the last
    /// compaction kept.
    pub fn branch(&self) -> Vec<Arc<SessionEntry>> {
        self.shared.lock().branch()
    }

    /// Returns the messages of the [branch](Self::branch) with the ids of their entries, for [`fork`](Self::fork) and
    /// [`move_to`](Self::move_to). A custom message of an extension is a message of the user, as for the model.
    ///
    /// ```
    /// use haft_core::protocol::message::Message;
    /// use haft_core::session::{EntryId, Session};
    ///
    /// /// Returns the place of the last answer.
    /// fn last_answer(session: &Session) -> Option<EntryId> {
    ///     let mut messages = session.messages().into_iter().rev();
    ///     messages.find_map(|(id, message)| matches!(message, Message::Assistant(_)).then_some(id))
    /// }
    /// ```
    pub fn messages(&self) -> Vec<(EntryId, Message)> {
        let message = |entry: Arc<SessionEntry>| Some((entry.id, entry.to_message()?));
        self.branch().into_iter().filter_map(message).collect()
    }

    /// Returns the context of the branch for the model. Every tool call has exactly one result; missing results, for
    /// example of running tools, are filled in.
    pub fn context(&self) -> SessionContext {
        build_context(&self.branch())
    }

    /// Adds [`SessionRepair::Unanswered`] to the repairs if the last prompt has no answer. Answers are recorded when they
    /// are complete, so the session has nothing of an answer during which the program was killed.
    pub fn report_missing_answer(&self) {
        let mut state = self.shared.lock();
        if state.lacks_answer() {
            state.repairs.push(SessionRepair::Unanswered);
        }
    }

    /// Takes the repairs of the file. Each is returned once. The runs of an agent on this session take them and emit
    /// them as [events](Self::take_repair_events).
    pub fn take_repairs(&self) -> Vec<SessionRepair> {
        std::mem::take(&mut self.shared.lock().repairs)
    }

    /// Takes the repairs as events for front ends. A repair that moved the session is followed by the event with the
    /// new location.
    pub fn take_repair_events(&self) -> Vec<AgentEvent> {
        let events = |repair: SessionRepair| {
            let (id, message) = (self.id().to_string(), repair.to_string());
            let moved = matches!(repair, SessionRepair::Moved { .. }).then(|| self.event());
            std::iter::once(AgentEvent::SessionRepaired { id, message }).chain(moved)
        };
        self.take_repairs().into_iter().flat_map(events).collect()
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.shared.lock();
        f.debug_struct("Session").field("id", &state.header.id).field("path", &state.path()).finish()
    }
}

async fn wait_synced(synced: Option<SyncReceiver>) -> Result<(), SessionError> {
    match synced {
        Some(synced) => synced.await.unwrap_or(Err(SessionError::Unknown)),
        None => Ok(()),
    }
}

/// Returns the current time in the format of all time stamps, when the embedder sets no clock.
pub fn current_time() -> Rfc3339Time {
    let now = jiff::Timestamp::now();
    Rfc3339Time(format!("{now:.3}"))
}

fn header(cwd: &Path, forked_from: Option<ForkOrigin>) -> SessionHeader {
    SessionHeader {
        id: SessionId::new(),
        format_version: FORMAT_VERSION,
        cwd: cwd.to_string_lossy().into_owned(),
        created: current_time(),
        forked_from,
    }
}

/// The state that the clones of a session share with its sync thread.
struct SharedSession {
    state: Arc<Mutex<SessionState>>,
    syncer: OnceLock<SyncHandle>,
}

impl SharedSession {
    fn lock(&self) -> MutexGuard<'_, SessionState> {
        lock(&self.state)
    }

    fn append(
        &self,
        id: Option<EntryId>,
        body: EntryBody,
        time: Rfc3339Time,
        durability: Durability,
    ) -> Result<(EntryId, Option<SyncReceiver>), SessionError> {
        if id.is_some() {
            self.read_file_ids()?;
        }
        let mut state = self.lock();
        // Started before anything is written, so that an error means that nothing was written.
        let syncer = state.disk_for(&body).map(|disk| self.sync_handle(disk)).transpose()?;
        let (id, written) = state.append(id, body, time)?;
        let Some(syncer) = syncer else { return Ok((id, None)) };
        let synced = match (durability, written) {
            (Durability::Now, _) | (Durability::Soon, AppendOutcome::Deferred) => Some(syncer.request_sync()),
            (Durability::Soon, AppendOutcome::Written) => {
                syncer.schedule_sync();
                None
            }
        };
        Ok((id, synced))
    }

    fn flush(&self) -> Result<Option<SyncReceiver>, SessionError> {
        let state = self.lock();
        let disk = state.disk().filter(|_| !state.is_synced());
        disk.map(|disk| self.sync_handle(disk).map(SyncHandle::request_sync)).transpose()
    }

    /// Returns the handle of the sync thread; starts the thread if necessary. The state must be locked.
    fn sync_handle(&self, disk: &dyn Disk) -> Result<&SyncHandle, SessionError> {
        if let Some(syncer) = self.syncer.get() {
            return Ok(syncer);
        }
        let state = Arc::clone(&self.state);
        let started =
            SyncHandle::start(disk, move || sync(&state), timeouts::GROUP_COMMIT).map_err(|error| {
                SessionError::from_io("start the sync thread for", Path::new("the session"), error)
            })?;
        Ok(self.syncer.get_or_init(|| started))
    }
}

impl Drop for SharedSession {
    fn drop(&mut self) {
        // The thread may still have to sync, but another session can use the file at once.
        self.lock().close();
    }
}

/// Syncs all entries appended so far to disk. Slow work is done without the lock, which appending needs.
fn sync(state: &Mutex<SessionState>) -> Result<(), SessionError> {
    loop {
        let work = lock(state).next_sync_task()?;
        match work {
            SyncTask::Nothing => return Ok(()),
            SyncTask::Sync { file, given } => {
                let outcome = file.sync();
                if lock(state).finish_sync(&file, given, outcome) {
                    return Ok(());
                }
            }
            SyncTask::Store { store, lines } => {
                let outcome = append_lines(store.as_ref(), &lines);
                return lock(state).finish_store(lines.len(), outcome);
            }
            SyncTask::Move(moving) => {
                let moved = moving.carry_out()?;
                // Entries that were added meanwhile are synced in the next round.
                return lock(state).finish_relocation(moved);
            }
        }
    }
}

fn lock(state: &Mutex<SessionState>) -> MutexGuard<'_, SessionState> {
    // After a panic the file still matches the state, or the next append notices the difference.
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The error of a session operation. An entry whose `append` failed was not acknowledged and may be missing.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The session is open in another process, or through another handle in this one.
    #[error("session {} is in use; open it read-only or fork it", path.display())]
    Locked {
        /// The session's file.
        path: PathBuf,
    },
    /// The session was opened read-only.
    #[error("session {} is open read-only; fork it to continue", path.display())]
    ReadOnly {
        /// The session's file.
        path: PathBuf,
    },
    /// The file has a newer format: it can be read, but neither written nor forked.
    #[error("session {} was written by a newer version of haft (format {version}; this version reads up to {FORMAT_VERSION}); upgrade haft to continue it", path.display())]
    Newer {
        /// The session's file.
        path: PathBuf,
        /// The format version of the file.
        version: u32,
    },
    /// A system call failed.
    #[error("cannot {doing} {}: {cause}; check disk space and permissions", path.display())]
    Io {
        /// The action that failed: `write`, `open`, …
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        cause: Arc<io::Error>,
    },
    /// The session has no such entry.
    #[error("the session has no entry {0}")]
    NoEntry(EntryId),
    /// The session already has an entry with the caller's id; nothing was written.
    #[error("the session already has an entry {0}; choose another id")]
    DuplicateId(EntryId),
    /// The session is saved in another place already.
    #[error(
        "the session already has a file or a store, or the store has another session; save a fork in an empty store"
    )]
    AlreadySaved,
    /// The store of the embedding program failed.
    #[error("cannot {doing} the program's store: {cause}")]
    Store {
        /// The action that failed.
        doing: &'static str,
        /// The store's error.
        cause: Arc<io::Error>,
    },
    /// No session, or more than one session, matches the id prefix.
    #[error("{}", match count { 0 => format!("no session matches {name:?}"), _ => format!("{count} sessions match {name:?}; give a longer part of the id") })]
    NotFound {
        /// The id prefix.
        name: String,
        /// The number of matches.
        count: usize,
    },
    /// The entry cannot be serialized.
    #[error("the entry cannot be written as JSON: {0}")]
    Unwritable(String),
    /// The session has the entry and will write it, but the entry is not yet confirmed to be on disk. Do not append it
    /// again.
    #[error("the entry is not yet saved: {0}")]
    NotSynced(Arc<SessionError>),
    /// The thread that writes to disk has ended.
    #[error("the session writer stopped, so the entry may be missing; reopen the session")]
    Unknown,
}

impl fmt::Debug for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::error::write_report(self, f)
    }
}

impl SessionError {
    fn from_io(doing: &'static str, path: &Path, source: io::Error) -> Self {
        if source.kind() == io::ErrorKind::WouldBlock {
            return Self::Locked { path: path.to_owned() };
        }
        Self::Io { doing, path: path.to_owned(), cause: Arc::new(source) }
    }

    fn from_store(doing: &'static str, source: io::Error) -> Self {
        Self::Store { doing, cause: Arc::new(source) }
    }
}

impl From<serde_json::Error> for SessionError {
    fn from(error: serde_json::Error) -> Self {
        Self::Unwritable(error.to_string())
    }
}

#[cfg(test)]
mod tests;
