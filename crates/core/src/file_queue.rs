//! `FileQueue`: whoever changes a file waits for the change before it.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_protocol::defence::{Defence, is_up};
use tokio::sync::Notify;

use crate::timeouts;

/// Orders changes of files: first come, first served, per file. Cheap to clone; all clones are one queue.
///
/// A file is known by device and inode, and by its name in its directory, so that symbolic links, hard links, bind
/// mounts and, where the disk makes no difference, upper and lower case share a queue. The name keeps the place when
/// a holder replaces the file by renaming another over it; where there is no file yet, it is all there is.
///
/// Who comes first is decided by [`FileQueue::take_ticket`], before the disk is asked anything. So calls that are begun in
/// an order are served in it.
///
/// One task must not hold two guards at a time: two tasks doing so in opposite order would wait for ever.
#[derive(Debug, Clone, Default)]
pub struct FileQueue {
    line: Arc<ClaimQueue>,
}

impl FileQueue {
    /// Takes the next place in line, for a file that is named later. Everybody behind it waits until it is.
    pub fn take_ticket(&self) -> QueueTicket {
        let mut claims = self.line.lock_claims();
        let ticket = claims.last_key_value().map_or(0, |(last, _)| last + 1);
        claims.insert(ticket, FileClaim::Resolving);
        QueueTicket { line: Arc::clone(&self.line), ticket }
    }

    /// Waits until the file is free. `path` should be absolute; the file need not exist, its directory must.
    ///
    /// Looks at the file system with blocking calls on tokio's blocking threads, so it needs a runtime with a clock.
    ///
    /// # Errors
    /// When the path cannot be resolved: its directory does not exist or may not be searched.
    pub async fn lock(&self, path: &Path) -> io::Result<FileGuard> {
        self.take_ticket().lock(path).await
    }
}

/// A place in line, given up when dropped.
#[derive(Debug)]
#[must_use = "the place is lost as soon as it is dropped"]
pub struct QueueTicket {
    line: Arc<ClaimQueue>,
    ticket: u64,
}

impl QueueTicket {
    /// Waits until the file is free; see [`FileQueue::lock`].
    ///
    /// # Errors
    /// When the path cannot be resolved.
    pub async fn lock(self, path: &Path) -> io::Result<FileGuard> {
        let mut known = match identify_off_thread(path).await {
            // Somebody in front may be about to make the directory.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.wait_until(|patient| !patient || self.line.front_is_named(self.ticket)).await;
                identify_off_thread(path).await?
            }
            known => known?,
        };
        loop {
            self.wait(known.keys.clone()).await;
            // Whoever held the file may have replaced it meanwhile.
            let now = identify_off_thread(path).await?;
            if now == known {
                return Ok(FileGuard { path: known.path, _place: self });
            }
            known = now;
        }
    }

    /// Waits for everybody in front who wants this file, and for whoever has it.
    async fn wait(&self, keys: Vec<FileIdentity>) {
        self.line.set(self.ticket, FileClaim::Waiting(keys));
        self.wait_until(|patient| self.line.start(self.ticket, patient)).await;
    }

    /// Asks again whenever somebody moves. Whoever is in front and has not said what it wants is waited for patiently
    /// only so long: its disk may never answer.
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

/// The right to change a file, until dropped.
#[derive(Debug)]
#[must_use = "the file is free again as soon as the guard is dropped"]
pub struct FileGuard {
    path: PathBuf,
    _place: QueueTicket,
}

impl FileGuard {
    /// The file itself, symbolic links resolved: what is to be read and replaced.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Everybody who has a file or waits for one, by the order of coming.
#[derive(Debug, Default)]
struct ClaimQueue {
    claims: Mutex<BTreeMap<u64, FileClaim>>,
    /// Told whenever somebody may have become free.
    moved: Notify,
}

#[derive(Debug)]
enum FileClaim {
    /// It has not said yet which file it wants.
    Resolving,
    Waiting(Vec<FileIdentity>),
    Running(Vec<FileIdentity>),
}

impl ClaimQueue {
    fn lock_claims(&self) -> MutexGuard<'_, BTreeMap<u64, FileClaim>> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, ticket: u64, claim: FileClaim) {
        self.lock_claims().insert(ticket, claim);
        self.moved.notify_waiters();
    }

    fn front_is_named(&self, ticket: u64) -> bool {
        self.lock_claims().range(..ticket).all(|(_, claim)| !matches!(claim, FileClaim::Resolving))
    }

    /// Lets a waiting claim run if nobody is in its way. Nobody who runs waits, and everybody else waits only for
    /// those in front, so there is no cycle to wait in.
    fn start(&self, ticket: u64, patient: bool) -> bool {
        let mut claims = self.lock_claims();
        let Some(FileClaim::Waiting(keys)) = claims.get(&ticket) else { return true };
        let blocked = claims.iter().any(|(&other, claim)| match claim {
            FileClaim::Resolving => patient && other < ticket,
            FileClaim::Waiting(theirs) => other < ticket && share_identity(keys, theirs),
            FileClaim::Running(theirs) => other != ticket && share_identity(keys, theirs),
        });
        if blocked && is_up(Defence::FileQueue) {
            return false;
        }
        let keys = keys.clone();
        claims.insert(ticket, FileClaim::Running(keys));
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

/// Two claims that have one of these in common are about one file.
#[derive(Debug, Clone, PartialEq, Eq)]
enum FileIdentity {
    /// Device and inode of the file.
    #[cfg(unix)]
    File(u64, u64),
    /// Device and inode of its directory, and its name there in lower case: not every disk tells upper from lower, and
    /// on those that do nothing is lost but a little time.
    #[cfg(unix)]
    Name(u64, u64, String),
    /// The resolved path; the standard library has no stable file numbers here.
    #[cfg(not(unix))]
    Path(PathBuf),
}

/// Where a path leads, and what is there.
#[derive(Debug, PartialEq, Eq)]
struct ResolvedFile {
    path: PathBuf,
    keys: Vec<FileIdentity>,
}

/// Blocks.
fn identify_file(path: &Path) -> io::Result<ResolvedFile> {
    let path = resolve(path)?;
    let keys = keys(&path)?;
    Ok(ResolvedFile { path, keys })
}

/// The path without links; of a file that does not exist, its directory's with the name behind it.
fn resolve(path: &Path) -> io::Result<PathBuf> {
    match path.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Err(error) };
            // A bare name has the empty path as its parent.
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
#[expect(clippy::unnecessary_wraps, reason = "the signature is the one of Unix")]
fn keys(path: &Path) -> io::Result<Vec<FileIdentity>> {
    Ok(vec![FileIdentity::Path(path.to_owned())])
}

#[cfg(test)]
mod tests;
