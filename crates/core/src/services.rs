//! Tools for extensions: what a program gives so that they have things done under the agent's hooks, and how far each
//! reaches with it.
//!
//! Whoever runs extensions asks for the tools and calls them with a [`ExtensionToolRunner`](crate::ExtensionToolRunner).

use std::path::PathBuf;
use std::sync::Arc;

use haft_protocol::ids::ExtensionName;

use crate::tool::Tool;

/// The tools that are run for extensions. Given by the program around them.
pub trait ExtensionToolSource: Send + Sync {
    /// The tools `read`, `write`, `edit` and `bash` for one extension, which must not reach further with those that read
    /// and change files. Asked once for each process of an extension, when that makes its first call; may block.
    ///
    /// # Errors
    /// Why they cannot be had, for people.
    fn tools(&self, reach: &ServiceReach) -> Result<Vec<Arc<dyn Tool>>, String>;
}

/// The reach of an extension through the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceReach {
    /// Which extension.
    pub extension: ExtensionName,
    /// The files that it may read and change; all files of the user, if not set.
    pub within: Option<AllowedPaths>,
    /// The directory of its data, which it may always read and change.
    pub data: Option<PathBuf>,
}

/// Files, and directories with all below them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedPaths {
    /// To read.
    pub read: Vec<PathBuf>,
    /// To read and to change.
    pub write: Vec<PathBuf>,
}
