//! The status of an extension, for listings.

use std::path::PathBuf;

use haft_packages::ExtensionOrigin;
use haft_protocol::ext::{RegisterFrame, StatusText};
use haft_protocol::ids::ExtensionName;
use haft_protocol::rpc::ShortcutInfo;

use super::host_state::HostState;
use crate::agent::managed_extension::ManagedExtension;
use crate::process::log::log_path;
use crate::session::ExtensionState;

/// One entry of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExtensionStatus {
    /// The extension's name.
    pub name: ExtensionName,
    /// The version from the manifest.
    pub version: Option<String>,
    /// The description from the manifest.
    pub description: Option<String>,
    /// The origin of the extension.
    pub origin: ExtensionOrigin,
    /// The directory of the extension.
    pub dir: PathBuf,
    /// True if the manifest requires the extension: the actions of its gates are blocked without it.
    pub required: bool,
    /// The state.
    pub state: ExtensionState,
    /// True if the person continues without the extension in this session; it then receives no queries.
    pub gates_off: bool,
    /// The log file, if logs are written.
    pub log: Option<PathBuf>,
    /// The registered commands, including those that did not get their names.
    pub commands: Vec<String>,
    /// The registered tools, including those that did not get their names.
    pub tools: Vec<String>,
    /// The registered shortcuts.
    pub shortcuts: Vec<ShortcutInfo>,
    /// The items of the status line, by key.
    pub status_items: Vec<(String, StatusText)>,
    /// The number of events that were dropped because the extension does not read fast enough.
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
        shortcuts: offers.shortcuts.iter().map(shortcut_info).collect(),
        status_items: host.shared.status_line.items_of(entry.name()),
        events_dropped: entry.events_dropped(),
    }
}

fn shortcut_info(RegisterFrame { name, description, .. }: &RegisterFrame) -> ShortcutInfo {
    ShortcutInfo { key: name.clone(), description: description.clone() }
}
