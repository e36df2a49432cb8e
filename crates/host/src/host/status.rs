//! The status of an extension, for listings.

use std::path::PathBuf;

use haft_packages::ExtensionOrigin;
use haft_protocol::ids::ExtensionName;

use super::inner::HostState;
use crate::agent::entry::ManagedExtension;
use crate::process::log::log_path;
use crate::session::ExtensionState;

/// One line of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtensionStatus {
    /// Its name.
    pub name: ExtensionName,
    /// Its version, as the manifest says.
    pub version: Option<String>,
    /// Its description of itself.
    pub description: Option<String>,
    /// Where it was found.
    pub origin: ExtensionOrigin,
    /// Where it lies.
    pub dir: PathBuf,
    /// True if its manifest says that what it guards must not happen without it.
    pub required: bool,
    /// Its state.
    pub state: ExtensionState,
    /// True if the person goes on without it in this session: it is not asked about anything.
    pub gates_off: bool,
    /// Its log file, if logs are written.
    pub log: Option<PathBuf>,
    /// The commands it registered, whether or not it got the names.
    pub commands: Vec<String>,
    /// The tools it registered, whether or not it got the names.
    pub tools: Vec<String>,
    /// Its items of the status line, by key.
    pub status_items: Vec<(String, String)>,
    /// Events that it was not told, because it does not read fast enough.
    pub events_dropped: usize,
}

pub(super) fn status(host: &HostState, entry: &ManagedExtension) -> ExtensionStatus {
    let logs = host.shared.config.logs.as_deref();
    let offers = entry.offers();
    ExtensionStatus {
        name: entry.name().clone(),
        version: entry.spec.version.clone(),
        description: entry.spec.description.clone(),
        origin: entry.spec.origin,
        dir: entry.spec.dir.clone(),
        required: entry.spec.roles.required,
        gates_off: host.gates.is_disabled(entry.name()),
        state: entry.state(),
        log: logs.map(|dir| log_path(dir, entry.name())),
        commands: offers.commands.iter().map(|command| command.name.clone()).collect(),
        tools: offers.tools.iter().map(|tool| tool.name.clone()).collect(),
        status_items: host.shared.status_line.items_of(entry.name()),
        events_dropped: entry.events_dropped(),
    }
}
