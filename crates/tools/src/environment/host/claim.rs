//! A claimed file of this machine.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use haft_core::file_queue::{FileGuard, QueueTicket};

use super::atomic::{self, FileStamp, SharedWriteState};
use super::restriction::FileRestriction;
use crate::environment::run_blocking;
use crate::environment::{ClaimedFile, EnvironmentError, FileKey, FileWriteOutcome};

/// The parts that are needed to write a file.
#[derive(Clone)]
pub(super) struct WriteContext {
    pub(super) disk: Arc<SharedWriteState>,
    /// The files that may be read.
    pub(super) reads: FileRestriction,
    /// The files that may be written.
    pub(super) root: FileRestriction,
}

/// The writing thread shares the guard, so that the file stays claimed until the write is complete, even if the
/// caller is gone.
pub(super) struct HostFile {
    guard: Arc<FileGuard>,
    context: WriteContext,
    read: Option<FileStamp>,
}

impl HostFile {
    pub(super) async fn claim(
        place: QueueTicket,
        ground: WriteContext,
        path: &Path,
    ) -> Result<Self, EnvironmentError> {
        let guard = place.lock(path).await.map_err(|error| EnvironmentError::io("reach", path, error))?;
        Ok(Self { guard: Arc::new(guard), context: ground, read: None })
    }
}

#[async_trait]
impl ClaimedFile for HostFile {
    fn path(&self) -> &Path {
        self.guard.path()
    }

    async fn key(&mut self) -> Result<FileKey, EnvironmentError> {
        let guard = Arc::clone(&self.guard);
        let stamp = run_blocking(move || atomic::read_stamp(guard.path())).await?;
        Ok(FileKey { path: self.guard.path().to_owned(), id: stamp.and_then(FileStamp::id) })
    }

    async fn read(&mut self, limit: u64) -> Result<Option<Vec<u8>>, EnvironmentError> {
        let (guard, reads) = (Arc::clone(&self.guard), self.context.reads.clone());
        let found = run_blocking(move || atomic::read(reads.path_boundary(), guard.path(), limit)).await?;
        self.read = found.as_ref().map(|(_, stamp)| *stamp);
        Ok(found.map(|(content, _)| content))
    }

    async fn replace(&mut self, content: Vec<u8>) -> Result<FileWriteOutcome, EnvironmentError> {
        let (guard, WriteContext { disk, root, .. }, read) =
            (Arc::clone(&self.guard), self.context.clone(), self.read);
        run_blocking(move || atomic::replace(&disk, root.path_boundary(), guard.path(), &content, read)).await
    }
}
