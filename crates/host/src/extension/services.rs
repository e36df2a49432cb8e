//! Services of the host for extensions: it runs tools of the program around it for them, under the agent's hooks.

mod desk;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use haft_core::ExtensionToolRunner;
use haft_packages::{FsPermissions, GrantedPath};
use haft_protocol::ids::ToolCallId;
use tokio::sync::watch;

pub(crate) use desk::HostCallServer;
pub use haft_core::services::{AllowedPaths, ExtensionToolSource, ServiceReach};

pub(crate) struct ServiceProvider {
    services: Arc<dyn ExtensionToolSource>,
    /// The caller that runs them, as soon as there is an agent.
    caller: watch::Sender<Option<ExtensionToolRunner>>,
    calls: AtomicU64,
}

impl ServiceProvider {
    pub(crate) fn new(services: Arc<dyn ExtensionToolSource>) -> Arc<Self> {
        Arc::new(Self { services, caller: watch::Sender::new(None), calls: AtomicU64::new(0) })
    }

    /// From here on, calls are made under the hooks of this agent.
    pub(crate) fn set_caller(&self, caller: ExtensionToolRunner) {
        self.caller.send_replace(Some(caller));
    }

    fn next_id(&self) -> ToolCallId {
        ToolCallId::new(format!("host-{}", self.calls.fetch_add(1, Ordering::Relaxed) + 1))
    }
}

/// Returns the reach of an extension with permissions: the workspace, and what its own process may open.
pub(crate) fn granted_paths(
    fs: &FsPermissions,
    workspace: &Path,
    data: &Path,
    home: Option<&Path>,
) -> AllowedPaths {
    // What cannot be read as a place was refused when it was granted.
    let places = |paths: &[String]| -> Vec<PathBuf> {
        let read = paths.iter().filter_map(|path| GrantedPath::parse(path, home).ok());
        read.map(|path| path.resolve(workspace, data)).collect()
    };
    let mut write = places(&fs.write);
    write.insert(0, workspace.to_owned());
    AllowedPaths { read: places(&fs.read), write }
}
