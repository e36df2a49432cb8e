//! The extensions of the moment, in order, and who owns which name.

use std::sync::Arc;

use haft_protocol::ids::ExtensionName;

use super::catalog::{ClaimOutcome, NameRegistry};
use crate::agent::entry::ManagedExtension;
use crate::agent::pins::{ToolTextPins, locked_tool_message};
use crate::session::offers::OfferedTool;
use crate::supervision::config::HostConfig;
use crate::supervision::shared::HostContext;
use crate::wire::fault::FaultCode;

/// A command that a user can type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandInfo {
    /// Without the slash.
    pub name: String,
    /// One line; may be empty.
    pub description: String,
    /// The extension that runs it.
    pub extension: ExtensionName,
    /// True if its extension says what may follow it: [`Host::complete_command`](crate::Host::complete_command).
    pub completes: bool,
}

/// The extensions of the moment, in order, and who owns which name.
pub(super) struct ActiveExtensions {
    pub(super) entries: Vec<Arc<ManagedExtension>>,
    tools: NameRegistry,
    commands: NameRegistry,
    pub(super) blocked: Option<String>,
}

impl ActiveExtensions {
    /// These extensions, ordered by where they come from and within that as found. No name is claimed yet.
    pub(super) fn new(
        config: &HostConfig,
        mut entries: Vec<Arc<ManagedExtension>>,
        blocked: Option<String>,
    ) -> Self {
        entries.sort_by(|one, other| one.spec.precedence().cmp(&other.spec.precedence()));
        let tools = NameRegistry::new(&config.reserved_tools).with_limit(config.limits.max_tools_in_all);
        let commands = NameRegistry::new(&config.reserved_commands);
        Self { entries, tools, commands, blocked }
    }

    /// Claims the names of all tools, in order. `granted` is told each tool that got its own.
    pub(super) fn claim_tools(
        &mut self,
        pins: &ToolTextPins,
        mut granted: impl FnMut(&Arc<ManagedExtension>, &OfferedTool),
    ) -> RejectedNames {
        let mut lost = RejectedNames::default();
        for entry in &self.entries {
            for tool in &entry.offers().tools {
                if pins.is_locked_or_pin(&entry.spec, tool) {
                    if pins.should_report_lock(entry.name(), tool) {
                        lost.add(
                            entry,
                            FaultCode::ToolChanged,
                            locked_tool_message(entry.name(), &tool.name),
                        );
                    }
                    continue;
                }
                let rejected = match self.tools.claim(&tool.name, entry.name()) {
                    ClaimOutcome::Granted => {
                        granted(entry, tool);
                        continue;
                    }
                    ClaimOutcome::LostBefore => continue,
                    ClaimOutcome::Lost { to } => format!("tool {}: {to} has that name", tool.name),
                    ClaimOutcome::Full { most } => {
                        format!("tool {}: all extensions together have {most} tools already", tool.name)
                    }
                };
                lost.add(entry, FaultCode::RegisterRejected, rejected);
            }
        }
        lost
    }

    /// Claims the names of all commands, in order, and returns the commands that got their own.
    pub(super) fn claim_commands(&mut self) -> (Vec<(CommandInfo, Arc<ManagedExtension>)>, RejectedNames) {
        let (mut owned, mut lost) = (Vec::new(), RejectedNames::default());
        for entry in &self.entries {
            for command in &entry.offers().commands {
                match self.commands.claim(&command.name, entry.name()) {
                    ClaimOutcome::Granted => owned.push((
                        CommandInfo {
                            name: command.name.clone(),
                            description: command.description.clone(),
                            extension: entry.name().clone(),
                            completes: command.completes,
                        },
                        Arc::clone(entry),
                    )),
                    ClaimOutcome::Lost { to } => {
                        let text = format!("command /{}: {to} has that name", command.name);
                        lost.add(entry, FaultCode::RegisterRejected, text);
                    }
                    ClaimOutcome::Full { .. } | ClaimOutcome::LostBefore => {}
                }
            }
        }
        (owned, lost)
    }
}

/// Names that extensions wanted and did not get.
#[derive(Debug, Default)]
#[must_use = "the extensions have to be told"]
pub(super) struct RejectedNames(Vec<(ExtensionName, FaultCode, String)>);

impl RejectedNames {
    fn add(&mut self, entry: &ManagedExtension, code: FaultCode, text: String) {
        self.0.push((entry.name().clone(), code, text));
    }

    /// Reports them. The lock of the set must not be held, because a sink may ask the host something.
    pub(super) fn report(self, shared: &HostContext) {
        for (name, code, text) in self.0 {
            shared.reporter(&name).report_fault(code, text);
        }
    }
}
