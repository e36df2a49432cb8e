//! `Session`: the user's work, on disk as it happens.
//!
//! A session is a tree of entries in a file of lines that only grows. What was acknowledged is never lost: not when the
//! program is killed, and not when the machine loses power if the entry was asked to be durable at once. Nothing that
//! is wrong with one line costs another one.
//!
//! * [`entry`]: what stands in a file, [`intervention`] what extensions did to calls, answers and turns;
//!   [`recover()`]: what a file says, whatever happened to it;
//! * [`Session`]: an open one, which the agent holds; [`context()`]: what the model is sent of it;
//! * [`store`]: where sessions lie.

mod context;
mod disk;
pub mod entry;
mod id;
pub mod intervention;
mod line;
mod log;
mod moving;
mod recover;
mod resume;
mod state;
pub mod store;
mod survey;
mod sync;
mod tree;
mod whole;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::{fmt, io};

use haft_protocol::event::AgentEvent;
use haft_protocol::message::{Message, Rfc3339Time};

use crate::timeouts;
use disk::{Disk, RealDisk};
use entry::{EntryBody, FORMAT_VERSION, ForkOrigin, Said, SessionEntry, SessionHeader};
use state::{AppendOutcome, SessionState, SyncTask};
use sync::{SyncHandle, SyncReceiver};

pub use context::{INTERRUPTED, NOT_RUN, SessionContext, build_context};
pub(crate) use context::{complete_tool_calls, missing_result};
pub use id::{EntryId, SessionId};
pub use recover::{RecoveredSession, SessionRepair, recover};
pub use tree::labels;

/// The guarantee that an entry needs before it is acknowledged. Either way it survives the end of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Durability {
    /// It is on the disk, and survives a loss of power.
    Now,
    /// It is handed to the system, and on the disk within a second.
    Soon,
}

impl Durability {
    /// Returns the usual guarantee of an entry: at once for what the user said, an answer that ends a turn, the start
    /// of a tool, a compaction.
    pub fn for_body(body: &EntryBody) -> Self {
        match body {
            EntryBody::Said(Said { message: Message::User { .. }, .. })
            | EntryBody::ToolStart(_)
            | EntryBody::Compaction(_) => Self::Now,
            EntryBody::Said(Said { message: Message::Assistant(said), .. })
                if said.tool_calls().next().is_none() =>
            {
                Self::Now
            }
            EntryBody::Said(_)
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

/// An open session. Clones are one session; the file is closed, and free for others, when the last one is dropped.
///
/// ```
/// use std::path::Path;
///
/// use haft_core::model::Model;
/// use haft_core::session::store::SessionStore;
/// use haft_core::session::{Session, SessionError};
/// use haft_core::{Agent, BuildError};
///
/// /// Goes on where this project was left, or begins anew.
/// fn resume(sessions: &Path, project: &Path) -> Result<Session, SessionError> {
///     let store = SessionStore::new(sessions);
///     match store.latest(project)? {
///         Some(found) => Session::open(&found.path),
///         None => Ok(store.create(project)),
///     }
/// }
///
/// fn agent(model: impl Model + 'static, session: Session) -> Result<Agent, BuildError> {
///     Agent::builder(model).session(session).build() // its transcript is the agent's
/// }
///
/// # let dir = tempfile::tempdir()?;
/// let session = resume(dir.path(), Path::new("/srv/app"))?;
/// assert!(session.path().is_some_and(|path| !path.exists())); // until something is said
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Session {
    shared: Arc<SharedSession>,
    clock: Clock,
}

type Clock = Arc<dyn Fn() -> Rfc3339Time + Send + Sync>;

impl Session {
    /// One that leaves no file.
    pub fn in_memory(cwd: &Path) -> Self {
        Self::new(SessionState::in_memory(header(cwd, None)))
    }

    /// A new one whose file will lie in `dir`. The file is made when there is something to keep: the first message, a
    /// name, a label. Before that nothing is on the disk, not even the directory.
    pub fn create(dir: &Path, cwd: &Path) -> Self {
        Self::create_on(Arc::new(RealDisk), dir, cwd)
    }

    fn create_on(disk: Arc<dyn Disk>, dir: &Path, cwd: &Path) -> Self {
        let header = header(cwd, None);
        let path = dir.join(header.id.file_name());
        Self::new(SessionState::not_created(disk, header, path))
    }

    /// Opens a session's file to go on with it, and locks it. A torn end is cut off and saved. The file of a newer
    /// format is opened as with [`open_read_only`](Self::open_read_only). Blocks the thread while it reads the branch
    /// that the session goes on with; all of the file if something is wrong with that.
    ///
    /// # Errors
    /// [`SessionError::Locked`] when it is open elsewhere, [`SessionError::Io`].
    pub fn open(path: &Path) -> Result<Self, SessionError> {
        Self::open_on(Arc::new(RealDisk), path)
    }

    fn open_on(disk: Arc<dyn Disk>, path: &Path) -> Result<Self, SessionError> {
        SessionState::open(disk, path).map(Self::new)
    }

    /// Opens a session's file to look at it, whoever else has it open. Nothing can be appended.
    ///
    /// # Errors
    /// [`SessionError::Io`].
    pub fn open_read_only(path: &Path) -> Result<Self, SessionError> {
        SessionState::open_read_only(path).map(Self::new)
    }

    fn new(state: SessionState) -> Self {
        let shared = SharedSession { state: Arc::new(Mutex::new(state)), syncer: OnceLock::new() };
        Self { shared: Arc::new(shared), clock: Arc::new(current_time) }
    }

    /// With another clock for the times of entries, for output that is the same each time.
    #[must_use]
    pub fn with_clock(mut self, clock: impl Fn() -> Rfc3339Time + Send + Sync + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Adds an entry behind the [leaf](Self::leaf) and makes it the leaf.
    ///
    /// It is written before this returns, so that entries stand in the order of the calls; the future only waits for
    /// the disk, if it has to. While the session has to go on in another file, entries wait in memory for that file, and
    /// so do the futures of all of them. An entry that was acknowledged by the future is never lost; one that was not
    /// may or may not be there. Needs no runtime.
    ///
    /// # Errors
    /// [`SessionError::NotSynced`] when the session has the entry, as its leaf, but it may not be on the disk. With any
    /// other nothing is written: [`SessionError::ReadOnly`], [`SessionError::Newer`]; [`SessionError::Io`] when the next attempt may succeed.
    pub fn append(
        &self,
        body: impl Into<EntryBody>,
        durability: Durability,
    ) -> impl Future<Output = Result<EntryId, SessionError>> + Send + 'static {
        let written = self.shared.append(body.into(), (self.clock)(), durability);
        async move {
            let (id, synced) = written?;
            wait_synced(synced).await.map_err(|error| SessionError::NotSynced(Arc::new(error)))?;
            Ok(id)
        }
    }

    /// Waits until everything that was appended is on the disk.
    ///
    /// # Errors
    /// [`SessionError::Io`].
    pub fn flush(&self) -> impl Future<Output = Result<(), SessionError>> + Send + 'static {
        let synced = self.shared.flush();
        async move { wait_synced(synced?).await }
    }

    /// Returns the event for front ends.
    pub fn event(&self) -> AgentEvent {
        let path = self.path().map(|path| path.to_string_lossy().into_owned());
        AgentEvent::Session { id: self.id().to_string(), path }
    }

    /// The session's name. It changes when the session has to go on in another file: [`SessionRepair::Moved`].
    pub fn id(&self) -> SessionId {
        self.header().id
    }

    /// Returns the header of its file.
    pub fn header(&self) -> SessionHeader {
        self.shared.lock().header.clone()
    }

    /// Its file; none for one in memory. It may not exist yet.
    pub fn path(&self) -> Option<PathBuf> {
        self.shared.lock().path().map(Path::to_owned)
    }

    /// True if nothing can be appended.
    pub fn is_read_only(&self) -> bool {
        self.shared.lock().is_read_only()
    }

    /// The entry that the next one will follow; none at the root.
    pub fn leaf(&self) -> Option<EntryId> {
        self.shared.lock().leaf
    }

    /// Goes on from another entry, or from the root: the next entry begins a branch there. Until then nothing is
    /// written, and whoever opens the file finds its last line as the leaf. Blocks the thread while it reads a branch
    /// that was not read before.
    ///
    /// # Errors
    /// [`SessionError::NoEntry`], [`SessionError::Io`].
    pub fn move_to(&self, entry: Option<EntryId>) -> Result<(), SessionError> {
        self.shared.lock().move_to(entry)
    }

    /// One entry, if it was read: those of the branch, and all that were appended, are.
    pub fn entry(&self, id: EntryId) -> Option<Arc<SessionEntry>> {
        self.shared.lock().entry(id)
    }

    /// The entries that lead to the leaf, oldest first: from the root, or from what the last compaction kept.
    pub fn branch(&self) -> Vec<Arc<SessionEntry>> {
        self.shared.lock().branch()
    }

    /// Returns the context of the branch for the model. Every tool call in it has exactly one result: while tools run,
    /// those that are missing are given in their stead.
    pub fn context(&self) -> SessionContext {
        build_context(&self.branch())
    }

    /// Takes the repairs of the file, each reported once. The runs of an agent on this session take them and tell them
    /// as [events](Self::take_repair_events).
    pub fn take_repairs(&self) -> Vec<SessionRepair> {
        std::mem::take(&mut self.shared.lock().repairs)
    }

    /// Takes the repairs as front ends are told of them: behind one that had the session go on in another file comes where
    /// it is now.
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

/// The current time in the form of all time stamps, for where the embedder gives none.
pub(crate) fn current_time() -> Rfc3339Time {
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

/// The state that the clones of a session share with its thread.
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
        body: EntryBody,
        time: Rfc3339Time,
        durability: Durability,
    ) -> Result<(EntryId, Option<SyncReceiver>), SessionError> {
        let mut state = self.lock();
        // Started before anything is written: an error of this says that nothing is.
        let syncer = state.disk_for(&body).map(|disk| self.sync_handle(disk)).transpose()?;
        let (id, written) = state.append(body, time)?;
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

    /// The thread, started if there is none. Called with the state locked.
    fn sync_handle(&self, disk: &dyn Disk) -> Result<&SyncHandle, SessionError> {
        if let Some(syncer) = self.syncer.get() {
            return Ok(syncer);
        }
        let state = Arc::clone(&self.state);
        let started =
            SyncHandle::start(disk, move || sync(&state), timeouts::GROUP_COMMIT).map_err(|error| {
                SessionError::from_io("start the thread that syncs", Path::new("the session"), error)
            })?;
        Ok(self.syncer.get_or_init(|| started))
    }
}

impl Drop for SharedSession {
    fn drop(&mut self) {
        // The thread may still have to sync; whoever wants the session next need not wait for it.
        self.lock().close();
    }
}

/// Brings everything that was appended so far to the disk. Whatever takes long is done without the lock, which whoever
/// appends needs.
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
            SyncTask::Move(moving) => {
                let moved = moving.carry_out()?;
                // What was added while it was made, somebody waits for in the next round.
                return lock(state).finish_relocation(moved);
            }
        }
    }
}

fn lock(state: &Mutex<SessionState>) -> MutexGuard<'_, SessionState> {
    // Whatever panicked: the file is as the state says, or the next append notices.
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why a session did not do what was asked. An entry whose `append` failed was not acknowledged: it may be missing.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// Another process, or another handle in this one, has the session open.
    #[error("session {} is in use; open it read-only or fork it", path.display())]
    Locked {
        /// Its file.
        path: PathBuf,
    },
    /// The session was opened read-only.
    #[error("session {} is open read-only; fork it to continue", path.display())]
    ReadOnly {
        /// Its file.
        path: PathBuf,
    },
    /// The file is of a newer format: it can be read, neither written nor forked.
    #[error("session {} was written by a newer version of haft (format {version}; this version reads up to {FORMAT_VERSION}); upgrade haft to continue it", path.display())]
    Newer {
        /// Its file.
        path: PathBuf,
        /// Its format.
        version: u32,
    },
    /// The system refused.
    #[error("cannot {doing} {}; check disk space and permissions, then try again", path.display())]
    Io {
        /// The action that failed: `write`, `open`, …
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: Arc<io::Error>,
    },
    /// The session has no such entry.
    #[error("the session has no entry {0}")]
    NoEntry(EntryId),
    /// No session has a name that begins so, or several have.
    #[error("{}", match count { 0 => format!("no session matches {name:?}"), _ => format!("{count} sessions match {name:?}; give a longer part of the id") })]
    NotFound {
        /// The name that was asked for.
        name: String,
        /// The number of sessions that match.
        count: usize,
    },
    /// The entry has no form on disk.
    #[error("the entry cannot be written as JSON: {0}")]
    Unwritable(String),
    /// The session has the entry, and writes it when it can, but nobody could make sure yet that it is on the disk.
    /// Whoever appends it again has it twice.
    #[error("the entry is not yet saved to disk: {0}")]
    NotSynced(Arc<SessionError>),
    /// The thread that writes to the disk is gone.
    #[error("the session writer stopped, so the entry may be missing; reopen the session")]
    Unknown,
}

impl SessionError {
    fn from_io(doing: &'static str, path: &Path, source: io::Error) -> Self {
        if source.kind() == io::ErrorKind::WouldBlock {
            return Self::Locked { path: path.to_owned() };
        }
        Self::Io { doing, path: path.to_owned(), source: Arc::new(source) }
    }
}

impl From<serde_json::Error> for SessionError {
    fn from(error: serde_json::Error) -> Self {
        Self::Unwritable(error.to_string())
    }
}

#[cfg(test)]
mod tests;
