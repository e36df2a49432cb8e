//! A file of this machine that nobody else changes meanwhile.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use haft_core::file_queue::{FileGuard, Place};

use super::atomic::{self, Disk, Root, Stamp};
use crate::environment::off_thread;
use crate::environment::{ClaimedFile, EnvironmentError, FileKey, Written};

/// The means to write a file.
#[derive(Clone)]
pub(super) struct Ground {
    pub(super) disk: Arc<Disk>,
    /// Where files may be read, if not everywhere.
    pub(super) reads: Option<Arc<Root>>,
    /// Where files may be written, if not everywhere.
    pub(super) root: Option<Arc<Root>>,
}

/// The guard is shared with the thread that writes, so that the file stays claimed until the write is over even
/// when the caller goes away.
pub(super) struct HostFile {
    guard: Arc<FileGuard>,
    ground: Ground,
    read: Option<Stamp>,
}

impl HostFile {
    pub(super) async fn claim(place: Place, ground: Ground, path: &Path) -> Result<Self, EnvironmentError> {
        let guard = place.lock(path).await.map_err(|error| EnvironmentError::io("reach", path, error))?;
        Ok(Self { guard: Arc::new(guard), ground, read: None })
    }
}

#[async_trait]
impl ClaimedFile for HostFile {
    async fn key(&mut self) -> Result<FileKey, EnvironmentError> {
        let guard = Arc::clone(&self.guard);
        let stamp = off_thread(move || atomic::look(guard.path())).await?;
        Ok(FileKey { path: self.guard.path().to_owned(), id: stamp.and_then(Stamp::id) })
    }

    async fn read(&mut self, limit: u64) -> Result<Option<Vec<u8>>, EnvironmentError> {
        let (guard, reads) = (Arc::clone(&self.guard), self.ground.reads.clone());
        let found = off_thread(move || atomic::read(reads.as_deref(), guard.path(), limit)).await?;
        self.read = found.as_ref().map(|(_, stamp)| *stamp);
        Ok(found.map(|(content, _)| content))
    }

    async fn replace(&mut self, content: Vec<u8>) -> Result<Written, EnvironmentError> {
        let (guard, Ground { disk, root, .. }, read) =
            (Arc::clone(&self.guard), self.ground.clone(), self.read);
        off_thread(move || atomic::replace(&disk, root.as_deref(), guard.path(), &content, read)).await
    }
}
