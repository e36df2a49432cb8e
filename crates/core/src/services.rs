//! Tools for extensions: the interface through which a program provides them and limits their access.
//!
//! The extension host requests the tools and calls them with an [`ExtensionToolRunner`](crate::ExtensionToolRunner).

use std::path::PathBuf;
use std::sync::Arc;

use haft_protocol::ext::HostCallError;
use haft_protocol::ids::ExtensionName;

use crate::file_queue::{FileQueue, LockOwner};
use crate::tool::Tool;

/// A source of tools for extensions, implemented by the surrounding program.
pub trait ExtensionToolSource: Send + Sync {
    /// Returns the tools `read`, `write`, `edit` and `bash` for one extension. Neither the file tools nor commands may
    /// access files outside `reach`. Called once per process of an extension, at its first call; may block.
    ///
    /// # Errors
    /// The reason why the tools are not available, for people.
    fn tools(&self, reach: &ServiceReach) -> Result<Vec<Arc<dyn Tool>>, String>;

    /// Returns the queue of the changes of these tools, and the file in it that this path of a call means. Only files
    /// that the tool `write` may change within `reach` can be locked. May block.
    ///
    /// # Errors
    /// The reason why the file cannot be locked. It does not depend on files outside `reach`.
    fn file_to_lock(
        &self,
        _reach: &ServiceReach,
        _path: &str,
    ) -> Result<(FileQueue, PathBuf), FileLockError> {
        let text = "this host locks no files for extensions".to_owned();
        Err(FileLockError { code: HostCallError::Unavailable, text })
    }
}

/// The reason why a file cannot be locked.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileLockError {
    /// The code of the failed call.
    pub code: HostCallError,
    /// The reason, for people.
    pub text: String,
}

impl FileLockError {
    /// Creates an error.
    pub fn new(code: HostCallError, text: impl Into<String>) -> Self {
        Self { code, text: text.into() }
    }
}

/// The files that an extension can access through the host.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServiceReach {
    /// The extension.
    pub extension: ExtensionName,
    /// The files that the extension can read and change; `None` allows all files of the user.
    pub within: Option<AllowedPaths>,
    /// The directory of the extension's data, which is always accessible.
    pub data: Option<PathBuf>,
    /// The process of the extension as an owner of locks, which its tools pass.
    pub lock_owner: LockOwner,
}

impl ServiceReach {
    /// Creates the reach of an extension that has no limits.
    pub fn new(extension: ExtensionName, lock_owner: LockOwner) -> Self {
        Self { extension, within: None, data: None, lock_owner }
    }

    /// Sets [`within`](Self::within).
    #[must_use]
    pub fn with_within(self, within: impl Into<Option<AllowedPaths>>) -> Self {
        Self { within: within.into(), ..self }
    }

    /// Sets [`data`](Self::data).
    #[must_use]
    pub fn with_data(self, data: impl Into<PathBuf>) -> Self {
        Self { data: Some(data.into()), ..self }
    }
}

/// Files, and directories with all of their content.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AllowedPaths {
    /// The paths that can be read.
    pub read: Vec<PathBuf>,
    /// The paths that can be read and changed.
    pub write: Vec<PathBuf>,
    /// True if commands can use the network.
    pub network: bool,
}

impl AllowedPaths {
    /// Sets [`read`](Self::read).
    #[must_use]
    pub fn with_read(self, read: Vec<PathBuf>) -> Self {
        Self { read, ..self }
    }

    /// Sets [`write`](Self::write).
    #[must_use]
    pub fn with_write(self, write: Vec<PathBuf>) -> Self {
        Self { write, ..self }
    }

    /// Sets [`network`](Self::network).
    #[must_use]
    pub fn with_network(self, network: bool) -> Self {
        Self { network, ..self }
    }
}
