//! A file of this machine that nobody else changes meanwhile.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use haft_core::file_queue::{FileGuard, FileQueue};

use super::{atomic, files, off_thread};
use crate::environment::{ClaimedFile, EnvironmentError, Written};

/// The guard is shared with the thread that writes, so that the file stays claimed until the write is over even
/// when the caller goes away.
pub(super) struct HostFile {
    guard: Arc<FileGuard>,
}

impl HostFile {
    pub(super) async fn claim(queue: &FileQueue, path: &Path) -> Result<Self, EnvironmentError> {
        let guard = queue.lock(path).await.map_err(|error| EnvironmentError::io("reach", path, error))?;
        Ok(Self { guard: Arc::new(guard) })
    }
}

#[async_trait]
impl ClaimedFile for HostFile {
    async fn read(&mut self, limit: u64) -> Result<Option<Vec<u8>>, EnvironmentError> {
        let guard = Arc::clone(&self.guard);
        off_thread(move || read_whole(guard.path(), limit)).await
    }

    async fn replace(&mut self, content: Vec<u8>) -> Result<Written, EnvironmentError> {
        let guard = Arc::clone(&self.guard);
        off_thread(move || atomic::replace(guard.path(), &content)).await
    }
}

fn read_whole(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, EnvironmentError> {
    let data = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        data => data.map_err(|error| EnvironmentError::io("read", path, error))?,
    };
    files::regular(path, &data)?;
    if data.len() > limit {
        let reason = format!("has {} bytes, more than the {limit} that can be edited; use bash", data.len());
        return Err(EnvironmentError::refused(path, reason));
    }
    fs::read(path).map(Some).map_err(|error| EnvironmentError::io("read", path, error))
}
