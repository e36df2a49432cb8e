//! `FileQueue`: serializes changes to the same file.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_protocol::defense::{Defense, is_up};
use tokio::sync::Notify;

use crate::timeouts;

/// Orders changes to files: first come, first served, per file. Cheap to clone; all clones are one queue.
///
/// A file is identified by device and inode, and by its name in its directory. Symbolic links, hard links, bind mounts
/// and, on case-insensitive disks, different spellings of a name therefore share a queue. The name keeps the place when
/// a holder replaces the file by renaming another file over it. A file that does not exist yet is identified by its
/// name only.
///
/// [`FileQueue::take_ticket`] fixes the order before any disk access, so that calls are served in the order in which
/// they started.
///
/// A task must not hold two guards at a time, because two tasks that lock in opposite order would deadlock.
///
/// A program that needs a file for longer than one change is a [`LockOwner`]: it [locks](Self::lock_for_long) the file,
/// and its own changes pass this lock. All others wait.
#[derive(Debug, Clone, Default)]
pub struct FileQueue {
    line: Arc<ClaimQueue>,
    owner: Option<LockOwner>,
}

/// A program that can lock files for longer than one change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LockOwner(u64);

impl LockOwner {
    /// Creates an owner that differs from all others.
    pub fn new() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self(LAST.fetch_add(1, Ordering::Relaxed))
    }
}

impl Default for LockOwner {
    fn default() -> Self {
        Self::new()
    }
}

impl FileQueue {
    /// Returns the same queue for the changes and the locks of this owner.
    #[must_use]
    pub fn for_owner(&self, owner: LockOwner) -> Self {
        Self { owner: Some(owner), ..self.clone() }
    }

    /// Takes the next place in the queue for a file that is named later. All later tickets wait until the file is
    /// named.
    pub fn take_ticket(&self) -> QueueTicket {
        self.take_ticket_for(ClaimPurpose::Change)
    }

    fn take_ticket_for(&self, purpose: ClaimPurpose) -> QueueTicket {
        let mut claims = self.line.lock_claims();
        let ticket = claims.last_key_value().map_or(0, |(last, _)| last + 1);
        claims.insert(ticket, FileClaim { owner: self.owner, purpose, stage: ClaimStage::Resolving });
        QueueTicket { line: Arc::clone(&self.line), ticket }
    }

    /// Waits until the file is free, like [`lock`](Self::lock), and locks it for longer than one change. Changes of the
    /// [owner](Self::for_owner) of this queue pass the lock, also before others that wait for it. The owner must limit the
    /// time of the lock.
    ///
    /// # Errors
    /// If the path cannot be resolved.
    pub async fn lock_for_long(&self, path: &Path) -> io::Result<FileGuard> {
        self.take_ticket_for(ClaimPurpose::LongLock).lock(path).await
    }

    /// Waits until the file is free. `path` should be absolute. The file does not have to exist, but its directory
    /// must.
    ///
    /// Accesses the file system on tokio's blocking threads, and therefore needs a runtime with a timer.
    ///
    /// # Errors
    /// If the path cannot be resolved: its directory does not exist or is not accessible.
    pub async fn lock(&self, path: &Path) -> io::Result<FileGuard> {
        self.take_ticket().lock(path).await
    }
}

/// A place in the queue; dropping it gives up the place.
#[derive(Debug)]
#[must_use = "dropping the ticket gives up the place"]
pub struct QueueTicket {
    line: Arc<ClaimQueue>,
    ticket: u64,
}

impl QueueTicket {
    /// Waits until the file is free; see [`FileQueue::lock`].
    ///
    /// # Errors
    /// If the path cannot be resolved.
    pub async fn lock(self, path: &Path) -> io::Result<FileGuard> {
        let mut known = match identify_off_thread(path).await {
            // An earlier ticket may be about to create the directory.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.wait_until(|patient| !patient || self.line.front_is_named(self.ticket)).await;
                identify_off_thread(path).await?
            }
            known => known?,
        };
        loop {
            self.wait(known.keys.clone()).await;
            // The previous holder may have replaced the file.
            let now = identify_off_thread(path).await?;
            if now == known {
                return Ok(FileGuard { path: known.path, _place: self });
            }
            known = now;
        }
    }

    /// Waits for all earlier claims on this file and for its current holder.
    async fn wait(&self, keys: Vec<FileIdentity>) {
        self.line.set(self.ticket, ClaimStage::Waiting(keys));
        self.wait_until(|patient| self.line.start(self.ticket, patient)).await;
    }

    /// Checks the condition again after every change. An earlier ticket that has not named its file delays others only
    /// for a limited time, because its disk may never answer.
    async fn wait_until(&self, done: impl Fn(bool) -> bool) {
        let mut patience = pin!(tokio::time::sleep(timeouts::UNNAMED_FILE));
        let mut patient = true;
        loop {
            let mut moved = pin!(self.line.moved.notified());
            moved.as_mut().enable();
            if done(patient) {
                return;
            }
            tokio::select! {
                () = moved => {}
                () = &mut patience, if patient => patient = false,
            }
        }
    }
}

impl Drop for QueueTicket {
    fn drop(&mut self) {
        self.line.lock_claims().remove(&self.ticket);
        self.line.moved.notify_waiters();
    }
}

/// The exclusive right to change a file, until dropped.
#[derive(Debug)]
#[must_use = "dropping the guard unlocks the file"]
pub struct FileGuard {
    path: PathBuf,
    _place: QueueTicket,
}

impl FileGuard {
    /// Returns the path of the file with symbolic links resolved. Read and replace this path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// All holders and waiters of files, in order of arrival.
#[derive(Debug, Default)]
struct ClaimQueue {
    claims: Mutex<BTreeMap<u64, FileClaim>>,
    /// Notified whenever a claim may have become runnable.
    moved: Notify,
}

#[derive(Debug)]
struct FileClaim {
    owner: Option<LockOwner>,
    purpose: ClaimPurpose,
    stage: ClaimStage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClaimPurpose {
    Change,
    LongLock,
}

#[derive(Debug)]
enum ClaimStage {
    /// The ticket has not named its file yet.
    Resolving,
    Waiting(Vec<FileIdentity>),
    Running(Vec<FileIdentity>),
}

impl FileClaim {
    /// True if the claim is a lock of the owner that makes this change.
    fn is_own_lock_of(&self, change: &Self) -> bool {
        let is_lock = change.purpose == ClaimPurpose::Change && self.purpose == ClaimPurpose::LongLock;
        is_lock && self.owner.is_some() && self.owner == change.owner
    }

    fn holds_one_of(&self, keys: &[FileIdentity]) -> bool {
        matches!(&self.stage, ClaimStage::Running(held) if share_identity(keys, held))
    }
}

impl ClaimQueue {
    fn lock_claims(&self) -> MutexGuard<'_, BTreeMap<u64, FileClaim>> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, ticket: u64, stage: ClaimStage) {
        if let Some(claim) = self.lock_claims().get_mut(&ticket) {
            claim.stage = stage;
        }
        self.moved.notify_waiters();
    }

    fn front_is_named(&self, ticket: u64) -> bool {
        self.lock_claims().range(..ticket).all(|(_, claim)| !matches!(claim.stage, ClaimStage::Resolving))
    }

    /// Starts a waiting claim if no conflicting claim is before it. Running claims never wait, and waiting claims wait
    /// only for earlier ones, so that no cycle can form. A change of an owner that holds the file waits only for running
    /// claims and for earlier changes of the owner, because all others wait for the owner.
    fn start(&self, ticket: u64, patient: bool) -> bool {
        let mut claims = self.lock_claims();
        let Some(change) = claims.get(&ticket) else { return true };
        let ClaimStage::Waiting(keys) = &change.stage else { return true };
        let is_held = claims.values().any(|other| other.is_own_lock_of(change) && other.holds_one_of(keys));
        let conflicts = |other: &FileClaim| !other.is_own_lock_of(change);
        let blocked = claims.iter().any(|(&place, other)| match &other.stage {
            ClaimStage::Resolving => patient && place < ticket,
            ClaimStage::Waiting(theirs) => {
                let counts = !is_held || other.owner == change.owner;
                place < ticket && counts && conflicts(other) && share_identity(keys, theirs)
            }
            ClaimStage::Running(theirs) => {
                place != ticket && conflicts(other) && share_identity(keys, theirs)
            }
        });
        if blocked && is_up(Defense::FileQueue) {
            return false;
        }
        let keys = keys.clone();
        if let Some(claim) = claims.get_mut(&ticket) {
            claim.stage = ClaimStage::Running(keys);
        }
        true
    }
}

fn share_identity(left: &[FileIdentity], right: &[FileIdentity]) -> bool {
    left.iter().any(|key| right.contains(key))
}

async fn identify_off_thread(path: &Path) -> io::Result<ResolvedFile> {
    let path = path.to_owned();
    tokio::task::spawn_blocking(move || identify_file(&path)).await.map_err(io::Error::other)?
}

/// One identity of a file. Two claims with a common identity are about the same file.
#[derive(Debug, Clone, PartialEq, Eq)]
enum FileIdentity {
    /// Device and inode of the file.
    #[cfg(unix)]
    File(u64, u64),
    /// Device and inode of the directory, and the file name in lower case. Not every disk distinguishes case; on a disk
    /// that does, a false match costs only time.
    #[cfg(unix)]
    Name(u64, u64, String),
    /// The resolved path; the standard library has no stable file ids on this platform.
    #[cfg(not(unix))]
    Path(PathBuf),
}

/// The resolved path and the identities of the file.
#[derive(Debug, PartialEq, Eq)]
struct ResolvedFile {
    path: PathBuf,
    keys: Vec<FileIdentity>,
}

/// Identifies a file; blocks the thread.
fn identify_file(path: &Path) -> io::Result<ResolvedFile> {
    let path = resolve(path)?;
    let keys = keys(&path)?;
    Ok(ResolvedFile { path, keys })
}

/// Resolves all links of the path. For a file that does not exist, resolves its directory and appends the name.
fn resolve(path: &Path) -> io::Result<PathBuf> {
    match path.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Err(error) };
            // A bare file name has the empty path as its parent.
            let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            Ok(parent.canonicalize()?.join(name))
        }
        resolved => resolved,
    }
}

#[cfg(unix)]
fn keys(path: &Path) -> io::Result<Vec<FileIdentity>> {
    use std::os::unix::fs::MetadataExt;
    let mut keys = Vec::new();
    if let (Some(dir), Some(name)) = (path.parent(), path.file_name()) {
        let data = dir.metadata()?;
        keys.push(FileIdentity::Name(data.dev(), data.ino(), name.to_string_lossy().to_lowercase()));
    }
    match path.metadata() {
        Ok(data) => keys.push(FileIdentity::File(data.dev(), data.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    Ok(keys)
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "same signature as on Unix")]
fn keys(path: &Path) -> io::Result<Vec<FileIdentity>> {
    Ok(vec![FileIdentity::Path(path.to_owned())])
}

#[cfg(test)]
mod tests;
