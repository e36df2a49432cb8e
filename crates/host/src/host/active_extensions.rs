//! The current extensions in order, and the owners of names.

use std::sync::Arc;

use haft_protocol::defense::{Defense, is_up};
use haft_protocol::ids::ExtensionName;

use super::name_registry::{ClaimOutcome, NameRegistry};
use crate::agent::managed_extension::ManagedExtension;
use crate::agent::pins::{ToolTextPins, locked_tool_message};
use crate::session::offers::OfferedTool;
use crate::supervision::config::HostConfig;
use crate::supervision::host_context::HostContext;
use crate::wire::fault::FaultCode;

/// A command that a user can type.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExtensionCommand {
    /// The name without the slash.
    pub name: String,
    /// The description in one line; may be empty.
    pub description: String,
    /// The extension that runs it.
    pub extension: ExtensionName,
    /// True if the extension offers completions: [`Host::complete_command`](crate::Host::complete_command).
    pub completes: bool,
}

/// The current extensions in order, and the owners of names.
pub(super) struct ActiveExtensions {
    pub(super) entries: Vec<Arc<ManagedExtension>>,
    tools: NameRegistry,
    commands: NameRegistry,
    pub(super) blocked: Option<String>,
}

impl ActiveExtensions {
    /// Creates the set, ordered by origin and then as found. No name is claimed yet.
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

    /// Claims the names of all tools, in order. Calls `granted` for each tool that got its name.
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
                let replaces = tool.replaces && may_replace(entry, &tool.name);
                let rejected = match self.tools.claim_with(&tool.name, entry.name(), replaces) {
                    ClaimOutcome::Granted => {
                        granted(entry, tool);
                        continue;
                    }
                    ClaimOutcome::LostBefore => continue,
                    ClaimOutcome::Lost { .. }
                        if tool.replaces && !replaces && self.tools.is_reserved(&tool.name) =>
                    {
                        no_consent_text(&tool.name)
                    }
                    ClaimOutcome::Lost { to } => format!("tool {}: the name belongs to {to}", tool.name),
                    ClaimOutcome::Full { most } => {
                        format!(
                            "tool {}: all extensions together already have {most} tools, which is the limit",
                            tool.name
                        )
                    }
                };
                lost.add(entry, FaultCode::RegisterRejected, rejected);
            }
        }
        lost
    }

    /// Claims the names of all commands, in order, and returns the commands that got their names.
    pub(super) fn claim_commands(
        &mut self,
    ) -> (Vec<(ExtensionCommand, Arc<ManagedExtension>)>, RejectedNames) {
        let (mut owned, mut lost) = (Vec::new(), RejectedNames::default());
        for entry in &self.entries {
            for command in &entry.offers().commands {
                match self.commands.claim(&command.name, entry.name()) {
                    ClaimOutcome::Granted => owned.push((
                        ExtensionCommand {
                            name: command.name.clone(),
                            description: command.description.clone(),
                            extension: entry.name().clone(),
                            completes: command.completes,
                        },
                        Arc::clone(entry),
                    )),
                    ClaimOutcome::Lost { to } => {
                        let text = format!("command /{}: the name belongs to {to}", command.name);
                        lost.add(entry, FaultCode::RegisterRejected, text);
                    }
                    ClaimOutcome::Full { .. } | ClaimOutcome::LostBefore => {}
                }
            }
        }
        (owned, lost)
    }
}

/// True if the user granted that a tool of the extension replaces the built-in tool of this name.
fn may_replace(entry: &ManagedExtension, name: &str) -> bool {
    let granted = entry.spec.permissions.as_ref();
    granted.is_some_and(|granted| granted.tools.replace.contains(name)) || !is_up(Defense::Permissions)
}

fn no_consent_text(tool: &str) -> String {
    format!(
        "tool {tool}: the name belongs to haft itself, and the user did not allow a replacement; list {tool:?} in \
         `permissions.tools.replace` of the manifest and approve the extension"
    )
}

/// Names that extensions requested and did not get.
#[derive(Debug, Default)]
#[must_use = "the rejections must be reported"]
pub(super) struct RejectedNames(Vec<(ExtensionName, FaultCode, String)>);

impl RejectedNames {
    fn add(&mut self, entry: &ManagedExtension, code: FaultCode, text: String) {
        self.0.push((entry.name().clone(), code, text));
    }

    /// Reports the names. The caller must not hold the lock of the set, because a sink may call the host.
    pub(super) fn report(self, shared: &HostContext) {
        for (name, code, text) in self.0 {
            shared.reporter(&name).report_fault(code, text);
        }
    }
}
