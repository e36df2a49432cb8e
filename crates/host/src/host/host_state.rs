//! The state that the clones of one host share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_protocol::event::AgentEvent;
use haft_protocol::ext::BusMessage;
use haft_protocol::ids::ExtensionName;

use super::active_extensions::{ActiveExtensions, ExtensionCommand};
use super::completions::CompletionTracker;
use crate::agent::events::{EventBroadcaster, is_watched};
use crate::agent::gates::GateMonitor;
use crate::agent::managed_extension::ManagedExtension;
use crate::agent::pins::ToolTextPins;
use crate::agent::tool::ResultFiles;
use crate::session::ExtensionState;
use crate::session::offers::OfferedTool;
use crate::supervision::host_context::HostContext;
use crate::wire::fault::FaultCode;

pub use haft_packages::discovery::DiscoveredExtensions;

/// Finds the extensions to run. Responsible for discovery, flags such as `--no-ext`, and trust.
pub type SpecSource = Arc<dyn Fn() -> DiscoveredExtensions + Send + Sync>;

/// The state that the clones of one host share.
pub(super) struct HostState {
    pub(super) shared: Arc<HostContext>,
    pub(super) results: Arc<ResultFiles>,
    /// The pinned texts of tools.
    pub(super) pins: Arc<ToolTextPins>,
    pub(super) source: SpecSource,
    pub(super) gates: Arc<GateMonitor>,
    pub(super) set: Mutex<ActiveExtensions>,
    pub(super) completing: CompletionTracker,
    /// Serializes start, restart, reload and shutdown.
    pub(super) turnstile: tokio::sync::Mutex<()>,
}

impl HostState {
    pub(super) fn set(&self) -> MutexGuard<'_, ActiveExtensions> {
        self.set.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn active_extensions(&self) -> Vec<Arc<ManagedExtension>> {
        self.set().entries.clone()
    }

    pub(super) fn find_extension(&self, name: &ExtensionName) -> Option<Arc<ManagedExtension>> {
        self.set().entries.iter().find(|entry| entry.name() == name).cloned()
    }

    pub(super) async fn wait_until_settled(&self) {
        for entry in self.active_extensions() {
            entry.wait_until_settled().await;
        }
    }

    /// Sends an event to the extensions that watch it. Never waits.
    pub(super) fn broadcast_event(&self, event: &AgentEvent) {
        let pump = &self.shared.pump;
        if is_watched(pump, event) {
            EventBroadcaster::new(self.active_extensions(), &self.shared).broadcast_event(event);
        }
    }

    /// Sends a message on the bus. Never waits.
    pub(super) fn broadcast_message(&self, message: &BusMessage) {
        EventBroadcaster::new(self.active_extensions(), &self.shared).broadcast_message(message);
    }

    /// Calls the source, and reports unreadable extensions.
    pub(super) fn discover_extensions(&self) -> DiscoveredExtensions {
        let found = (self.source)();
        for fault in &found.faults {
            (self.shared.events)(AgentEvent::ExtensionError(fault.clone()));
        }
        found
    }

    /// Claims the names of all tools, in order; calls `granted` for each tool that got its name.
    pub(super) fn claim_tools(&self, granted: impl FnMut(&Arc<ManagedExtension>, &OfferedTool)) {
        let lost = self.set().claim_tools(&self.pins, granted);
        self.pins.save();
        lost.report(&self.shared);
    }

    /// Claims the names of all commands, in order, and returns the commands that got their names.
    pub(super) fn claim_commands(&self) -> Vec<(ExtensionCommand, Arc<ManagedExtension>)> {
        let (owned, lost) = self.set().claim_commands();
        lost.report(&self.shared);
        owned
    }

    /// Activates a new set: claims names in the order of the set, and reports required hooks to which a new
    /// extension did not subscribe.
    pub(super) fn activate_names(&self, new: &[Arc<ManagedExtension>]) {
        for entry in new.iter().filter(|entry| entry.state() == ExtensionState::Ready) {
            for hook in entry.missing_intercepts() {
                let text =
                    format!("is required for {0} but did not subscribe to it; {0} is blocked", hook.name());
                self.shared.reporter(entry.name()).report_fault(FaultCode::HookError, text);
            }
        }
        self.claim_tools(|_, _| {});
        self.claim_commands();
        self.shared.notify_change();
    }
}
