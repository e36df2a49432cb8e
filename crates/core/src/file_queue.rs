//! `FileQueue`: whoever changes a file waits for the change before it.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

/// Orders changes of files: first come, first served, per file. Who comes first is decided when the path is
/// resolved, so two calls at the very same time may swap places. Cheap to clone; all clones are one queue.
///
/// A file is known by its resolved path and, on Unix, by device and inode as well, so that symbolic links, hard
/// links and bind mounts of one file share a queue. Two locks are taken, the path's first: the path stays the same
/// when a holder replaces the file by renaming another over it, which keeps the order; the inode catches the aliases.
/// Nobody waits for a path while holding an inode, so there is no cycle to wait in.
///
/// One task must not hold two guards at a time: two tasks doing so in opposite order would wait for ever.
#[derive(Debug, Clone, Default)]
pub struct FileQueue {
    locks: Arc<Mutex<HashMap<Key, Weak<AsyncMutex<()>>>>>,
}

impl FileQueue {
    /// Waits until the file is free. `path` should be absolute; the file need not exist, its directory must.
    ///
    /// Looks at the file system with blocking calls on tokio's blocking threads, so it needs a runtime.
    ///
    /// # Errors
    /// When the path cannot be resolved: its directory does not exist or may not be searched.
    pub async fn lock(&self, path: &Path) -> io::Result<FileGuard> {
        let asked = path.to_owned();
        let path = off_thread(move || resolve(&asked)).await?;
        let by_path = self.acquire(Key::Path(path.clone())).await;
        loop {
            let Some(file) = file_of(&path).await? else {
                return Ok(FileGuard { path, _by_path: by_path, _by_file: None });
            };
            let by_file = self.acquire(Key::File(file)).await;
            // Whoever held the file under another name may have replaced it meanwhile.
            if file_of(&path).await? == Some(file) {
                return Ok(FileGuard { path, _by_path: by_path, _by_file: Some(by_file) });
            }
        }
    }

    async fn acquire(&self, key: Key) -> OwnedMutexGuard<()> {
        let lock = {
            let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
            locks.retain(|_, lock| lock.strong_count() > 0);
            match locks.get(&key).and_then(Weak::upgrade) {
                Some(lock) => lock,
                None => {
                    let lock = Arc::default();
                    locks.insert(key, Arc::downgrade(&lock));
                    lock
                }
            }
        };
        lock.lock_owned().await
    }
}

/// The right to change one file, until dropped.
#[derive(Debug)]
#[must_use = "the file is free again as soon as the guard is dropped"]
pub struct FileGuard {
    path: PathBuf,
    _by_path: OwnedMutexGuard<()>,
    _by_file: Option<OwnedMutexGuard<()>>,
}

impl FileGuard {
    /// The file itself, symbolic links resolved: what is to be read and replaced.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    Path(PathBuf),
    File(FileId),
}

/// Device and inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct FileId {
    device: u64,
    inode: u64,
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

async fn file_of(path: &Path) -> io::Result<Option<FileId>> {
    let path = path.to_owned();
    off_thread(move || file_id(&path)).await
}

#[cfg(unix)]
fn file_id(path: &Path) -> io::Result<Option<FileId>> {
    use std::os::unix::fs::MetadataExt;
    match path.metadata() {
        Ok(data) => Ok(Some(FileId { device: data.dev(), inode: data.ino() })),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The standard library has no stable file numbers here; the resolved path must do.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "the signature is the one of Unix")]
fn file_id(_: &Path) -> io::Result<Option<FileId>> {
    Ok(None)
}

async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}

#[cfg(test)]
mod tests;
