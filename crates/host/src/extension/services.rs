//! Services of the host for extensions: runs tools of the embedding program for them, under the agent's
//! hooks.

mod file_locks;
mod host_call_server;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use haft_core::ExtensionToolRunner;
use haft_packages::{FsPermissions, GrantedPath};
use haft_protocol::ids::ToolCallId;
use tokio::sync::watch;

pub use haft_core::services::{AllowedPaths, ExtensionToolSource, FileLockError, ServiceReach};
pub(crate) use host_call_server::HostCallServer;

pub(crate) struct ServiceProvider {
    services: Arc<dyn ExtensionToolSource>,
    /// The runner of the tools, once there is an agent.
    caller: watch::Sender<Option<ExtensionToolRunner>>,
    calls: AtomicU64,
}

impl ServiceProvider {
    pub(crate) fn new(services: Arc<dyn ExtensionToolSource>) -> Arc<Self> {
        Arc::new(Self { services, caller: watch::Sender::new(None), calls: AtomicU64::new(0) })
    }

    /// Sets the agent whose hooks apply to all later calls.
    pub(crate) fn set_caller(&self, caller: ExtensionToolRunner) {
        self.caller.send_replace(Some(caller));
    }

    fn next_id(&self) -> ToolCallId {
        ToolCallId::new(format!("host-{}", self.calls.fetch_add(1, Ordering::Relaxed) + 1))
    }
}

/// Returns the paths that an extension with permissions may use: the workspace, and the paths of its own
/// sandbox.
pub(crate) fn granted_paths(
    fs: &FsPermissions,
    workspace: &Path,
    data: &Path,
    home: Option<&Path>,
    network: bool,
) -> AllowedPaths {
    // Paths that cannot be parsed were refused when they were granted.
    let places = |paths: &[String]| -> Vec<PathBuf> {
        let read = paths.iter().filter_map(|path| GrantedPath::parse(path, home).ok());
        read.map(|path| path.resolve(workspace, data)).collect()
    };
    let mut write = places(&fs.write);
    write.insert(0, workspace.to_owned());
    AllowedPaths::default().with_read(places(&fs.read)).with_write(write).with_network(network)
}
