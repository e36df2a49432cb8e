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
pub struct FileLockError {
    /// The code of the failed call.
    pub code: HostCallError,
    /// The reason, for people.
    pub text: String,
}

/// The files that an extension can access through the host.
#[derive(Debug, Clone, PartialEq, Eq)]
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

/// Files, and directories with all of their content.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedPaths {
    /// The paths that can be read.
    pub read: Vec<PathBuf>,
    /// The paths that can be read and changed.
    pub write: Vec<PathBuf>,
    /// True if commands can use the network.
    pub network: bool,
}
