//! The extensions of the moment, in order, and who owns which name.

use std::sync::Arc;

use haft_protocol::ids::ExtensionName;

use super::catalog::{Claim, Names};
use crate::agent::entry::Entry;
use crate::agent::pins::{Pins, locked};
use crate::session::offers::OfferedTool;
use crate::supervision::config::HostConfig;
use crate::supervision::shared::Shared;
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
pub(super) struct Set {
    pub(super) entries: Vec<Arc<Entry>>,
    tools: Names,
    commands: Names,
    pub(super) blocked: Option<String>,
}

impl Set {
    /// These extensions, ordered by where they come from and within that as found. No name is claimed yet.
    pub(super) fn new(config: &HostConfig, mut entries: Vec<Arc<Entry>>, blocked: Option<String>) -> Self {
        entries.sort_by(|one, other| one.spec.rank().cmp(&other.spec.rank()));
        let tools = Names::new(&config.reserved_tools).at_most(config.limits.max_tools_in_all);
        let commands = Names::new(&config.reserved_commands);
        Self { entries, tools, commands, blocked }
    }

    /// Claims the names of all tools, in order. `granted` is told each tool that got its own.
    pub(super) fn claim_tools(
        &mut self,
        pins: &Pins,
        mut granted: impl FnMut(&Arc<Entry>, &OfferedTool),
    ) -> Lost {
        let mut lost = Lost::default();
        for entry in &self.entries {
            for tool in &entry.offers().tools {
                if pins.locks(&entry.spec, tool) {
                    if pins.tells(entry.name(), tool) {
                        lost.add(entry, FaultCode::ToolChanged, locked(entry.name(), &tool.name));
                    }
                    continue;
                }
                let rejected = match self.tools.claim(&tool.name, entry.name()) {
                    Claim::Granted => {
                        granted(entry, tool);
                        continue;
                    }
                    Claim::LostBefore => continue,
                    Claim::Lost { to } => format!("tool {}: {to} has that name", tool.name),
                    Claim::Full { most } => {
                        format!("tool {}: all extensions together have {most} tools already", tool.name)
                    }
                };
                lost.add(entry, FaultCode::RegisterRejected, rejected);
            }
        }
        lost
    }

    /// Claims the names of all commands, in order, and returns the commands that got their own.
    pub(super) fn claim_commands(&mut self) -> (Vec<(CommandInfo, Arc<Entry>)>, Lost) {
        let (mut owned, mut lost) = (Vec::new(), Lost::default());
        for entry in &self.entries {
            for command in &entry.offers().commands {
                match self.commands.claim(&command.name, entry.name()) {
                    Claim::Granted => owned.push((
                        CommandInfo {
                            name: command.name.clone(),
                            description: command.description.clone(),
                            extension: entry.name().clone(),
                            completes: command.completes,
                        },
                        Arc::clone(entry),
                    )),
                    Claim::Lost { to } => {
                        let text = format!("command /{}: {to} has that name", command.name);
                        lost.add(entry, FaultCode::RegisterRejected, text);
                    }
                    Claim::Full { .. } | Claim::LostBefore => {}
                }
            }
        }
        (owned, lost)
    }
}

/// Names that extensions wanted and did not get.
#[derive(Debug, Default)]
#[must_use = "the extensions have to be told"]
pub(super) struct Lost(Vec<(ExtensionName, FaultCode, String)>);

impl Lost {
    fn add(&mut self, entry: &Entry, code: FaultCode, text: String) {
        self.0.push((entry.name().clone(), code, text));
    }

    /// Reports them. The lock of the set must not be held, because a sink may ask the host something.
    pub(super) fn report(self, shared: &Shared) {
        for (name, code, text) in self.0 {
            shared.reporter(&name).fault(code, text);
        }
    }
}
