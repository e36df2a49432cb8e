//! Commands of extensions.

use std::sync::Arc;

use haft_core::sanitize::for_model;
use haft_protocol::defence::{Defence, is_up};
use haft_protocol::event::AgentEvent;
use haft_protocol::ext::{CommandAction, InvokeCommand};
use haft_protocol::ids::ExtensionName;
use tokio_util::sync::CancellationToken;

use super::{Host, Lost, Set};
use crate::catalog::Claim;
use crate::entry::Entry;
use crate::extension::Deadline;

/// A command that a user can type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandInfo {
    /// Without the slash.
    pub name: String,
    /// One line; may be empty.
    pub description: String,
    /// Who runs it.
    pub extension: ExtensionName,
    /// Whether its extension says what may follow it: [`Host::complete_command`].
    pub completes: bool,
}

/// What a command came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutcome {
    /// Who ran it.
    pub extension: ExtensionName,
    /// What it wants. A display, an insertion or a panel has been passed on to event sink or front end already; a
    /// prompt and a failure are the caller's. A prompt says in its first line whose it is. It is for the model as it
    /// stands, and never read as a command, whatever it begins with.
    pub action: CommandAction,
}

/// Why a command has no outcome.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// No extension has such a command.
    #[error("no extension has a command /{name}")]
    Unknown {
        /// The command.
        name: String,
    },
    /// A newer question about the same command took the place of this one.
    #[error("a newer question about /{name} took the place of this one")]
    Superseded {
        /// The command.
        name: String,
    },
    /// The extension failed; that was reported.
    #[error("extension {extension}/{name} failed: it {detail}")]
    Failed {
        /// The extension.
        extension: ExtensionName,
        /// The command.
        name: String,
        /// What went wrong.
        detail: String,
    },
}

impl Host {
    /// The commands of all extensions at this moment, in order; a command whose name somebody else has is
    /// reported and left out.
    pub fn commands(&self) -> Vec<CommandInfo> {
        self.owned_commands().into_iter().map(|(info, _)| info).collect()
    }

    /// Runs a command with everything the user typed after its name. Upper and lower case are one. A name that nobody
    /// has is looked for again when the extensions that are still starting are ready.
    ///
    /// # Errors
    /// [`CommandError`] when there is no such command, or its extension fails.
    pub async fn run_command(
        &self,
        cancel: &CancellationToken,
        name: &str,
        args: &str,
    ) -> Result<CommandOutcome, CommandError> {
        let mut found = self.find_command(name);
        if found.is_none() {
            // A cancelled caller has no use for the answer.
            _ = cancel.run_until_cancelled(self.settled()).await;
            found = self.find_command(name);
        }
        let Some((info, entry)) = found else {
            return Err(CommandError::Unknown { name: name.to_owned() });
        };
        let command = InvokeCommand { name: info.name.clone(), args: args.trim().to_owned() };
        let awake = entry.awake(cancel).await;
        let deadline = Deadline::after(entry.timeouts.command);
        let reached = match awake {
            Ok(()) => entry.reach(cancel, deadline).await,
            Err(error) => Err(error),
        };
        let outcome = match reached {
            Ok(extension) => extension.command(cancel, command, deadline).await,
            Err(error) => Err(error),
        };
        match outcome {
            Ok(action) => {
                let action = self.for_model(&info, action);
                self.carry_out(&info.extension, &action);
                Ok(CommandOutcome { extension: info.extension.clone(), action })
            }
            Err(error) => Err(CommandError::Failed {
                extension: info.extension.clone(),
                name: info.name.clone(),
                detail: error.to_string(),
            }),
        }
    }

    /// A prompt as the model gets it: with its origin, and without what nobody can see.
    fn for_model(&self, info: &CommandInfo, action: CommandAction) -> CommandAction {
        let CommandAction::Prompt(text) = action else { return action };
        let read = for_model(&text);
        let CommandInfo { name, extension, .. } = info;
        self.shared().reporter(extension).hidden(read.hidden, &format!("the prompt of command {name}"));
        let origin = match is_up(Defence::CommandOrigin) {
            true => format!("[from extension {extension}, command {name}]\n"),
            false => String::new(),
        };
        CommandAction::Prompt(origin + &read.text)
    }

    fn carry_out(&self, extension: &ExtensionName, action: &CommandAction) {
        let frontend = &self.shared().frontend;
        match action {
            CommandAction::Display(text) => {
                let (extension, text) = (extension.clone(), text.clone());
                (self.shared().events)(AgentEvent::ExtDisplay { extension, text });
            }
            CommandAction::Insert(text) => frontend.insert(extension, text),
            CommandAction::OpenPanel(panel) => frontend.open_panel(extension, panel),
            CommandAction::Prompt(_) | CommandAction::Noop | CommandAction::Failed(_) => {}
        }
    }

    pub(super) fn find_command(&self, name: &str) -> Option<(CommandInfo, Arc<Entry>)> {
        let mut known = self.owned_commands();
        let exact = known.iter().position(|(info, _)| info.name == name);
        let alike = || known.iter().position(|(info, _)| info.name.eq_ignore_ascii_case(name));
        let found = exact.or_else(alike)?;
        Some(known.swap_remove(found))
    }

    fn owned_commands(&self) -> Vec<(CommandInfo, Arc<Entry>)> {
        let mut owned = Vec::new();
        let mut lost = Lost::default();
        let mut set = self.set();
        let Set { entries, commands: names, .. } = &mut *set;
        for entry in entries.iter() {
            for command in &entry.offers().commands {
                match names.claim(&command.name, entry.name()) {
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
                        lost.add(entry, format!("command /{}: {to} has that name", command.name));
                    }
                    Claim::Full { .. } | Claim::LostBefore => {}
                }
            }
        }
        drop(set);
        self.report_lost(lost);
        owned
    }
}
